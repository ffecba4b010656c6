package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLinksInTheStore has links instead of the store's directories. Nothing is removed through them.
func TestLinksInTheStore(t *testing.T) {
	for _, name := range []string{"temp", "setup", "work"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s := f.open()
			f.capture(s, "r1")
			outside := t.TempDir()
			precious := filepath.Join(outside, "precious")
			f.write(precious, "keep\n")
			old := time.Now().Add(-100 * 24 * time.Hour)
			f.no(os.Chtimes(precious, old, old))
			dir := filepath.Join(f.state, name)
			f.no(os.RemoveAll(dir))
			f.no(os.Symlink(outside, dir))
			_ = s.Clean(t.Context(), func(Info) bool { return true }) // it may fail
			if got := f.read(precious); got != "keep\n" {
				t.Errorf("%q", got)
			}
			if _, err := Open(t.Context(), f.state, f.repo); err == nil || !strings.Contains(err.Error(), dir+" is a symbolic link") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestMarkersOfAnyKind has things instead of the markers of workspaces. The others are listed, and removed.
func TestMarkersOfAnyKind(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	f.change(s, "good", b.Commit, map[string]string{"x": "x"})
	marker := func(name string) string {
		dir := filepath.Join(f.state, "work", "r1", name)
		f.mkdir(dir)
		return filepath.Join(dir, markerName)
	}
	f.write(marker("cut"), "{")
	f.no(os.Symlink("/dev/zero", marker("link")))
	f.mkdir(marker("directory"))
	bad := []string{"cut", "link", "directory"}
	if err := exec.Command("mkfifo", marker("pipe")).Run(); err == nil {
		bad = append(bad, "pipe")
	}
	outside := t.TempDir()
	f.write(filepath.Join(outside, "home", markerName), "{")
	f.no(os.Symlink(outside, filepath.Join(f.state, "work", "linked-run")))
	all, err := s.List(t.Context())
	f.no(err)
	problems := map[string]string{}
	for _, info := range all {
		problems[info.Address] = info.Problem
	}
	if why, listed := problems["good"]; !listed || why != "" || len(all) != len(bad)+1 {
		t.Errorf("list %+v", all)
	}
	for _, name := range bad {
		if file := filepath.Join(f.state, "work", "r1", name, markerName); !strings.Contains(problems[name], file) {
			t.Errorf("the problem of %s is %q", name, problems[name])
		}
	}
	err = s.Clean(t.Context(), func(Info) bool { return true })
	f.no(err)
	for _, name := range bad {
		if _, err := os.Lstat(filepath.Join(f.state, "work", "r1", name)); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
	if _, err := os.Lstat(filepath.Join(f.state, "work", "r1", "good")); err == nil {
		t.Error("a workspace with a good marker was not removed")
	}
}

// TestBrokenOffCheckout cannot check out a commit. What it leaves is no work of any attempt, and is removed.
func TestBrokenOffCheckout(t *testing.T) {
	const missing = "1111111111111111111111111111111111111111"
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	if _, err := s.Checkout(t.Context(), Attempt{"r1", "first", 1}, missing); err == nil {
		t.Fatal("no error")
	}
	w := f.checkout(s, Attempt{"r1", "second", 1}, b.Commit)
	f.git(w.Root, "init", "-q", "inner") // so that it cannot be captured
	f.write(filepath.Join(w.Root, "inner", "work.txt"), "work\n")
	f.git(filepath.Join(w.Root, "inner"), "add", ".")
	f.git(filepath.Join(w.Root, "inner"), "commit", "-qm", "inner")
	f.no(w.Close())
	if _, err := s.Checkout(t.Context(), Attempt{"r1", "second", 2}, missing); err == nil {
		t.Fatal("no error")
	}
	for _, a := range []Attempt{{"r1", "first", 1}, {"r1", "second", 1}, {"r1", "second", 2}} {
		f.no(s.Recover(t.Context(), a))
		if _, commit, err := s.Collected(t.Context(), a); err != nil || commit != "" {
			t.Errorf("%s, attempt %d: collected %s, %v", a.Address, a.Number, commit, err)
		}
	}
	all, err := s.List(t.Context())
	f.no(err)
	if len(all) != 2 || len(all[1].Left) != 1 {
		t.Fatalf("list %+v", all)
	}
	err = s.Clean(t.Context(), func(Info) bool { return true })
	f.no(err)
	if _, err := os.Lstat(all[0].Dir); err == nil {
		t.Error("it was not removed")
	}
	if got := f.read(all[1].Left[0], "inner", "work.txt"); got != "work\n" {
		t.Errorf("what was kept is %q", got)
	}
}

// TestReleaseRemovesTheRest has what a process leaves that is killed when it has hardly begun.
func TestReleaseRemovesTheRest(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	f.change(s, "step", b.Commit, map[string]string{"x": "x"})
	f.mkdir(filepath.Join(f.state, "work", "r1", "killed"))
	f.write(filepath.Join(f.state, "work", "r1", "killed.lock"), "")
	outside := filepath.Join(t.TempDir(), "outside")
	f.write(filepath.Join(outside, "precious"), "keep\n")
	f.no(os.Symlink(outside, filepath.Join(f.state, "work", "r1", "killed", "fresh")))
	f.no(s.Release(t.Context(), "r1"))
	if _, err := os.Lstat(filepath.Join(f.state, "work", "r1")); err == nil {
		t.Errorf("left: %v", listing(t, filepath.Join(f.state, "work")))
	}
	if got := f.read(outside, "precious"); got != "keep\n" {
		t.Errorf("%q", got)
	}
}

// TestCleanGoesOn has a workspace that cannot be removed. The others are.
func TestCleanGoesOn(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	for _, address := range []string{"a", "b", "c"} {
		f.change(s, address, b.Commit, map[string]string{"x": "x"})
	}
	f.mkdir(filepath.Join(f.state, "work", "r1", "a.lock"))
	err := s.Clean(t.Context(), func(Info) bool { return true })
	if err == nil || !strings.Contains(err.Error(), "a.lock") {
		t.Errorf("error %v", err)
	}
	for address, removed := range map[string]bool{"a": false, "b": true, "c": true} {
		if _, err := os.Lstat(filepath.Join(f.state, "work", "r1", address)); (err != nil) != removed {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestWorkAfterLooking has a person who works in a directory that was recorded because somebody looked at it. What is in it is recorded
// again before it is removed.
func TestWorkAfterLooking(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	a, done := Attempt{"r1", "asked", 1}, Attempt{"r1", "done", 1}
	w := f.checkout(s, a, b.Commit)
	f.write(filepath.Join(w.Root, "x"), "begun\n")
	f.no(w.Close())
	f.no(s.Recover(t.Context(), a))
	f.write(filepath.Join(w.Root, "x"), "more\n")
	f.no(s.Recover(t.Context(), a))
	_, commit, err := s.Collected(t.Context(), a)
	f.no(err)
	f.has(s, commit, "x", "more\n")
	f.write(filepath.Join(w.Root, "x"), "all\n")

	d := f.checkout(s, done, b.Commit)
	f.write(filepath.Join(d.Root, "x"), "made\n")
	f.write(filepath.Join(d.Root, "y"), "made\n")
	made := f.collect(d)
	f.write(filepath.Join(d.Root, "x"), "later\n")
	f.git(d.Root, "status") // writes the index
	same := f.change(s, "same", b.Commit, map[string]string{"x": "same\n"})
	err = s.Clean(t.Context(), func(Info) bool { return true })
	f.no(err)
	if all, err := s.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("left: %+v, %v", all, err)
	}
	_, commit, err = s.Collected(t.Context(), a)
	f.no(err)
	f.has(s, commit, "x", "all\n")
	_, commit, err = s.Collected(t.Context(), done)
	f.no(err)
	f.has(s, commit, "x", "later\n")
	if parent, err := s.git.out(t.Context(), "rev-parse", commit+"^"); err != nil || parent != made {
		t.Errorf("it is on %s, want %s: %v", parent, made, err)
	}
	if _, commit, err = s.Collected(t.Context(), Attempt{"r1", "same", 1}); err != nil || commit != same {
		t.Errorf("what nobody changed is %s, want %s: %v", commit, same, err)
	}
}

// TestKeptIfNotRecorded has a person who works in a directory after its attempt ended, in a way that cannot be recorded. It stays, however
// often somebody tries, and says why.
func TestKeptIfNotRecorded(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	for name, c := range map[string]struct {
		work func(root string)
		why  string
	}{
		"repository": {func(root string) {
			f.mkdir(filepath.Join(root, "sub"))
			f.git(filepath.Join(root, "sub"), "init", "-q")
			f.git(filepath.Join(root, "sub"), "commit", "-q", "--allow-empty", "-m", "x")
		}, "its files cannot be recorded: a repository inside the workspace"},
		"commit": {func(root string) {
			f.git(root, "checkout", "-q", "-b", "mine")
			f.git(root, "commit", "-q", "--allow-empty", "-m", "x")
			f.git(root, "checkout", "-q", "-")
		}, "it has commits, branches, stashes or linked worktrees of yours"},
		"stash": {func(root string) {
			f.write(filepath.Join(root, "a.txt"), "mine\n")
			f.git(root, "stash")
		}, "it has commits, branches, stashes or linked worktrees of yours"},
	} {
		w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
		f.write(filepath.Join(w.Root, "x"), "by the agent\n")
		f.collect(w)
		f.git(w.Root, "status")
		f.write(filepath.Join(w.Root, "x"), "by a person\n")
		c.work(w.Root)
		for range 2 {
			f.no(s.Clean(t.Context(), func(i Info) bool { return i.Address == name }))
			all, err := s.List(t.Context())
			f.no(err)
			if len(all) != 1 || !strings.HasPrefix(all[0].Kept, c.why) {
				t.Errorf("%s: %+v", name, all)
			}
		}
		next := f.checkout(s, Attempt{"r1", name, 2}, b.Commit)
		if next.Reason == nil || !strings.HasPrefix(next.Reason.Error(), c.why) || next.LeftIn == "" {
			t.Errorf("%s: left in %q, %v", name, next.LeftIn, next.Reason)
		}
		f.no(next.Close())
		f.no(os.RemoveAll(next.home))
	}
}

// TestWorkBetweenAttempts has a person who works in a directory before the next attempt of the step begins there.
func TestWorkBetweenAttempts(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.write(filepath.Join(w.Root, "x"), "by the agent\n")
	made := f.collect(w)
	f.write(filepath.Join(w.Root, "y"), "by a person\n")
	next := f.checkout(s, Attempt{"r1", "step", 2}, b.Commit)
	if next.LeftIn != "" || next.Reason != nil {
		t.Errorf("left in %q, %v", next.LeftIn, next.Reason)
	}
	f.no(next.Close())
	_, commit, err := s.Collected(t.Context(), w.Attempt)
	f.no(err)
	f.has(s, commit, "x", "by the agent\n")
	f.has(s, commit, "y", "by a person\n")
	if parent, err := s.git.out(t.Context(), "rev-parse", commit+"^"); err != nil || parent != made {
		t.Errorf("it is on %s, want %s: %v", parent, made, err)
	}
}

// TestWorkOnAConflict has a person who resolves a conflict in a directory, and uses git there for other things.
func TestWorkOnAConflict(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	for name, c := range map[string]struct {
		work  func(root string)
		stays bool
	}{
		"files": {func(root string) { f.write(filepath.Join(root, "x"), "resolved\n") }, false},
		"commit": {func(root string) {
			f.write(filepath.Join(root, "x"), "resolved\n")
			f.git(root, "add", "x")
			f.git(root, "commit", "-qm", "x")
		}, false},
		"stash":  {func(root string) { f.write(filepath.Join(root, "a.txt"), "mine\n"); f.git(root, "stash") }, true},
		"branch": {func(root string) { f.git(root, "branch", "mine"); f.write(filepath.Join(root, "x"), "resolved\n") }, true},
	} {
		a := Attempt{"r1", name, 1}
		f.no(f.checkout(s, a, b.Commit).Close()) // the question is open
		c.work(filepath.Join(s.home(a), "tree"))
		w, err := s.Reopen(a, b.Commit)
		f.no(err)
		f.no(w.Close()) // it is asked again
		w, err = s.Reopen(a, b.Commit)
		f.no(err)
		f.collect(w)
		f.no(s.Clean(t.Context(), func(i Info) bool { return i.Address == name }))
		if _, err := os.Stat(w.Root); (err == nil) != c.stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRemoveWhereWeAre has a person whose shell is in the directory that is removed, or made again for the next attempt.
func TestRemoveWhereWeAre(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.collect(w)
	t.Chdir(w.Root)
	next := f.checkout(s, Attempt{"r1", "step", 2}, b.Commit)
	f.write(filepath.Join(next.Root, "x"), "more\n")
	f.collect(next)
	t.Chdir(next.Root)
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	if _, err := os.Stat(next.home); err == nil {
		t.Error("it is still there")
	}
}

// TestChoiceIsAskedAgain has another process that begins the next attempt while directories are chosen.
func TestChoiceIsAskedAgain(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.collect(w)
	begun := false
	f.no(s.Clean(t.Context(), func(i Info) bool {
		if !begun {
			begun = true
			f.no(f.checkout(s, Attempt{"r1", "step", 2}, b.Commit).Close())
			return true
		}
		return i.Captured != ""
	}))
	if _, err := os.Stat(w.Root); err != nil {
		t.Errorf("the directory of the next attempt was removed: %v", err)
	}
}

// TestLostMarker has directories with work whose marker was lost, after each of what removes directories. They stay, and are listed.
func TestLostMarker(t *testing.T) {
	for name, remove := range map[string]func(f *fixture, s *Store, commit string){
		"clean":   func(f *fixture, s *Store, _ string) { f.no(s.Clean(f.Context(), func(Info) bool { return true })) },
		"release": func(f *fixture, s *Store, _ string) { f.no(s.Release(f.Context(), "r1")) },
		"attempt": func(f *fixture, s *Store, commit string) {
			next := f.checkout(s, Attempt{"r1", "step", 2}, commit)
			if next.LeftIn == "" || next.Reason == nil || !strings.Contains(next.Reason.Error(), markerName+" is missing") {
				f.Errorf("left in %q: %v", next.LeftIn, next.Reason)
			}
			f.collect(next)
		},
		"open": func(f *fixture, s *Store, commit string) {
			if _, err := s.OpenCopy(f.Context(), Attempt{"r1", "step", 1}, commit); err == nil || !strings.Contains(err.Error(), markerName+" is missing") {
				f.Errorf("error %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s := f.open()
			b := f.capture(s, "r1")
			a := Attempt{"r1", "step", 1}
			if name == "open" {
				_, err := s.OpenCopy(t.Context(), a, b.Commit)
				f.no(err)
				a.Address = openedPrefix + a.Address
			} else {
				f.collect(f.checkout(s, a, b.Commit))
			}
			home := s.home(a)
			f.write(filepath.Join(home, "tree", "work"), "mine\n")
			f.no(os.Remove(filepath.Join(home, markerName)))
			remove(f, s, b.Commit)
			dir := filepath.Join(home, "tree")
			all, err := s.List(t.Context())
			f.no(err)
			switch {
			case len(all) != 1:
				t.Fatalf("list %+v", all)
			case name == "attempt":
				dir = filepath.Join(home, "left-2")
				if len(all[0].Left) != 1 || all[0].Left[0] != dir {
					t.Errorf("list %+v", all)
				}
			case all[0].Dir != home || !strings.Contains(all[0].Problem, markerName+" is missing"):
				t.Errorf("list %+v", all)
			}
			if got := f.read(dir, "work"); got != "mine\n" {
				t.Errorf("the work is %q", got)
			}
		})
	}
}

// TestRemoveOnFullDisk has a disk on which nothing can be written. Directories are removed nevertheless; what has to be recorded before that
// is, when the others have made space for it.
func TestRemoveOnFullDisk(t *testing.T) {
	repo := os.Getenv("HOCKET_TEST_REPO")
	if repo == "" {
		f := newFixture(t)
		f.onDisk("6m", "HOCKET_TEST_REPO="+f.repo, "HOCKET_TEST_STATE="+f.state)
		return
	}
	f := &fixture{t, repo, os.Getenv("HOCKET_TEST_STATE")}
	s := f.open()
	b := f.capture(s, "r1")
	text := strings.Repeat("a line of a step\n", 1<<14)
	large := map[string]string{"large": text}
	for _, address := range []string{"recorded", "edited"} {
		f.change(s, address, b.Commit, large)
	}
	edit := filepath.Join(s.home(Attempt{"r1", "edited", 1}), "tree", "a.txt")
	f.write(edit, "edited\n")
	f.fill()
	only := func(address string) func(Info) bool { return func(i Info) bool { return i.Address == address } }
	err := s.Clean(t.Context(), only("edited"))
	var full *FullError
	if !errors.As(err, &full) || strings.Contains(err.Error(), "workspace rm") || f.read(edit) != "edited\n" {
		t.Errorf("what cannot be recorded was removed: %v", err)
	}
	if _, err := s.Base(t.Context(), "r1"); !errors.As(err, &full) {
		t.Errorf("the base: %v", err)
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	if all, err := s.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("left: %+v, %v", all, err)
	}
	_, commit, err := s.Collected(t.Context(), Attempt{"r1", "edited", 1})
	f.no(err)
	f.has(s, commit, "a.txt", "edited\n")
	f.change(s, "next", b.Commit, large)
	f.fill()
	f.no(s.Release(t.Context(), "r1"))
	if all, err := s.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("left of the run: %+v, %v", all, err)
	}
}

// fill fills the disk of the state.
func (f *fixture) fill() {
	f.Helper()
	file, err := os.CreateTemp(f.state, "ballast")
	f.no(err)
	defer file.Close()
	for err == nil {
		_, err = file.Write(make([]byte, 512))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		f.Error(err)
	}
}
