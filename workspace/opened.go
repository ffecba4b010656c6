package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// openedPrefix is what the addresses of copies begin with that a person looks at. No step has such an address.
const openedPrefix = "opened "

// EditedError means that a person has changed the copy in a directory, so it is not replaced.
type EditedError struct{ Dir string }

func (e *EditedError) Error() string {
	return e.Dir + " has changes that are recorded nowhere else: copy what you need of them, and remove that directory"
}

// OpenCopy returns a directory with a commit for a person, who may change it. Nothing is recorded of what happens there, so a copy
// that was changed is never removed or replaced: opening the same again returns it as it is.
func (s *Store) OpenCopy(ctx context.Context, a Attempt, commit string) (string, error) {
	a.Address = openedPrefix + a.Address
	var as *Workspace // as it was left
	w, err := s.checkout(ctx, a, commit, func(w *Workspace) error {
		m, err := readMarker(w.home)
		if errors.Is(err, os.ErrNotExist) {
			return w.discard()
		}
		if err != nil {
			return err
		}
		edited, err := s.isEdited(ctx, w.home, m)
		switch w.intact = true; {
		case err != nil:
			return err
		case edited && m.Attempt == a && m.Base == commit:
			as = w
			return errKept
		case edited:
			return &EditedError{w.home}
		}
		w.intact = false
		return w.discard()
	})
	if errors.Is(err, errKept) {
		return s.inside(as.Root)
	}
	if err != nil {
		return "", err
	}
	return w.Dir, w.Close()
}

var errKept = errors.New("the directory stays as it is")

// isEdited reports whether a person has changed the files or the repository of a copy.
func (s *Store) isEdited(ctx context.Context, home string, m marker) (bool, error) {
	w := &Workspace{Attempt: m.Attempt, Root: filepath.Join(home, "tree"), Base: m.Base, store: s, home: home}
	if _, err := os.Lstat(w.Root); errors.Is(err, os.ErrNotExist) {
		return false, nil // nothing is left of it
	}
	if err := isDirectory(w.Root); err != nil || w.headCommit() != w.Base || w.hasOtherRefs() {
		return true, ctx.Err()
	}
	if err := w.makeReadable(ctx); err != nil {
		return true, ctx.Err()
	}
	q, err := s.quarantine(w.Root, "")
	if err != nil {
		return false, err
	}
	defer q.remove()
	if err := copyIndex(filepath.Join(home, "index"), q.index); err != nil {
		return false, err
	}
	links, err := q.gitlinks(ctx)
	if err != nil {
		return false, err
	}
	base, err := q.point(ctx, w.Base)
	if err != nil {
		return false, fmt.Errorf("%s: %w", home, err)
	}
	found, err := q.add(ctx, links, links)
	if err != nil || found.unread != nil || found.nested != nil {
		return true, ctx.Err()
	}
	tree, err := q.writeTree(ctx)
	return tree != base.tree, err
}

// hasOtherRefs reports whether the repository of a workspace has branches, tags or stashes of somebody.
func (w *Workspace) hasOtherRefs() bool {
	git := filepath.Join(w.Root, ".git")
	if _, err := os.Lstat(filepath.Join(git, "packed-refs")); err == nil {
		return true
	}
	err := filepath.WalkDir(filepath.Join(git, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path != filepath.Join(git, "refs", "heads", branchName) {
			err = fs.ErrExist
		}
		return err
	})
	return err != nil
}

// asCopy returns what a copy is of, if it is one.
func (i Info) asCopy() Info {
	i.Address, i.Opened = strings.CutPrefix(i.Address, openedPrefix)
	return i
}
