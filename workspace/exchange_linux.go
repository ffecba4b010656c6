package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange lets two files change places at once.
func exchange(dir *os.Root, a, b string) error { return rename(dir, a, b, unix.RENAME_EXCHANGE) }

// renameNew renames a file to a name that nothing has.
func renameNew(dir *os.Root, from, to string) error {
	return rename(dir, from, to, unix.RENAME_NOREPLACE)
}

// rename renames a file in a directory. The error is [errors.ErrUnsupported] if the file system cannot do that in this way.
func rename(dir *os.Root, from, to string, flags uint) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	err = unix.Renameat2(int(f.Fd()), from, int(f.Fd()), to, flags)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
