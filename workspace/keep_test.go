package workspace

import (
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
	f.no(s.Keep(t.Context(), "run", base.Commit))
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
	f.no(s.Keep(t.Context(), "run", strings.TrimSpace(f.git(clone, "rev-parse", "HEAD"))))
	if got, err := s.Base(t.Context(), "run"); got != base.Commit || err != nil {
		t.Errorf("the base became %q, %v", got, err)
	}
}

// Copying again, after a fork was repeated, changes nothing that the fork has made.
func TestCopyKeepsWhatIsThere(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	first := f.capture(s, "run")
	f.no(s.Copy(t.Context(), "run", "fork"))
	f.put("a.txt", "changed\n")
	f.capture(s, "run")
	f.no(s.Copy(t.Context(), "run", "fork"))
	if got, err := s.Base(t.Context(), "fork"); got != first.Commit || err != nil {
		t.Errorf("the base of the fork became %q, %v; it was %s", got, err, first.Commit)
	}
}
