package workspace

import (
	"context"
	"path/filepath"
	"strings"
)

// Dir returns the directory in which the attempts of an instance of a step work, whether or not it exists.
func (s *Store) Dir(run, address string) string {
	return filepath.Join(s.home(Attempt{Run: run, Address: address}), "tree", s.sub)
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
	return s.eachRef(ctx, from, func(name, commit string) string {
		return "update " + refsOf(to) + name + " " + commit
	})
}

// Forget no longer keeps what belongs to a run. Its directories stay.
func (s *Store) Forget(ctx context.Context, run string) error {
	return s.eachRef(ctx, run, func(name, _ string) string { return "delete " + refsOf(run) + name })
}

// eachRef changes refs, in the store and in the user's repository, for each ref of a run.
func (s *Store) eachRef(ctx context.Context, run string, change func(name, commit string) string) error {
	places := []git{s.git}
	if s.user != nil {
		places = append(places, s.user.git)
	}
	for _, g := range places {
		list, err := g.out(ctx, "for-each-ref", "--format=%(objectname) %(refname)", refsOf(run))
		if err != nil {
			return err
		}
		var changes strings.Builder
		for line := range strings.Lines(list) {
			commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
			changes.WriteString(change(strings.TrimPrefix(ref, refsOf(run)), commit) + "\n")
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
