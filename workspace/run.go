package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/internal/filelock"
)

// Dir returns the directory in which the attempts of an instance of a step work, whether or not it exists.
func (s *Store) Dir(run, address string) string {
	return filepath.Join(s.home(Attempt{Run: run, Address: address}), "tree", s.sub)
}

// Reopen returns the directory of an attempt from a commit as it was left, or nil if it is not there.
func (s *Store) Reopen(a Attempt, commit string) (*Workspace, error) {
	home := s.home(a)
	if _, err := os.Stat(home); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	lock, err := filelock.Take(home + ".lock")
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("%s: %w", home, ErrInUse)
	}
	if err != nil {
		return nil, err
	}
	m, err := readMarker(home)
	if err != nil || m.Attempt != a || m.Base != commit {
		return nil, lock.Release()
	}
	root := filepath.Join(home, "tree")
	return &Workspace{Attempt: a, Root: root, Dir: filepath.Join(root, s.sub), Base: commit, store: s, home: home, lock: lock}, nil
}

// Base returns the base of a run.
func (s *Store) Base(ctx context.Context, run string) (string, error) {
	return s.git.out(ctx, "rev-parse", "-q", "--verify", refsOf(run)+"base")
}

// Has reports whether the store has a commit.
func (s *Store) Has(ctx context.Context, commit string) (bool, error) {
	if err := checkCommits(commit); err != nil {
		return false, err
	}
	_, err := s.git.out(ctx, "cat-file", "-e", commit+"^{tree}")
	if exitCode(err) > 0 {
		return false, nil
	}
	return err == nil, err
}

// Copy keeps for another run what the store keeps for a run: its base, and what its attempts left.
func (s *Store) Copy(ctx context.Context, from, to string) error {
	places := []git{s.git}
	if s.user != nil {
		places = append(places, s.user.git)
	}
	for _, g := range places {
		list, err := g.out(ctx, "for-each-ref", "--format=%(objectname) %(refname)", refsOf(from))
		if err != nil {
			return err
		}
		var changes strings.Builder
		for line := range strings.Lines(list) {
			commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
			changes.WriteString("update " + refsOf(to) + strings.TrimPrefix(ref, refsOf(from)) + " " + commit + "\n")
		}
		if changes.Len() == 0 {
			continue
		}
		if _, err := g.input(ctx, changes.String(), "update-ref", "--stdin"); err != nil {
			return err
		}
	}
	return nil
}
