package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Homes are the directories of a project in which its agents, tools and prompts
// stand, the better first. They make a directory a project.
var Homes = []string{".hocket", ".glee"}

// HomesIn are those that a directory has. One that is a link is not taken, but named: it
// may lead anywhere.
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

// PathError says why a path of the project cannot be used, for executors that
// open paths by an [os.Root]. A path that leads out of the project fails for good;
// what else is wrong with one may have changed at the next attempt.
func PathError(path string, err error) *Error {
	reason := err
	var at *fs.PathError
	if errors.As(err, &at) {
		reason = at.Err
	}
	switch {
	case strings.Contains(reason.Error(), "escapes from parent"): // package os has no name for this error
		return Permanentf("%q leads out of the project", path)
	case errors.Is(err, fs.ErrNotExist):
		return Errorf("%q does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return Errorf("%q may not be used: %v", path, reason)
	default:
		return Errorf("%q: %v", path, reason)
	}
}
