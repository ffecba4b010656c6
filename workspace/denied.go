package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// UnwritableError means that somebody has made something read-only that git or we have to change. It can be in the store, in the user's
// repository or in the directory of a step.
type UnwritableError struct {
	Path string
	Err  error
}

func (e *UnwritableError) Error() string {
	return fmt.Sprintf("%s cannot be written: make it and what is in it writable for you, and try again: %v", e.Path, e.Err)
}

func (e *UnwritableError) Unwrap() error { return e.Err }

// DeniedError means that git or we have to read something that this user may not read.
type DeniedError struct {
	Path string
	Err  error
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s cannot be read: make it and what is in it readable for you, and try again: %v", e.Path, e.Err)
}

func (e *DeniedError) Unwrap() error { return e.Err }

// denied returns an error that says what may not be written or read, if that is why something failed. The system and git only name
// the file, which need not exist, so we look at what is there.
func denied(err error) error {
	path, reading := deniedPath(err)
	if !filepath.IsAbs(path) {
		return err
	}
	info, missing := os.Lstat(path)
	if reading && (errors.Is(missing, fs.ErrPermission) || missing == nil && info.Mode()&fs.ModeSymlink == 0 && !mayRead(path)) {
		return &DeniedError{path, err}
	}
	for missing != nil && path != filepath.Dir(path) { // it was to be created, perhaps with the directories above it
		path = filepath.Dir(path)
		info, missing = os.Lstat(path)
	}
	for _, path := range []string{path, filepath.Dir(path)} {
		if info, wrong := os.Stat(path); wrong == nil && (info.IsDir() || info.Mode().IsRegular()) && !mayWrite(path) {
			return &UnwritableError{path, err}
		}
	}
	return err
}

// deniedPath returns the path of what was denied, and whether that may have been reading; "": nothing was, or it is not known.
func deniedPath(err error) (path string, reading bool) {
	var failed *gitError
	if errors.As(err, &failed) {
		if path, reading = failed.denied(); path != "" {
			return path, reading
		}
	}
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return "", false
	}
	var one *fs.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &one):
		return one.Path, isReading[one.Op]
	case errors.As(err, &two):
		return two.New, false
	}
	return "", false
}

// isReading has the operations that need no permission to write. A file is also opened to write in it.
var isReading = map[string]bool{"open": true, "openat": true, "openfdat": true, "read": true, "readdirent": true, "readlink": true, "lstat": true, "stat": true}

// denials are the messages in which git names what it may not write or read, with what is before and after the path.
var denials = []struct {
	start, end string
	reading    bool
}{
	{"Unable to create '", "': Permission denied", false},
	{"Unable to create '", "': Read-only file system", false},
	{"unable to create directory for ", "", false}, // also if there is no space
	{"insufficient permission for adding an object to repository database ", "", false},
	{`open("`, `"): Permission denied`, true},
}

// denied returns the path that a message names.
func (e *gitError) denied() (path string, reading bool) {
	for line := range strings.Lines(e.stderr) {
		for _, d := range denials {
			_, rest, found := strings.Cut(strings.TrimSpace(line), d.start)
			path, whole := strings.CutSuffix(rest, d.end)
			if !found || !whole {
				continue
			}
			if path = filepath.FromSlash(path); !filepath.IsAbs(path) && e.dir != "" {
				path = filepath.Join(e.dir, path)
			}
			return path, d.reading
		}
	}
	return "", false
}
