package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// An agent can put anything anywhere in its workspace, and its commit can bring links into the
// next one. So nothing of a workspace is reached by a path that was only joined: directories are
// found by inside, and small files are read by readSmall.

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

// readSmall reads a small regular file that somebody may have replaced by anything.
func readSmall(file string) (string, error) { return readRegular(file, 4<<20) }

// readRegular is readSmall with another limit.
func readRegular(file string, maxSize int64) (string, error) {
	refused := fmt.Errorf("%s is not a regular file of at most %d MB", file, maxSize>>20)
	before, err := os.Lstat(file) // first, since opening some devices has effects
	if err != nil {
		return "", err
	}
	if !before.Mode().IsRegular() {
		return "", refused
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return "", err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(before, now) {
		return "", errors.Join(refused, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && int64(len(data)) > maxSize {
		return "", refused
	}
	return string(data), err
}
