// Package wholefile replaces files in one step. It imports nothing of ours; whoever
// rewrites small files that others read imports it.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes data all that a file holds. Who reads it meanwhile, and whoever looks
// after a crash, finds what it held before or all of data, never a part.
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
		_ = os.Remove(temp.Name()) // what failed before matters more
	}
	return err
}
