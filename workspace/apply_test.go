package workspace

import (
	"fmt"
	"strings"
	"testing"
)

// lines returns a file with numbered lines, of which some are replaced: number, text, number, text.
func lines(n int, replaced ...any) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint("line ", i+1)
	}
	for i := 0; i < len(replaced); i += 2 {
		all[replaced[i].(int)-1] = replaced[i+1].(string)
	}
	return strings.Join(all, "\n") + "\n"
}

// TestLandInStagedFile lands a change of a file in which the user has staged another one, and perhaps made a third one since. The
// merged content is in no commit, and the user's repository must have it.
func TestLandInStagedFile(t *testing.T) {
	for _, unstaged := range []string{"line 30", "unstaged"} {
		f := newFixture(t)
		f.put("shared", lines(60))
		f.git(f.repo, "add", "shared")
		f.git(f.repo, "commit", "-qm", "shared")
		f.put("shared", lines(60, 50, "staged"))
		f.git(f.repo, "add", "shared")
		f.put("shared", lines(60, 50, "staged", 30, unstaged))
		s := f.open()
		b := f.capture(s, "r1")
		c := f.change(s, "step", b.Commit, map[string]string{"shared": lines(60, 50, "staged", 30, unstaged, 10, "agent")})
		l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c})
		f.land(s, l)
		f.git(f.repo, "gc", "-q") // before the objects of the user's repository are read
		f.git(f.repo, "fsck", "--full", "--strict")
		for rev, want := range map[string]string{"HEAD:shared": lines(60, 10, "agent"), ":shared": lines(60, 10, "agent", 50, "staged")} {
			if got := f.git(f.repo, "show", rev) + "\n"; got != want {
				t.Errorf("%s is\n%s", rev, got)
			}
		}
		if got := f.read(f.repo, "shared"); got != lines(60, 10, "agent", 30, unstaged, 50, "staged") {
			t.Errorf("the file is\n%s", got)
		}
		f.git(f.repo, "stash", "-q")
		f.git(f.repo, "stash", "pop", "-q", "--index")
		f.git(f.repo, "commit", "-qm", "next")
	}
}

// TestPrunedLanding has a landing that was interrupted before it changed the index, and a user who prunes the repository since.
func TestPrunedLanding(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "one\ntwo\nthree\nstaged\n")
	f.git(f.repo, "add", "a.txt")
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "ONE\ntwo\nthree\nstaged\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c})
	_, err := s.intend(t.Context(), l, nameOf(l.Run)+"."+nameOf(l.ID))
	f.no(err)
	f.git(f.repo, "gc", "-q", "--prune=now")
	f.land(s, l)
	f.git(f.repo, "fsck", "--full", "--strict")
	if got := f.git(f.repo, "show", ":a.txt"); got != "ONE\ntwo\nthree\nstaged" {
		t.Errorf("staged is %q", got)
	}
	f.status("M  a.txt")
}
