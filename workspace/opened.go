package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
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
			if w.intact = hasTree(w.home); w.intact {
				return &unmarkedError{w.home}
			}
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := settle(w.home, m); err != nil {
			return err
		}
		if !hasTree(w.home) {
			return nil
		}
		_, err = s.retire(ctx, w.home, m)
		w.intact = err != nil
		if errors.As(err, new(*EditedError)) && m.Attempt == a && m.Base == commit {
			as = w
			return errKept
		}
		return err
	})
	if errors.Is(err, errKept) {
		return s.inside(as.Root)
	}
	if err != nil {
		return "", s.reason(err)
	}
	return w.Dir, errors.Join(w.disarm(w.Root), noteFiles(w.home), w.lock.Release())
}

var errKept = errors.New("the directory stays as it is")

// filesNote has, beside a copy, the digest of its files as they were when it was opened.
const filesNote = "files"

// noteFiles notes the digest of the files of a copy, at a time that is later than theirs: so whoever changes one gives it another time.
func noteFiles(home string) error {
	const often = 100 // for clocks that advance in steps of seconds
	for range often {
		is, err := newSeen(home)
		if err != nil {
			return err
		}
		if !tellsChanges { // contents are compared
			is.now, is.unsure = seenNow().now, false
		}
		if err := is.addCopy(treeIn(home)); err != nil {
			return err
		}
		if digest := is.digest(); digest != "" {
			return writeNew(anywhere{}, filepath.Join(home, filesNote), []byte(digest))
		}
		time.Sleep(30 * time.Millisecond)
	}
	return nil // without the note, the copy counts as changed
}

// isEdited reports whether a person has worked in a copy, also in files that git ignores. When in doubt, it reports that: nothing
// else has what is in the copy.
func isEdited(home string) bool {
	_, err := unedited(home, treeIn(home))
	return err != nil && !errors.Is(err, fs.ErrNotExist) // then nothing is left of it
}

// unedited returns what is in a copy that nobody has changed. Otherwise the error is an [EditedError].
func unedited(home, root string) (*seen, error) {
	now := seenNow()
	err := now.addCopy(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	noted, wrong := readSmall(filepath.Join(home, filesNote))
	if err != nil || wrong != nil || noted == "" || noted != now.digest() {
		return nil, &EditedError{home}
	}
	return now, nil
}

// addCopy adds all files of a copy, except for git's index, which is written when somebody only looks. A commit, a stash, a branch, and
// what is only staged are new files there. Contents are read only where the system does not tell when a file was changed.
func (s *seen) addCopy(root string) error {
	if _, err := os.Lstat(root); err != nil {
		return err
	}
	return walk(root, func(name string, mode fs.FileMode, is *stat, err error) error {
		file := filepath.Join(root, filepath.FromSlash(name))
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", file, errUnread)
		case name == ".git/index":
			return nil
		case is == nil:
			return s.addContent(file, name, mode)
		}
		s.add(name, *is)
		return nil
	})
}

// addContent adds a file with its content.
func (s *seen) addContent(file, name string, mode fs.FileMode) (err error) {
	if s.files != nil {
		s.files[name] = roughly(file)
	}
	var content []byte
	switch mode.Type() {
	case fs.ModeSymlink:
		target, wrong := os.Readlink(file)
		content, err = []byte(target), wrong
	case 0:
		content, err = os.ReadFile(file)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, errUnread)
	}
	fmt.Fprintf(s.sum, "%s\x00%v\x00%x\x00", name, mode, sha256.Sum256(content))
	return nil
}

// errUnread is not fs.ErrNotExist, also if a file vanishes while the others are read.
var errUnread = errors.New("it cannot be read")

// asCopy returns what a copy is of, if it is one.
func (i Info) asCopy() Info {
	i.Address, i.Opened = strings.CutPrefix(i.Address, openedPrefix)
	return i
}
