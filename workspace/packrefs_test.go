package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// loose returns the refs of the store that have files of their own, and the directories of refs.
func (f *fixture) loose() (refs, dirs []string) {
	f.Helper()
	f.no(filepath.WalkDir(filepath.Join(f.state, "store.git", "refs"), func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, name)
		} else if err == nil {
			refs = append(refs, name)
		}
		return err
	}))
	return refs, dirs
}

// TestRefsArePacked has a project with many refs, and steps that change nothing, so that no garbage is collected.
func TestRefsArePacked(t *testing.T) {
	defer func(most int64) { maxLooseRefs = most }(maxLooseRefs)
	for name, pack := range map[string]func(f *fixture, s *Store, b Base){
		"gc":      func(f *fixture, s *Store, _ Base) { f.no(s.Clean(t.Context(), func(Info) bool { return false })) },
		"a step":  func(f *fixture, s *Store, b Base) { f.collect(f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)) },
		"few yet": nil,
	} {
		maxLooseRefs = 1 << 20
		f := newFixture(t)
		s := f.open()
		b := f.capture(s, "r1")
		for i := range 20 {
			f.no(s.Note(t.Context(), fmt.Sprint("run", i), "word", b.Commit))
		}
		if maxLooseRefs = 20; pack == nil {
			maxLooseRefs, pack = 50, func(f *fixture, s *Store, _ Base) { f.no(s.Clean(t.Context(), func(Info) bool { return false })) }
		}
		pack(f, s, b)
		refs, _ := f.loose()
		if few := len(refs) < 20; few != (maxLooseRefs == 20) {
			t.Errorf("%s: %d refs have files of their own", name, len(refs))
		}
		for i := range 20 {
			noted, err := s.Noted(t.Context(), fmt.Sprint("run", i), "word")
			if !noted || err != nil {
				t.Errorf("%s: the note is lost: %v", name, err)
			}
			f.no(s.Release(t.Context(), fmt.Sprint("run", i)))
		}
		f.no(s.Release(t.Context(), "r1"))
		if refs, dirs := f.loose(); len(refs) > 0 || len(dirs) > 4 {
			t.Errorf("%s: released, but there are %q and %q", name, refs, dirs)
		}
	}
}

// TestRefsArePackedMeanwhile has runs that begin, work and are released, while others pack their refs.
func TestRefsArePackedMeanwhile(t *testing.T) {
	defer func(most int64) { maxLooseRefs = most }(maxLooseRefs)
	maxLooseRefs = 1
	f := newFixture(t)
	b := f.capture(f.open(), "base")
	failed := make([]error, 4)
	var all sync.WaitGroup
	for i := range failed {
		all.Go(func() {
			s, err := Open(t.Context(), f.state, f.repo)
			failed[i] = err
			for n := 0; n < 8 && failed[i] == nil; n++ {
				run := fmt.Sprint("run", i, "-", n)
				err := errors.Join(s.Note(t.Context(), run, "word", b.Commit), s.Keep(t.Context(), run, b.Commit))
				pack := s.packManyRefs(t.Context())
				made, wrong := s.Made(t.Context(), run, b.Commit)
				if !made {
					wrong = errors.Join(wrong, errors.New("the commit is lost"))
				}
				if failed[i] = errors.Join(err, pack, wrong); n%2 == 0 {
					failed[i] = errors.Join(failed[i], s.Release(t.Context(), run))
				}
			}
		})
	}
	all.Wait()
	f.no(errors.Join(failed...))
	for i := range failed {
		for n := range 8 {
			made, err := f.open().Made(t.Context(), fmt.Sprint("run", i, "-", n), b.Commit)
			if made != (n%2 == 1) || err != nil {
				t.Errorf("run %d-%d: made %v, %v", i, n, made, err)
			}
		}
	}
}

// TestLocksOfKilledCommands has lock files of git, whose machine was switched off. Those of a command that works now stay.
func TestLocksOfKilledCommands(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	f.capture(s, "r1")
	f.no(s.packRefs(t.Context()))
	store := filepath.Join(f.state, "store.git")
	locks := []string{filepath.Join(store, "packed-refs.lock"), filepath.Join(store, "packed-refs.new"), filepath.Join(store, "refs", "hocket", "r1", "base.lock")}
	for _, lock := range locks {
		f.write(lock, "")
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return false }))
	for _, lock := range locks {
		if _, err := os.Lstat(lock); err != nil {
			t.Error(err)
		}
		f.no(os.Chtimes(lock, time.Now(), time.Now().Add(-2*leftovers)))
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return false }))
	f.no(s.Release(t.Context(), "r1"))
	if left, err := filepath.Glob(filepath.Join(store, "packed-refs.*")); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}
