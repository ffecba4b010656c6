package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
			if w.intact = hasTree(w.home); w.intact {
				return &unmarkedError{w.home}
			}
			return nil
		}
		if err != nil {
			return err
		}
		if m.Partial {
			return w.discard()
		}
		switch edited := isEdited(w.home); {
		case edited && m.Attempt == a && m.Base == commit:
			as, w.intact = w, true
			return errKept
		case edited:
			w.intact = true
			return &EditedError{w.home}
		}
		return w.discard()
	})
	if errors.Is(err, errKept) {
		return s.inside(as.Root)
	}
	if err != nil {
		return "", err
	}
	return w.Dir, errors.Join(w.disarm(w.Root), noteFiles(w.home), w.lock.Release())
}

var errKept = errors.New("the directory stays as it is")

// filesNote has, beside a copy, the digest of its files as they were when it was opened.
const filesNote = "files"

func noteFiles(home string) error {
	digest, err := copyFiles(home)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, filesNote), []byte(digest), 0o600)
}

// isEdited reports whether a person has worked in a copy, also in files that git ignores. When in doubt, it reports that: nothing
// else has what is in the copy.
func isEdited(home string) bool {
	digest, err := copyFiles(home)
	if errors.Is(err, fs.ErrNotExist) {
		return false // nothing is left of it
	}
	noted, wrong := readSmall(filepath.Join(home, filesNote))
	return err != nil || wrong != nil || noted != digest
}

// copyFiles identifies the files of a copy. A commit, a stash, a branch, and what is only staged are new files there.
func copyFiles(home string) (string, error) {
	return filesDigest(filepath.Join(home, "tree"), filepath.Join(home, "tree", ".git", "index"))
}

// filesDigest identifies the files in a directory by their names, kinds, sizes and times, except for git's index, which is written when
// somebody only looks.
func filesDigest(root, index string) (string, error) {
	if _, err := os.Lstat(root); err != nil {
		return "", err
	}
	sum := sha256.New()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", path, errUnread)
		}
		if d.IsDir() || path == index {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("%s: %w", path, errUnread)
		}
		rel, err := filepath.Rel(root, path)
		fmt.Fprintf(sum, "%s\x00%v\x00%d\x00%d\x00", rel, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// errUnread is not fs.ErrNotExist, also if a file vanishes while the others are read.
var errUnread = errors.New("it cannot be read")

// asCopy returns what a copy is of, if it is one.
func (i Info) asCopy() Info {
	i.Address, i.Opened = strings.CutPrefix(i.Address, openedPrefix)
	return i
}
