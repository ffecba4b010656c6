package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A run stays in its place until nothing is left of it, also a directory in which somebody has saved something.
func TestPlaces(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	base := f.capture(s, "r1")
	for _, run := range []string{"r1", "R.1", "r2"} {
		f.no(s.Enter("here", run))
		f.no(s.Enter("here", run))
	}
	f.no(s.Enter("there", "r3"))
	f.write(filepath.Join(f.state, "places", "here", "r4"), "r") // its process was killed
	entered := func(want ...string) {
		t.Helper()
		got, err := s.Entered("here")
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	entered("R.1", "r1", "r2")
	w, err := s.Checkout(t.Context(), Attempt{"r1", "a", 1}, base.Commit)
	f.no(err)
	f.no(s.Release(t.Context(), "r1")) // an attempt works in it
	entered("R.1", "r1", "r2")
	f.no(w.Close())
	if runs, err := s.Runs(); err != nil || !slices.Equal(runs, []string{"r1"}) {
		t.Errorf("runs with directories: %q %v", runs, err)
	}
	f.no(s.Release(t.Context(), "r1"))
	f.no(s.Release(t.Context(), "R.1"))
	entered("r2")
	if runs, err := s.Runs(); err != nil || len(runs) > 0 {
		t.Errorf("runs with directories: %q %v", runs, err)
	}
	if none, err := s.Entered("nowhere"); err != nil || none != nil {
		t.Errorf("%q %v", none, err)
	}
	if _, err := os.Stat(filepath.Join(f.state, "places", "there", "r3")); err != nil {
		t.Error(err)
	}
}
