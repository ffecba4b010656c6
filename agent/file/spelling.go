package file

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// files is the part of the project in which names are looked up.
type files interface {
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
}

// inRoot looks up the files of a project.
type inRoot struct{ *os.Root }

func (r inRoot) Lstat(name string) (fs.FileInfo, error) {
	return r.Root.Lstat(filepath.FromSlash(name))
}

func (r inRoot) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS(), name) }

// spelt returns a path as it is spelled in the directories. On some systems a file is also found
// under other names: in different letter case, with accents composed differently, abbreviated, or
// with a trailing dot. Permissions apply to the file, so their patterns must match its real name. A
// part that does not exist stays as written.
func spelt(in files, name string) string {
	name = path.Clean(name)
	if name == "." || path.IsAbs(name) {
		return name
	}
	parts, at := strings.Split(name, "/"), "."
	for i, part := range parts {
		info, err := in.Lstat(path.Join(at, part))
		if err != nil {
			return path.Join(append([]string{at}, parts[i:]...)...)
		}
		at = path.Join(at, ownName(in, at, part, info))
	}
	return at
}

// speltBelow is spelt for a path below a directory.
func speltBelow(dir, name string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return name
	}
	defer root.Close()
	return spelt(inRoot{root}, name)
}

// ownName returns the real name of a directory entry that was found under another one.
func ownName(in files, dir, name string, found fs.FileInfo) string {
	entries, err := in.ReadDir(dir)
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
		return name
	}
	same := slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		info, err := e.Info()
		return err != nil || !os.SameFile(info, found)
	})
	// A file may have several real names; then the most similar one is meant.
	for _, e := range same {
		if strings.EqualFold(e.Name(), name) {
			return e.Name()
		}
	}
	if len(same) > 0 {
		return same[0].Name()
	}
	return name
}
