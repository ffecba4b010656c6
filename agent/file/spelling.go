package file

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// files is the part of the project that names are looked up in.
type files interface {
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
}

// inRoot are the files of a project.
type inRoot struct{ *os.Root }

func (r inRoot) Lstat(name string) (fs.FileInfo, error) {
	return r.Root.Lstat(filepath.FromSlash(name))
}

func (r inRoot) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS(), name) }

// spelt is a path as the directories themselves write it. There are systems on which a
// file is found under other names too: in capitals, with accents put together in
// another way, cut short, or with a dot behind. Permissions are about the file, and
// their patterns about its own name. What is not there stays as it is written.
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

// ownName is the name of an entry of a directory that is found under another one.
func ownName(in files, dir, name string, found fs.FileInfo) string {
	entries, err := in.ReadDir(dir)
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
		return name
	}
	same := slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		info, err := e.Info()
		return err != nil || !os.SameFile(info, found)
	})
	// A file may have several names of its own; then the likest one is meant.
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
