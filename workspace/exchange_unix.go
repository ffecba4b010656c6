//go:build linux || darwin

package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func systemExchange(dir *os.Root, a, b string) error { return rename(dir, a, b, swapped) }

func systemRenameNew(dir *os.Root, from, to string) error { return rename(dir, from, to, notReplaced) }

// rename renames a file in a directory. The error is [errors.ErrUnsupported] if the file system cannot do that in this way.
func rename(dir *os.Root, from, to string, flags uint) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	err = renameWith(int(f.Fd()), from, to, flags)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
