package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/filelock"
)

// Reopen returns the directory of an attempt from a commit as it was left, or nil if it is not there.
func (s *Store) Reopen(a Attempt, commit string) (*Workspace, error) {
	home := s.home(a)
	if _, err := os.Stat(home); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	lock, err := filelock.Wait(home+".lock", patience)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("%s: %w", home, ErrInUse)
	}
	if err != nil {
		return nil, err
	}
	m, err := readMarker(home)
	if err == nil {
		_, err = settle(home, m)
	}
	if err != nil || m.Attempt != a || m.Base != commit || m.Partial {
		return nil, lock.Release()
	}
	w := &Workspace{Attempt: a, Root: treeIn(home), Base: commit, store: s, home: home, lock: lock, left: m.Git != ""}
	if w.Dir, err = s.inside(w.Root); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	if had := cmp.Or(m.Git, unknownRefs); refsIn(w.Root).hasMore(had) {
		w.git = had
	}
	return w, nil
}

// Gone returns an error if the user's repository is not where it was when the store was opened. Git would report objects that are
// missing.
func (s *Store) Gone() error {
	if s.user == nil {
		return nil
	}
	if _, err := os.Stat(s.user.objects); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the git repository of %s was moved or removed: retry the run from where it is now", s.root)
	}
	return nil
}

// Gone is [Store.Gone].
func (w *Workspace) Gone() error { return w.store.Gone() }

// Base returns the base of a run; "" if the store has none for it.
func (s *Store) Base(ctx context.Context, run string) (string, error) {
	commit, err := s.refs.out(ctx, "for-each-ref", "--format=%(objectname)", refsOf(run)+"base")
	return commit, s.reason(err)
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

// Made reports whether the store keeps a commit for a run: its base, or what its attempts and merges left.
func (s *Store) Made(ctx context.Context, run, commit string) (bool, error) {
	if err := checkCommits(commit); err != nil {
		return false, err
	}
	list, err := s.refs.out(ctx, "for-each-ref", "--format=%(objectname)", refsOf(run))
	return slices.Contains(strings.Fields(list), commit), err
}

// InHistory reports whether a commit is the one that is checked out, or an ancestor of it.
func (s *Store) InHistory(ctx context.Context, commit string) (bool, error) {
	if err := checkCommits(commit); err != nil || s.user == nil {
		return false, err
	}
	err := s.user.do(ctx, "merge-base", "--is-ancestor", commit, "HEAD")
	if exitCode(err) > 0 { // it is none, or there is no such commit
		return false, nil
	}
	return err == nil, err
}

// Note remembers a word about a run, with one of its commits. The word has letters and digits.
func (s *Store) Note(ctx context.Context, run, word, commit string) error {
	return s.pin(ctx, run, "note/"+word, commit)
}

// Noted reports whether a word was noted about a run.
func (s *Store) Noted(ctx context.Context, run, word string) (bool, error) {
	found, err := s.refs.out(ctx, "for-each-ref", "--format=%(refname)", refsOf(run)+"note/"+word)
	return found != "", err
}

// KeepBase keeps a commit of the store as the base of a run, unless the run has one. The user's repository may have its objects, or
// those of the commit that was checked out when it was captured, and may prune them.
func (s *Store) KeepBase(ctx context.Context, run, commit string) error {
	if base, err := s.Base(ctx, run); base != "" || err != nil {
		return err
	}
	if s.user != nil {
		from, err := s.parent(ctx, commit)
		if err != nil {
			return err
		}
		for _, c := range []string{commit, from} { // the user's first, so that nothing is pruned meanwhile
			if c == "" || s.user.do(ctx, "cat-file", "-e", c+"^{tree}") != nil {
				continue // its repository does not have the commit, and need not
			}
			if err := s.user.do(ctx, "update-ref", refsOf(run)+"base", c); err != nil {
				return reason(err, s.user.gitDir)
			}
			break
		}
	}
	return s.pin(ctx, run, "base", commit)
}

// parent returns the parent of a commit; "" if it has none. Of several it is the first.
func (s *Store) parent(ctx context.Context, commit string) (string, error) {
	if err := checkCommits(commit); err != nil {
		return "", err
	}
	parents, err := s.git.out(ctx, "rev-list", "-1", "--no-commit-header", "--format=%P", commit, "--")
	first, _, _ := strings.Cut(parents, " ")
	return first, err
}

// Keep keeps a commit of the store for a run, which need not have made it.
func (s *Store) Keep(ctx context.Context, run, commit string) error {
	if made, err := s.Made(ctx, run, commit); made || err != nil {
		return err
	}
	for _, g := range s.places() {
		if g.do(ctx, "cat-file", "-e", commit+"^{tree}") != nil {
			continue // its repository does not have the commit, and need not
		}
		if err := g.do(ctx, "update-ref", refsOf(run)+"used/"+commit, commit); err != nil {
			return err
		}
	}
	return nil
}

// places returns the repositories that have refs of runs.
func (s *Store) places() []git {
	if s.user == nil {
		return []git{s.refs}
	}
	return []git{s.refs, s.user.git}
}

// Copy keeps for another run what the store keeps for a run: its base, and what its attempts left. Only those of some instances of steps, which the
// other run does not make again, count as attempts of that run. What it has already stays.
func (s *Store) Copy(ctx context.Context, from, to string, addresses []string) error {
	of := map[string]bool{}
	for _, address := range addresses {
		of[nameOf(address)] = true
	}
	for _, g := range s.places() {
		list, err := g.out(ctx, "for-each-ref", "--format=%(objectname) %(refname)", refsOf(from), refsOf(to))
		if err != nil {
			return err
		}
		has := map[string]bool{}
		var kept [][2]string // name and commit
		for line := range strings.Lines(list) {
			commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name, ok := strings.CutPrefix(ref, refsOf(from)); ok {
				if instance, ofAttempt := instanceOf(name); ofAttempt && !of[instance] {
					name = "used/" + commit
				}
				kept = append(kept, [2]string{name, commit})
			}
			has[ref] = true
		}
		var changes strings.Builder
		for _, k := range kept {
			if ref := refsOf(to) + k[0]; !has[ref] {
				has[ref] = true
				changes.WriteString("update " + ref + " " + k[1] + "\n")
			}
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
