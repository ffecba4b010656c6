package projectfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// CheckPath returns an error unless a path, with slashes, names a file in a directory that untrusted data, such
// as a recording, may change: inside of the directory, and in no repository of git.
func CheckPath(name string) error {
	switch {
	case name == "" || name == ".":
		return errors.New("the path is empty")
	case path.IsAbs(name) || path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)):
		return fmt.Errorf("the path %q leaves the directory, or is not in its plain form", name)
	}
	if i := strings.IndexAny(name, "\\:\x00"); i >= 0 { // on Windows, these can lead elsewhere
		return &CharacterError{name, name[i]}
	}
	if InGit(name) {
		return fmt.Errorf("the path %q is in a repository of git", name)
	}
	return nil
}

// CharacterError reports that a path has a character that means something else on another system.
type CharacterError struct {
	Path      string
	Character byte
}

func (e *CharacterError) Error() string { return fmt.Sprintf("the path %q %s", e.Path, e.Why()) }

// Why returns what is wrong with the path, without the path.
func (e *CharacterError) Why() string {
	return fmt.Sprintf("contains the character %q, which not all systems allow in names", e.Character)
}

// InGit reports whether a path, with slashes, leads into what git keeps of a repository.
func InGit(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		// Systems that ignore case, and what they drop or shorten, see other names for the same folder.
		if plain := strings.ToLower(strings.TrimRight(part, ". ")); plain == ".git" || strings.HasPrefix(plain, "git~") {
			return true
		}
	}
	return false
}

// NoLinks returns an error if a path in a directory goes through a symbolic link, or is one.
func NoLinks(root *os.Root, name string) error {
	parts := strings.Split(name, "/")
	for i := range parts {
		info, err := root.Lstat(strings.Join(parts[:i+1], "/"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link", strings.Join(parts[:i+1], "/"))
		}
	}
	return nil
}
