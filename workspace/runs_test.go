package workspace

import (
	"slices"
	"testing"
)

// Something is left of a run that was released while an attempt works in its directory.
func TestRunsWithDirectories(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	base := f.capture(s, "r1")
	has := func(want bool) {
		t.Helper()
		runs, err := s.Runs()
		left, wrong := s.Left("r1")
		if err != nil || wrong != nil || left != want || slices.Contains(runs, "r1") != want || !want && len(runs) > 0 {
			t.Errorf("runs with directories: %q %v, left %t %v, want %t", runs, err, left, wrong, want)
		}
	}
	has(false)
	w, err := s.Checkout(t.Context(), Attempt{"r1", "a", 1}, base.Commit)
	f.no(err)
	has(true)
	f.no(s.Release(t.Context(), "r1"))
	has(true)
	f.no(w.Close())
	f.no(s.Release(t.Context(), "r1"))
	has(false)
}
