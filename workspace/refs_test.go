package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManyRefs has an agent that makes many refs. Its directory is removed, but not if a person has made another one since.
func TestManyRefs(t *testing.T) {
	const many = 10_001
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	for name, make := range map[string]func(root string){
		"loose": func(root string) {
			f.mkdir(filepath.Join(root, ".git", "refs", "agent"))
			for i := range many {
				f.no(os.WriteFile(filepath.Join(root, ".git", "refs", "agent", fmt.Sprint(i)), []byte(b.Commit+"\n"), 0o644))
			}
		},
		"packed": func(root string) {
			var packed strings.Builder
			for i := range 6 * many {
				fmt.Fprintf(&packed, "%s refs/agent/a-ref-with-a-longer-name-%d\n", b.Commit, i)
			}
			f.write(filepath.Join(root, ".git", "packed-refs"), packed.String())
		},
	} {
		for _, mine := range []bool{false, true} {
			w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
			make(w.Root)
			f.collect(w)
			if mine {
				f.git(w.Root, "branch", "mine")
			}
			f.no(s.Clean(t.Context(), func(i Info) bool { return i.Address == name }))
			if _, err := os.Stat(w.Root); (err == nil) != mine {
				t.Errorf("%s, with a branch of a person %v: %v", name, mine, err)
			}
		}
	}
}

// TestUncountedRefs has a person who makes more refs than we count, or something that cannot be read.
func TestUncountedRefs(t *testing.T) {
	defer func(n int) { maxGitFiles = n }(maxGitFiles)
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	for name, work := range map[string]func(root string){
		"many":   func(root string) { f.git(root, "branch", "mine"); maxGitFiles = 2 },
		"packed": func(root string) { f.mkdir(filepath.Join(root, ".git", "packed-refs")) },
	} {
		w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
		f.collect(w)
		work(w.Root)
		f.no(s.Clean(t.Context(), func(i Info) bool { return i.Address == name }))
		if _, err := os.Stat(w.Root); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		maxGitFiles = 200_000
	}
}

// TestWorkAfterAKill has a process that was killed during an attempt, and a person who works in its directory then. What the store has not
// recorded stays, also if it is the agent's: that is not known.
func TestWorkAfterAKill(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	commit := func(root string) {
		f.write(filepath.Join(root, "x"), "x\n")
		f.git(root, "add", "x")
		f.git(root, "commit", "-qm", "x")
	}
	for name, c := range map[string]struct {
		work  func(root string)
		stays bool
	}{
		"nothing":       {func(string) {}, false},
		"files":         {func(root string) { f.write(filepath.Join(root, "x"), "x\n") }, false},
		"a commit":      {commit, false},
		"on a branch":   {func(root string) { f.git(root, "checkout", "-qb", "other"); commit(root) }, false},
		"packed":        {func(root string) { commit(root); f.git(root, "pack-refs", "--all") }, false},
		"no repository": {func(root string) { f.no(os.RemoveAll(filepath.Join(root, ".git"))) }, false},
		"another branch": {func(root string) {
			commit(root)
			f.git(root, "branch", "mine")
			f.git(root, "reset", "-q", "--hard", b.Commit)
		}, true},
		"a packed one": {func(root string) {
			commit(root)
			f.git(root, "branch", "mine")
			f.git(root, "reset", "-q", "--hard", b.Commit)
			f.git(root, "pack-refs", "--all")
		}, true},
		"a stash": {func(root string) { f.write(filepath.Join(root, "a.txt"), "mine\n"); f.git(root, "stash") }, true},
	} {
		a := Attempt{"r1", name, 1}
		w := f.checkout(s, a, b.Commit)
		f.no(w.lock.Release()) // as if it was killed
		c.work(w.Root)
		again := f.checkout(s, a, b.Commit)
		if (again.LeftIn != "") != c.stays || c.stays && again.Reason != errMine {
			t.Errorf("%s: left in %q: %v", name, again.LeftIn, again.Reason)
		}
		f.collect(again)
	}
}

// TestReopenedAfterAKill has a process that was killed before it noted what the repository of a conflict had.
func TestReopenedAfterAKill(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	a := Attempt{"r1", "step", 1}
	w := f.checkout(s, a, b.Commit)
	f.no(w.lock.Release())
	f.write(filepath.Join(w.Root, "a.txt"), "mine\n")
	f.git(w.Root, "stash")
	w, err := s.Reopen(a, b.Commit)
	f.no(err)
	f.collect(w)
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	if _, err := os.Stat(w.Root); err != nil {
		t.Error(err)
	}
}
