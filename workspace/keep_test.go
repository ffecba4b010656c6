package workspace

import (
	"errors"
	"strings"
	"testing"
)

// On another machine with the same files, the base of a run is there before anything was captured. It is kept from then on.
func TestKeepOnAnotherMachine(t *testing.T) {
	f := newFixture(t)
	base := f.capture(f.open(), "run")
	clone := t.TempDir()
	f.git(clone, "clone", "-q", f.repo, ".")
	s, err := Open(t.Context(), t.TempDir(), clone)
	f.no(err)
	if got, err := s.Base(t.Context(), "run"); got != "" || err != nil {
		t.Fatalf("the base is %q, %v", got, err)
	}
	f.no(s.KeepBase(t.Context(), "run", base.Commit))
	if got, err := s.Base(t.Context(), "run"); got != base.Commit || err != nil {
		t.Errorf("the base is %q, %v; want %s", got, err, base.Commit)
	}
	// The user drops the commit.
	f.git(clone, "commit", "-q", "--amend", "-m", "another")
	f.git(clone, "reflog", "expire", "--expire=now", "--all")
	f.git(clone, "gc", "-q", "--prune=now")
	if found, err := s.Has(t.Context(), base.Commit); !found || err != nil {
		t.Errorf("the base is gone: %v", err)
	}
	// A later commit of the run is not its base.
	later := strings.TrimSpace(f.git(clone, "rev-parse", "HEAD"))
	f.no(errors.Join(s.KeepBase(t.Context(), "run", later), s.Keep(t.Context(), "run", later)))
	if got, err := s.Base(t.Context(), "run"); got != base.Commit || err != nil {
		t.Errorf("the base became %q, %v", got, err)
	}
}

// A commit that a run uses and has not made is kept, and does not become its base.
func TestKeepWhatIsUsed(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	used := strings.TrimSpace(f.git(f.repo, "rev-parse", "HEAD"))
	f.no(s.Keep(t.Context(), "run", used))
	f.git(f.repo, "commit", "-q", "--amend", "-m", "another")
	f.git(f.repo, "reflog", "expire", "--expire=now", "--all")
	f.git(f.repo, "gc", "-q", "--prune=now")
	if found, err := s.Has(t.Context(), used); !found || err != nil {
		t.Errorf("the commit is gone: %v", err)
	}
	if got, err := s.Base(t.Context(), "run"); got != "" || err != nil {
		t.Errorf("it became the base %q, %v", got, err)
	}
	f.no(s.Release(t.Context(), "run"))
	if refs := f.git(f.repo, "for-each-ref", "refs/hocket/"); refs != "" {
		t.Errorf("left: %s", refs)
	}
}

// The base of a run with changes that were not committed needs the commit that was checked out. The user's repository keeps that, also
// for a fork of the run.
func TestKeepWhatTheBaseNeeds(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	head := strings.TrimSpace(f.git(f.repo, "rev-parse", "HEAD"))
	f.put("a.txt", "changed\n")
	base := f.capture(s, "run")
	f.no(s.KeepBase(t.Context(), "fork", base.Commit))
	if got := strings.TrimSpace(f.git(f.repo, "rev-parse", "refs/hocket/fork/base")); got != head {
		t.Errorf("the user's repository keeps %s, want %s", got, head)
	}
}

// Copying again, after a fork was repeated, changes nothing that the fork has made.
func TestCopyKeepsWhatIsThere(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	first := f.capture(s, "run")
	f.no(s.Copy(t.Context(), "run", "fork", nil))
	f.put("a.txt", "changed\n")
	f.capture(s, "run")
	f.no(s.Copy(t.Context(), "run", "fork", nil))
	if got, err := s.Base(t.Context(), "fork"); got != first.Commit || err != nil {
		t.Errorf("the base of the fork became %q, %v; it was %s", got, err, first.Commit)
	}
}
