package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the user has changed in a file at which git does not look is in no capture, so no landing replaces the file.
func TestLandKeepsUnseenChanges(t *testing.T) {
	for _, mark := range []string{"skip-worktree", "assume-unchanged"} {
		for _, how := range []How{AsPatch, AsCommit} {
			f := newFixture(t)
			s := f.open()
			base := f.capture(s, "run")
			w := f.checkout(s, Attempt{Run: "run", Address: "a", Number: 1}, base.Commit)
			f.write(filepath.Join(w.Dir, "a.txt"), "agent\ntwo\nthree\n")
			commit, err := w.Collect(t.Context(), "a")
			f.no(err)
			f.no(w.Close())
			f.git(f.repo, "update-index", "--"+mark, "a.txt")
			f.put("a.txt", "one\ntwo\nmine\n")
			_, err = s.Plan(t.Context(), Landing{ID: "run/ship", Run: "run", How: how, Base: base.Commit, Commit: commit, Message: "m"}, 1<<20)
			if err == nil || !strings.Contains(err.Error(), "git update-index --no-"+mark+" -- a.txt") {
				t.Errorf("%s, %s: %v", mark, how, err)
			}
			f.no(os.Remove(filepath.Join(f.repo, "a.txt")))
			want := map[string]string{"skip-worktree": "a.txt is not in your sparse checkout", "assume-unchanged": "update-index --no-assume-unchanged -- a.txt"}[mark]
			_, err = s.Plan(t.Context(), Landing{ID: "run/ship", Run: "run", How: how, Base: base.Commit, Commit: commit, Message: "m"}, 1<<20)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s without the file, %s: %v", mark, how, err)
			}
		}
	}
}

// A name that a shell could read otherwise is in no command.
func TestNamesInCommands(t *testing.T) {
	f := newFixture(t)
	f.put("a; date", "one\n")
	f.git(f.repo, "add", ".")
	s := f.open()
	base := f.capture(s, "run")
	l := Landing{ID: "run/ship", Run: "run", How: AsPatch, Base: base.Commit, Commit: f.change(s, "a", base.Commit, map[string]string{"a; date": "agent\n"})}
	f.git(f.repo, "update-index", "--assume-unchanged", "a; date")
	if _, err := s.Plan(t.Context(), l, 1<<20); err == nil || !strings.Contains(err.Error(), `not to look at "a; date",`) || !strings.Contains(err.Error(), "git update-index --no-assume-unchanged -- FILE, or") {
		t.Error(err)
	}
}

// A step that replaces its directory by a link, or the one around it, does not make Hocket change the repository to which the link leads.
func TestDisarmDoesNotFollowLinks(t *testing.T) {
	for _, above := range []bool{false, true} {
		f := newFixture(t)
		s := f.open()
		base := f.capture(s, "run")
		w := f.checkout(s, Attempt{Run: "run", Address: "a", Number: 1}, base.Commit)
		hook := filepath.Join(f.repo, ".git", "hooks", "pre-commit")
		f.write(hook, "#!/bin/sh\n")
		config := f.read(f.repo, ".git", "config")
		linked, target := w.Root, f.repo
		if above {
			linked, target = filepath.Dir(w.Root), filepath.Join(t.TempDir(), "home")
			f.mkdir(target)
			f.no(os.Symlink(f.repo, filepath.Join(target, "tree")))
		}
		f.no(os.Rename(linked, linked+"-moved"))
		f.no(os.Symlink(target, linked))
		_ = w.Close()
		if got := f.read(f.repo, ".git", "config"); got != config {
			t.Errorf("the configuration of the user became %q", got)
		}
		if _, err := os.Lstat(hook); err != nil {
			t.Error(err)
		}
	}
}
