package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSavedBeside has a person who saves something beside the files of a step, in the directory that is listed. It stays, also if nothing
// else does.
func TestSavedBeside(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.write(filepath.Join(w.home, ".DS_Store"), "")
	f.write(filepath.Join(w.home, "git.agent-2", "HEAD"), "x")
	f.write(filepath.Join(w.home, "of the step", "a.txt"), "x")
	f.write(filepath.Join(w.home, "notes"), "of the step, too")
	f.collect(w)
	names := []string{"NOTES.txt", "git.agent.txt", "git.agents", "git.agent2", "seen/a.txt", "left", "notes/deep/a.txt", "now/a.txt"}
	for _, name := range names {
		f.write(filepath.Join(w.home, filepath.FromSlash(name)), "mine\n")
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	f.no(s.Release(t.Context(), "r1"))
	for _, name := range names {
		if dir, file, deep := strings.Cut(name, "/"); deep && (dir == seenName || dir == timeName) { // where Hocket has files
			name = dir + ".mine/" + file
		}
		if got := f.read(w.home, filepath.FromSlash(name)); got != "mine\n" {
			t.Errorf("%s is %q", name, got)
		}
	}
	all, err := s.List(t.Context())
	f.no(err)
	if len(all) != 1 || len(all[0].Left) != len(names) || !slices.Contains(all[0].Left, filepath.Join(w.home, "notes")) {
		t.Fatalf("%+v", all)
	}
	for _, dir := range all[0].Left {
		f.no(os.RemoveAll(dir))
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	if _, err := os.Lstat(w.home); err == nil {
		t.Error("the directory stays although nothing of a person is in it")
	}
}

// TestOwnNames has nobody who saves anything beside the files of a step or of a copy: what Hocket has there keeps no directory.
func TestOwnNames(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	a := Attempt{"r1", "step", 1}
	w := f.checkout(s, a, b.Commit)
	f.write(filepath.Join(w.Root, "new.txt"), "new\n")
	f.no(os.RemoveAll(filepath.Join(w.Root, ".git"))) // it is replaced, and set aside
	f.write(filepath.Join(w.Root, ".git"), "x")
	commit := f.collect(w)
	_, err := s.OpenCopy(t.Context(), a, commit)
	f.no(err)
	all, err := s.List(t.Context())
	f.no(err)
	if len(all) != 2 || all[0].Left != nil || all[1].Left != nil {
		t.Errorf("%+v", all)
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	if all, err := s.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestSavedBesideBeforeTheNextAttempt has a person who saves something beside the files of a step that is made again. What the steps have
// created there does not stay, and no attempt finds what the one before has created.
func TestSavedBesideBeforeTheNextAttempt(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	for n := 1; n <= 3; n++ {
		w := f.checkout(s, Attempt{"r1", "step", n}, b.Commit)
		if _, err := os.Lstat(filepath.Join(w.home, "cache")); err == nil {
			t.Errorf("attempt %d finds what the one before has created", n)
		}
		f.write(filepath.Join(w.home, "cache", "a.txt"), "of the step")
		f.collect(w)
		f.write(filepath.Join(w.home, "notes", "a.txt"), "mine\n")
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	all, err := s.List(t.Context())
	f.no(err)
	if len(all) != 1 || len(all[0].Left) != 1 || f.read(all[0].Left[0], "a.txt") != "mine\n" {
		t.Fatalf("%+v", all)
	}
}

// TestNextAttemptFindsNothingBeside has an attempt that leaves files beside its workspace under names that Hocket uses there, and a .git that
// is replaced. The next one finds nothing of that, a person still does, and it goes with the workspace.
func TestNextAttemptFindsNothingBeside(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	names := []string{
		"cache", "beside.agent", "beside.agent-7", "git.agent-2", "index.agent", "commands.agent", ".DS_Store", "fresh", goneName, "left-1",
		seenName, filesNote, timeName, removedName, markerName + newSuffix, "seen.mine",
	}
	for n := 1; n <= 3; n++ {
		w := f.checkout(s, Attempt{"r1", "step", n}, b.Commit)
		entries, err := os.ReadDir(w.home)
		f.no(err)
		for _, e := range entries {
			if e.Name() != "tree" && e.Name() != markerName && e.Name() != indexName && e.Name() != "NOTES.txt" {
				t.Errorf("attempt %d finds %s", n, e.Name())
			}
		}
		for i, name := range names {
			if i%2 == 0 {
				name += "/deep/a.txt"
			}
			f.write(filepath.Join(w.home, filepath.FromSlash(name)), "of the step")
		}
		f.no(os.Chmod(filepath.Join(w.home, "cache"), 0o500))
		f.no(os.RemoveAll(filepath.Join(w.Root, ".git")))
		f.write(filepath.Join(w.Root, ".git"), "of the step")
		f.collect(w)
		f.write(filepath.Join(w.home, "NOTES.txt"), "mine\n")
	}
	kept := 0
	for _, text := range listing(t, filepath.Join(f.state, asideName)) {
		if strings.HasSuffix(text, "of the step") {
			kept++
		}
	}
	if want := 2 * (len(names) + 1); kept != want {
		t.Errorf("%d files of two attempts are kept, not %d: %v", kept, want, listing(t, filepath.Join(f.state, asideName)))
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	if left := listing(t, filepath.Join(f.state, asideName)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	f.no(s.Release(t.Context(), "r1"))
	if got := f.read(f.state, "work", "r1", "step", "NOTES.txt"); got != "mine\n" {
		t.Errorf("a person's file is %q", got)
	}
}

// TestReplacedHome has a step that puts a link to a directory of the user in place of its own, or of the one above it. Nothing there is
// touched.
func TestReplacedHome(t *testing.T) {
	for name, above := range map[string]bool{"its own": false, "the one above": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s := f.open()
			b := f.capture(s, "r1")
			w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
			users := t.TempDir()
			dir, precious := w.home, filepath.Join(users, "precious.txt")
			if above {
				dir, precious = filepath.Dir(w.home), filepath.Join(users, filepath.Base(w.home), "precious.txt")
			}
			f.write(precious, "mine\n")
			f.no(os.Rename(dir, filepath.Join(t.TempDir(), "moved")))
			f.no(os.Symlink(users, dir))
			if _, err := w.Collect(t.Context(), "work"); err == nil {
				t.Error("the files of another directory are collected")
			}
			_ = w.Close()
			if got := f.read(precious); got != "mine\n" {
				t.Errorf("it is %q", got)
			}
			if entries, err := os.ReadDir(users); err != nil || len(entries) != 1 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}

// TestSavedBesideAtTheLastMoment has a person who saves while the directory is removed.
func TestSavedBesideAtTheLastMoment(t *testing.T) {
	f := newFixture(t)
	home := t.TempDir()
	f.write(filepath.Join(home, "NOTES.txt"), "mine\n")
	f.write(filepath.Join(home, markerName), "{}")
	if err := removeRest(home); err == nil || !strings.Contains(err.Error(), home) {
		t.Errorf("error %v", err)
	}
	if got := f.read(home, "NOTES.txt"); got != "mine\n" {
		t.Errorf("it is %q", got)
	}
}

// TestLinkedWorktree has a person who links a worktree to the repository of a step. It works as long as it is there.
func TestLinkedWorktree(t *testing.T) {
	for name, in := range map[string]func(home string) string{
		"beside":    func(home string) string { return filepath.Join(home, "fix") },
		"elsewhere": func(string) string { return filepath.Join(t.TempDir(), "fix") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s := f.open()
			b := f.capture(s, "r1")
			w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
			f.git(w.Root, "worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "agent"))
			f.collect(w)
			fix := in(w.home)
			f.git(w.Root, "worktree", "add", "-q", "--detach", fix)
			f.write(filepath.Join(fix, "precious.txt"), "precious\n")
			f.git(fix, "add", "-A")
			f.git(fix, "commit", "-qm", "mine")
			f.write(filepath.Join(w.Root, "late.txt"), "late\n") // so that it is recorded once more
			f.no(s.Clean(t.Context(), func(Info) bool { return true }))
			if got := f.git(fix, "show", "HEAD:precious.txt"); strings.TrimSpace(got) != "precious" || f.git(fix, "status", "--short") != "" {
				t.Errorf("the worktree has %q", got)
			}
			all, err := s.List(t.Context())
			f.no(err)
			if len(all) != 1 || !strings.Contains(all[0].Kept, "linked worktrees of yours") {
				t.Fatalf("%+v", all)
			}
			f.git(w.Root, "worktree", "remove", "--force", fix)
			f.no(s.Clean(t.Context(), func(Info) bool { return true }))
			if _, err := os.Lstat(w.home); err == nil {
				t.Error("the directory stays although the worktree is gone")
			}
		})
	}
}

// TestLinkedWorktreeBeforeTheNextAttempt has a person whose linked worktree is to be found again when the step is made again.
func TestLinkedWorktreeBeforeTheNextAttempt(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	a := Attempt{"r1", "step", 1}
	w := f.checkout(s, a, b.Commit)
	f.collect(w)
	fix := filepath.Join(t.TempDir(), "fix")
	f.git(w.Root, "worktree", "add", "-q", "--detach", fix)
	a.Number++
	w = f.checkout(s, a, b.Commit)
	if w.Reason != errMine || w.LeftIn == "" {
		t.Fatalf("the directory is in %q: %v", w.LeftIn, w.Reason)
	}
	f.git(w.LeftIn, "worktree", "repair", fix)
	if status := f.git(fix, "status", "--short"); status != "" {
		t.Errorf("the worktree has %q", status)
	}
	f.collect(w)
}
