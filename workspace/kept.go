package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What the store keeps of attempts: what each has made, what it had left when it was interrupted, and the rounds of a merge.

// Collected returns what an attempt began with and what it left, "" if that is not known.
func (s *Store) Collected(ctx context.Context, a Attempt) (base, commit string, err error) {
	return s.kept(ctx, a.Run, a.ref())
}

// Round is one of the times that an attempt at a merge resolved conflicts: what it began with, and what it left.
type Round struct{ Base, Commit string }

// Rounds returns what an attempt has collected: once, unless it is a merge that has resolved several conflicts, one after the other. What
// an attempt did before it was made again from its start is not part of it.
func (s *Store) Rounds(ctx context.Context, a Attempt) (all []Round, err error) {
	all, err = s.roundsBefore(ctx, a)
	if err != nil {
		return nil, err
	}
	base, commit, err := s.Collected(ctx, a)
	if err != nil || commit == "" {
		return nil, err
	}
	if last := (Round{base, commit}); len(all) == 0 || all[len(all)-1] != last { // otherwise the next one has not been collected
		all = append(all, last)
	}
	for i, r := range slices.Backward(all) {
		if r.Base == all[0].Base { // the same branches are merged to the same commit
			return all[i:], nil
		}
	}
	return all, nil
}

// roundsBefore returns the rounds that are kept because another one followed.
func (s *Store) roundsBefore(ctx context.Context, a Attempt) (all []Round, err error) {
	for {
		base, commit, err := s.kept(ctx, a.Run, a.roundRef(len(all)+1))
		if err != nil || commit == "" {
			return all, err
		}
		all = append(all, Round{base, commit})
	}
}

// Interruption is what an attempt left that was interrupted and then made again.
type Interruption struct {
	Attempt
	Base, Commit string
}

// Interruptions returns what an attempt left each time that it was interrupted and then made again, the first one first.
func (s *Store) Interruptions(ctx context.Context, a Attempt) (all []Interruption, err error) {
	for {
		base, commit, err := s.kept(ctx, a.Run, a.interruptedRef(len(all)+1))
		if err != nil || commit == "" {
			return all, err
		}
		all = append(all, Interruption{a, base, commit})
	}
}

// instanceOf returns the name of the instance in a ref for what an attempt left, see [Attempt].
func instanceOf(ref string) (name string, found bool) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(ref, "from/"), "/")
	name, _, found = strings.Cut(rest, "/")
	return name, found && (kind == "attempt" || kind == "interrupted" || kind == "round")
}

// kept returns the commits that the store keeps under a name for what was collected.
func (s *Store) kept(ctx context.Context, run, ref string) (base, commit string, err error) {
	if !s.mayHave(refsOf(run) + ref) {
		return "", "", nil
	}
	base, err = s.refs.out(ctx, "rev-parse", "-q", "--verify", refsOf(run)+"from/"+ref)
	if err == nil {
		commit, err = s.refs.out(ctx, "rev-parse", "-q", "--verify", refsOf(run)+ref)
	}
	if exitCode(err) == 1 {
		return "", "", nil
	}
	return base, commit, err
}

// mayHave reports whether git may know a ref. Like git, it looks for the file of the ref first, and then among those that were packed.
// Every attempt asks for one that is not there, and this is sooner said than by git.
func (s *Store) mayHave(ref string) bool {
	dir := filepath.Join(s.dir, "store.git")
	if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(ref))); !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	packed, err := readSmall(filepath.Join(dir, "packed-refs")) // if there is something else, git says so
	return strings.Contains(packed, " "+ref+"\n") || ignoreMissing(err) != nil
}

// makeAgain keeps what the attempt left when it was interrupted, if it is made again, or what it has made of a merge so far:
// its number stays the same, so what it leaves now would replace that.
func (w *Workspace) makeAgain(ctx context.Context) error {
	base, commit, err := w.store.Collected(ctx, w.Attempt)
	switch {
	case err != nil || commit == "":
		return err
	case base != w.Base: // a merge that goes on with the next branch
		return w.keepRound(ctx, Round{base, commit})
	case commit == base:
		return nil
	}
	before, err := w.store.Interruptions(ctx, w.Attempt)
	if err != nil {
		return err
	}
	to := w.interruptedRef(len(before) + 1)
	refs := fmt.Sprintf("update %[1]s%[2]s %[3]s\nupdate %[1]sfrom/%[2]s %[4]s\ndelete %[1]s%[5]s\ndelete %[1]sfrom/%[5]s\n", refsOf(w.Run), to, commit, base, w.ref())
	_, err = w.store.refs.input(ctx, refs, "update-ref", "--stdin")
	return err
}

// keepRound keeps what the attempt has made of a merge so far.
func (w *Workspace) keepRound(ctx context.Context, r Round) error {
	before, err := w.store.roundsBefore(ctx, w.Attempt)
	if n := len(before); err != nil || n > 0 && before[n-1] == r { // the directory of the next one is made again
		return err
	}
	ref := w.roundRef(len(before) + 1)
	refs := fmt.Sprintf("update %[1]s%[2]s %[3]s\nupdate %[1]sfrom/%[2]s %[4]s\n", refsOf(w.Run), ref, r.Commit, r.Base)
	_, err = w.store.refs.input(ctx, refs, "update-ref", "--stdin")
	return err
}
