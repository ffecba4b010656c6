// Package projectfile reads the files of a project, which may be untrusted: a link in it
// may point to any file of the user, and a name may stand for something that never ends. It
// imports no other package of Hocket; readers of definitions import it.
package projectfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MaxSize is how large a file can be that is read. No definition comes near it.
const MaxSize = 16 << 20

// OutsideError reports that a file is a link, or below one, that leads outside the project.
type OutsideError struct{ File string }

func (e *OutsideError) Error() string { return e.File + " is a symbolic link that leaves the project" }

// ErrNotFile means that a name stands for something that is not a regular file, or for one
// that is far too large.
var ErrNotFile = errors.New("not a regular file of at most 16 MB")

// Read returns the content of a file that is in one of the directories, after links are
// followed.
func Read(file string, in ...string) ([]byte, error) {
	path, err := Resolve(file, in...)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path) // first, because opening some devices has effects
	if err != nil {
		return nil, err
	}
	refused := fmt.Errorf("%s: %w", file, ErrNotFile)
	if !info.Mode().IsRegular() || info.Size() > MaxSize {
		return nil, refused
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now, on which opening blocks
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() { // it was replaced
		return nil, refused
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(text) > MaxSize {
		return nil, refused
	}
	return text, err
}

// ReadNamed returns the content of a file that a person named. If it is in a repository,
// which may be untrusted, links must not lead outside the repository; otherwise they must
// not lead outside its folder.
func ReadNamed(file string) ([]byte, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return Read(file, at)
		}
		if at == filepath.Dir(at) {
			return Read(file, dir)
		}
	}
}

// List returns the sorted entries of such a directory; none if it does not exist.
func List(dir string, in ...string) ([]fs.DirEntry, error) {
	path, err := Resolve(dir, in...)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	return os.ReadDir(path)
}

// Resolve returns where a file really is. The error is an [*OutsideError] if that is in
// none of the directories.
func Resolve(file string, in ...string) (string, error) {
	path, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for _, dir := range in {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return "", err
		}
		if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
			return path, nil
		}
	}
	return "", &OutsideError{File: file}
}
