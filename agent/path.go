package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Homes are the directories that make a directory a project and that contain its agents,
// tools and prompts, in order of preference.
var Homes = []string{".hocket", ".glee"}

// HomesIn returns the homes that a directory has. It does not follow one that is a symbolic
// link, which may point anywhere, but returns its name.
func HomesIn(dir string) (homes, links []string) {
	for _, name := range Homes {
		home := filepath.Join(dir, name)
		switch info, err := os.Lstat(home); {
		case err != nil:
		case info.IsDir():
			homes = append(homes, home)
		case info.Mode()&fs.ModeSymlink != 0:
			links = append(links, home)
		}
	}
	return homes, links
}

// PathError explains why a path of the project cannot be used, for executors that open
// paths with an [os.Root]. A path that leaves the project is a permanent error; other
// errors may be gone at the next attempt.
func PathError(path string, err error) *Error {
	reason := err
	var at *fs.PathError
	if errors.As(err, &at) {
		reason = at.Err
	}
	switch {
	case strings.Contains(reason.Error(), "escapes from parent"): // package os does not export this error
		return Permanentf("%q is outside the project", path)
	case errors.Is(err, fs.ErrNotExist):
		return Errorf("%q does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return Errorf("cannot use %q: %v", path, reason)
	default:
		return Errorf("%q: %v", path, reason)
	}
}
