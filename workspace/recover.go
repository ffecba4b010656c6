package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
)

// A directory may have more than was collected: its process was killed, or a person has worked there. That is recorded before it is removed.

// Recover collects what is in the directory of an attempt that has not ended: its process was killed, or a person works there. It does
// nothing if the attempt has ended, or if the directory is that of another one; the error is [ErrInUse] if an attempt works in it.
func (s *Store) Recover(ctx context.Context, a Attempt) error {
	home := s.home(a)
	if _, err := os.Lstat(filepath.Join(home, markerName)); err != nil {
		return ignoreMissing(err)
	}
	lock, err := filelock.Wait(home+".lock", patience)
	if errors.Is(err, filelock.ErrLocked) {
		return fmt.Errorf("%s: %w", home, ErrInUse)
	}
	if err != nil {
		return err
	}
	m, err := readMarker(home)
	if err == nil && !m.Partial {
		_, err = settle(home, m)
	}
	if err == nil && m.Captured == "" && !m.Partial && m.Attempt == a {
		_, err = s.recover(ctx, home, treeIn(home), m)
	}
	return errors.Join(s.reason(ignoreMissing(err)), lock.Release())
}

// recoverTime limits how long recover takes, since others wait for it.
var recoverTime = time.Minute

// recordLast makes sure that nothing is lost if a tree in a directory that is locked is removed. It collects what was changed in it since
// its attempt ended, because a person may have worked there, and returns what is in it then. An error says why the tree has to stay.
func (s *Store) recordLast(ctx context.Context, home, root string, m marker) (*seen, error) {
	if strings.HasPrefix(m.Address, openedPrefix) {
		return unedited(home, root)
	}
	first := refsIn(root)
	now, err := s.recordAll(ctx, home, root, m)
	if err != nil {
		return nil, fmt.Errorf("its files cannot be recorded: %w", err)
	}
	for _, is := range []refs{first, refsIn(root)} { // also what was made meanwhile
		if s.hasMine(ctx, m, is) {
			return nil, errMine
		}
	}
	return now, nil
}

var errMine = errors.New("it has commits, branches, stashes or linked worktrees of yours, which are recorded nowhere else")

// recordAll collects the files of a tree until nothing has changed since. Whoever works there may do so while it is collected.
func (s *Store) recordAll(ctx context.Context, home, root string, m marker) (*seen, error) {
	const often = 5
	for range often {
		now, err := lookAt(root)
		if err == nil && m.Files != "" && now.digest() == m.Files {
			return now, nil
		}
		if m.Files, err = s.recover(ctx, home, root, m); err != nil {
			return nil, err
		}
		if !tellsChanges {
			return lookAt(root)
		}
	}
	return nil, errors.New("they change while they are recorded")
}

// recover collects what is in a tree of a directory that is locked, and returns what [seen] says of it.
func (s *Store) recover(ctx context.Context, home, root string, m marker) (files string, err error) {
	w := &Workspace{Attempt: m.Attempt, Root: root, Base: m.Base, store: s, home: home, left: m.Git != ""}
	limited, cancel := context.WithTimeout(ctx, recoverTime)
	defer cancel()
	_, files, err = w.record(limited, m.Captured, "What attempt "+strconv.Itoa(m.Number)+" left")
	if harmless := w.disarm(w.Root); err == nil {
		err = harmless
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("the files in %s could not be captured within %v", w.Root, recoverTime)
	}
	return files, err
}
