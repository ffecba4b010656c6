package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// An agent can put anything anywhere in its workspace, and its commit can bring links into the
// next one. So nothing of a workspace is reached by a path that was only joined: directories are
// found by inside and openHome, and files are opened by openRegular.

// inside returns the project's directory in a work tree. Neither the top nor a directory below it may
// be a link: an agent would work elsewhere. What is missing is not an error.
func (s *Store) inside(root string) (string, error) {
	full, at := filepath.Join(root, s.sub), root
	for name := range strings.SplitSeq("."+string(filepath.Separator)+s.sub, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		if err := isDirectory(at); errors.Is(err, os.ErrNotExist) {
			return full, nil
		} else if err != nil {
			return "", fmt.Errorf("a step has replaced the directory of the project, where the next one would work: have it leave a directory there: %w", err)
		}
	}
	return full, nil
}

// isDirectory returns an error if there is something else, also a link to a directory.
func isDirectory(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case info.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link", dir)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}

// openHome opens the directory of a workspace. What happens in it happens there and nowhere else, whatever becomes of its path. Nothing on
// that may be a link, which can lead to a directory of the user; the error is [errNoDirectory] then.
func (s *Store) openHome(home string) (*os.Root, error) {
	rel, err := filepath.Rel(s.dir, home)
	if err != nil {
		return nil, err
	}
	at, err := os.OpenRoot(s.dir)
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if err != nil {
			return nil, err
		}
		var next *os.Root
		next, err = openDirectory(at, name)
		_ = at.Close()
		at = next
	}
	return at, err
}

// openDirectory opens a directory in another one. The error is [errNoDirectory] if there is something else, also a link to a directory.
func openDirectory(at *os.Root, name string) (*os.Root, error) {
	info, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errNoDirectory
	}
	opened, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if now, err := opened.Stat("."); err != nil || !os.SameFile(now, info) { // it was replaced meanwhile
		return nil, errors.Join(err, errNoDirectory, opened.Close())
	}
	return opened, nil
}

// folder is where files are: an *os.Root, or [anywhere] for paths.
type folder interface {
	Lstat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Remove(name string) error
}

type anywhere struct{}

func (anywhere) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
func (anywhere) Remove(name string) error               { return os.Remove(name) }
func (anywhere) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// openRegular opens a regular file that somebody may have replaced by anything, such as a pipe, which lets everybody wait who reads it.
func openRegular(in folder, file string) (*os.File, error) {
	before, err := in.Lstat(file) // first, since opening some devices has effects
	if err != nil {
		return nil, err
	}
	refused := fmt.Errorf("%s is not a regular file", file)
	if !before.Mode().IsRegular() {
		return nil, refused
	}
	f, err := in.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(before, now) {
		return nil, errors.Join(refused, err, f.Close())
	}
	return f, nil
}

// writeNew writes a file of ours anew. What is there is removed first: nothing is written through a link, or into a pipe, which lets
// everybody wait who writes.
func writeNew(in folder, file string, data []byte) error {
	if err := ignoreMissing(in.Remove(file)); err != nil {
		return err
	}
	f, err := in.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, ignoreMissing(in.Remove(file)))
	}
	return err
}

// maxSmall is how long a file can be that has no more than some lines, and maxLarge how long one can be that has a line for each file.
const maxSmall, maxLarge = 4 << 20, 1 << 30

// readSmall reads a small regular file that somebody may have replaced by anything.
func readSmall(file string) (string, error) { return readRegular(anywhere{}, file, maxSmall) }

// readRegular is readSmall with another limit, and in a place.
func readRegular(in folder, file string, maxSize int64) (string, error) {
	f, err := openRegular(in, file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && int64(len(data)) > maxSize {
		return "", fmt.Errorf("%s has more than %d MB", file, maxSize>>20)
	}
	return string(data), err
}
