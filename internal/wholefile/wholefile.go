// Package wholefile replaces files atomically, and makes their names durable. It imports no other package of Hocket;
// packages that rewrite small shared files import it.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write replaces the content of a file. Concurrent readers, and readers after a crash, see
// the old content or all of data, never a part.
func Write(file string, data []byte, mode fs.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // the first error matters more
	}
	return err
}

// SyncDir makes the names in a directory durable, if the system can.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	for _, cannot := range []error{errors.ErrUnsupported, fs.ErrPermission, syscall.EINVAL} {
		if errors.Is(err, cannot) {
			return nil
		}
	}
	return err
}
