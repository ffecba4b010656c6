package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// asideName is the directory of a store with what agents have left beside their workspaces.
const asideName = "aside"

// moveSetAside moves what earlier attempts have left beside the workspace to where the one that begins does not find it. A person can still
// look at it there, until the workspace is removed.
func (w *Workspace) moveSetAside() error {
	entries, err := os.ReadDir(w.home)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !isSetAside(e.Name()) })
	if len(entries) == 0 || err != nil {
		return err
	}
	root, err := os.OpenRoot(w.store.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	home, err := filepath.Rel(w.store.dir, w.home)
	if err != nil {
		return err
	}
	to, err := w.makeAside(root)
	for _, e := range entries {
		if err != nil {
			return err
		}
		from := filepath.Join(home, e.Name())
		if e.IsDir() { // a directory that cannot be written cannot be moved to another one
			err = makeOurs(root, from)
		}
		if err == nil {
			err = root.Rename(from, filepath.Join(to, e.Name()))
		}
	}
	return err
}

// makeAside creates an empty directory for what was left before an attempt.
func (w *Workspace) makeAside(root *os.Root) (dir string, err error) {
	for _, name := range []string{asideName, filepath.Base(filepath.Dir(w.home)), filepath.Base(w.home)} {
		dir = filepath.Join(dir, name)
		if err := root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if err := makeOurs(root, dir); err != nil {
			return "", fmt.Errorf("%s cannot be a directory of Hocket: remove what is there: %w", filepath.Join(w.store.dir, dir), err)
		}
	}
	for n := w.Number; ; n++ { // an attempt that was interrupted begins several times
		to := filepath.Join(dir, strconv.Itoa(n))
		if err := root.Mkdir(to, 0o700); !errors.Is(err, fs.ErrExist) {
			return to, err
		}
	}
}

// removeIn removes what one of our directories has of a run, or of one of its steps. A link in the way to it is not ours.
func (s *Store) removeIn(ours string, of ...string) error {
	dir := filepath.Join(s.dir, ours)
	for _, name := range of {
		if isDirectory(dir) != nil {
			return nil
		}
		dir = filepath.Join(dir, name)
	}
	return removeAll(dir)
}
