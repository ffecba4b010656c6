package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// refused plans landings that change files, and returns the error.
func (f *fixture) refused(s *Store, base, commit, want string) {
	f.Helper()
	untouched := f.files()
	for _, how := range []How{AsCommit, AsPatch} {
		_, err := s.Plan(f.Context(), Landing{ID: "land", Run: "r1", How: how, Base: base, Commit: commit}, 0)
		if err == nil || !strings.Contains(err.Error(), want) {
			f.Errorf("%s: error %v, want %q", how, err, want)
		}
	}
	same(f.T, "the checkout", untouched, f.files())
	if _, err := s.Plan(f.Context(), Landing{ID: "land", Run: "r1", How: AsBranch, Branch: "topic", Base: base, Commit: commit}, 0); err != nil {
		f.Error("as a branch:", err)
	}
}

// TestLandNotInOtherCase renames a file so that both names are the same in the checkout. A link has that effect in any file system.
func TestLandNotInOtherCase(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.git(w.Root, "mv", "a.txt", "A.txt")
	c := f.collect(w)
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	f.put(".git/info/exclude", "A.txt\n")
	_ = os.Link(filepath.Join(f.repo, "a.txt"), filepath.Join(f.repo, "A.txt")) // it exists where case is ignored
	f.refused(s, b.Commit, c, "it renames a.txt to A.txt, which are the same file in "+f.repo+": rename it there first")
	if done, err := s.Land(t.Context(), l); err == nil {
		t.Errorf("landed %+v", done)
	}
	if got := f.read(f.repo, "a.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("the file is %q", got)
	}
}

// TestLandSubmodule changes which commit of a submodule belongs to the repository.
func TestLandSubmodule(t *testing.T) {
	f := newFixture(t)
	f.mkdir(filepath.Join(f.repo, "sub"))
	f.git(filepath.Join(f.repo, "sub"), "init", "-q")
	f.git(filepath.Join(f.repo, "sub"), "commit", "-q", "--allow-empty", "-m", "x")
	f.git(f.repo, "add", "sub")
	f.git(f.repo, "commit", "-qm", "sub")
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.git(w.Root, "update-index", "--cacheinfo", "160000,"+b.Commit+",sub")
	f.git(w.Root, "commit", "-qm", "bump")
	l := Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: f.collect(w)}
	if _, err := s.Plan(t.Context(), l, 0); err == nil || !strings.Contains(err.Error(), "it changes the submodule sub") {
		t.Errorf("error %v", err)
	}
	l.How = AsCommit
	l, _ = f.plan(s, l)
	f.land(s, l)
	if got := f.git(f.repo, "rev-parse", "HEAD:sub"); got != b.Commit {
		t.Errorf("the submodule is at %s", got)
	}

	b = f.capture(s, "r2")
	for i, place := range []func(sub string){
		func(sub string) { f.write(sub, "x") },
		func(sub string) { f.write(filepath.Join(sub, "x"), "x") },
	} {
		w := f.checkout(s, Attempt{"r2", fmt.Sprint("place", i), 1}, b.Commit)
		f.git(w.Root, "rm", "-q", "--cached", "sub")
		f.git(w.Root, "commit", "-qm", "no submodule")
		f.no(os.Remove(filepath.Join(w.Root, "sub")))
		place(filepath.Join(w.Root, "sub"))
		l := Landing{ID: "land", Run: "r2", How: AsCommit, Base: b.Commit, Commit: f.collect(w)}
		if _, err := s.Plan(t.Context(), l, 0); err == nil || !strings.Contains(err.Error(), "because sub is a submodule only before or after it") {
			t.Errorf("error %v", err)
		}
	}
}

// TestLandNotOverFiltered has a file in which a filter of the user hides a line from git.
func TestLandNotOverFiltered(t *testing.T) {
	for _, uncommitted := range []bool{false, true} {
		f := newFixture(t)
		f.git(f.repo, "config", "filter.redact.clean", "sed s/KEY=.*/KEY=redacted/")
		f.git(f.repo, "config", "filter.redact.smudge", "cat")
		f.put(".gitattributes", "*.conf filter=redact\n")
		f.put("app.conf", "host=a\nKEY=secret\nport=1\n")
		past := time.Now().Add(-time.Hour)
		f.no(os.Chtimes(filepath.Join(f.repo, "app.conf"), past, past))
		f.git(f.repo, "add", "-A")
		f.git(f.repo, "commit", "-qm", "filtered")
		if uncommitted { // git still believes that the file is the same
			f.put(".gitattributes", "")
			f.git(f.repo, "commit", "-qam", "without")
		}
		s := f.open()
		b := f.capture(s, "r1")
		want := "app.conf has other content"
		f.refused(s, b.Commit, f.change(s, "edit", b.Commit, map[string]string{"app.conf": "host=a\nKEY=redacted\nport=1\ntimeout=5\n"}), want)
		f.refused(s, b.Commit, f.change(s, "delete", b.Commit, map[string]string{"app.conf": ""}), want)
		l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: f.change(s, "new", b.Commit, map[string]string{"new.conf": "KEY=x\n", "a.txt": "changed\n"})})
		f.land(s, l)
		if got := f.read(f.repo, "app.conf"); got != "host=a\nKEY=secret\nport=1\n" {
			t.Errorf("the file is %q", got)
		}
	}
}

// TestLandNotInAnotherEncoding has a change that lets git write other bytes than it shows. An encoding that the user has chosen is kept,
// and so are line ends.
func TestLandNotInAnotherEncoding(t *testing.T) {
	f := newFixture(t)
	f.put(".gitattributes", "*.utf16 working-tree-encoding=UTF-16LE-BOM\n*.dos text eol=crlf\n*.id ident\n")
	f.put("x.utf16", "\xff\xfex\x00\n\x00")
	f.put("x.dos", "one\r\ntwo\r\n")
	f.put("x.id", "$Id$\n")
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "encodings")
	s := f.open()
	b := f.capture(s, "r1")
	f.refused(s, b.Commit, f.change(s, "another", b.Commit, map[string]string{
		".gitattributes": f.read(f.repo, ".gitattributes") + "*.bat working-tree-encoding=UTF-16LE\n", "x.bat": "x\x00\n\x00",
	}), "working-tree-encoding of x.bat from unspecified to UTF-16LE")
	f.refused(s, b.Commit, f.change(s, "line ends", b.Commit, map[string]string{"dir/.gitattributes": "*.sh text eol=crlf\n", "dir/x.sh": "x\n"}),
		"eol of dir/x.sh from unspecified to crlf")
	f.refused(s, b.Commit, f.change(s, "ident", b.Commit, map[string]string{".gitattributes": f.read(f.repo, ".gitattributes") + "*.c ident\n", "x.c": "$Id$\n"}),
		"ident of x.c from unspecified to set")

	w := f.checkout(s, Attempt{"r1", "same", 1}, b.Commit)
	if f.read(w.Root, "x.utf16") != f.read(f.repo, "x.utf16") || f.read(w.Root, "x.dos") != f.read(f.repo, "x.dos") {
		t.Error("the workspace has other bytes")
	}
	files := map[string]string{
		".gitattributes": f.read(f.repo, ".gitattributes") + "*.txt text eol=lf\n*.c ident eol=crlf\n", "x.utf16": "\xff\xfey\x00\n\x00", "y.utf16": "\xff\xfey\x00\n\x00",
		"x.dos": "one\r\n2\r\n", "y.dos": "y\r\n", "a.txt": "changed\n",
	}
	for name, text := range files {
		f.write(filepath.Join(w.Root, name), text)
	}
	f.write(filepath.Join(w.Root, "x.id"), "$Id$\nmore\n")
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: f.collect(w)})
	f.land(s, l)
	f.status("")
	for name, text := range files {
		if got := f.read(f.repo, name); got != text {
			t.Errorf("%s is %q, want %q", name, got, text)
		}
	}
}

// TestChangedWhileItIsPlanned has a user who changes a file after it was captured for a landing. That is no filter.
func TestChangedWhileItIsPlanned(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})
	for _, how := range []How{AsPatch, AsCommit} {
		l := Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: c}
		p, err := s.plan(t.Context(), l, 1<<20)
		f.no(err)
		f.put("a.txt", "one\ntwo\nthree\nmine\n")
		if err := s.checkContent(t.Context(), l, p); !errors.Is(err, errMoved) || !strings.HasPrefix(err.Error(), "a.txt: it was changed during the landing") {
			t.Errorf("%s: %v", how, err)
		}
		p.q.remove()
		f.put("a.txt", "one\ntwo\nthree\n")
	}
}

// TestResetWhileItLands has a user, or a program, who takes back a part of a landing before it has ended, and changes another part.
func TestResetWhileItLands(t *testing.T) {
	for _, how := range []How{AsPatch, AsCommit} {
		f := newFixture(t)
		s := f.open()
		b := f.capture(s, "r1")
		c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n", "dir/b.txt": "changed\n", "run.sh": "changed\n"})
		l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: c})
		system, n := exchange, 0
		exchange = func(dir *os.Root, a, b string) error {
			if n++; n == 3 {
				f.put("a.txt", "one\ntwo\nthree\n")
				f.put("dir/b.txt", "mine\n")
			}
			return system(dir, a, b)
		}
		landed, err := s.Land(t.Context(), l)
		exchange = system
		if got := strings.Join(landed.Differ, " "); err != nil || got != "a.txt dir/b.txt" {
			t.Errorf("%s: landed %+v, %v", how, landed, err)
		}
		if again := f.land(s, l); strings.Join(again.Differ, " ") != "a.txt dir/b.txt" {
			t.Errorf("%s: again %+v", how, again)
		}
	}
}

// TestTouchedFileWithAFilter has a file that git knows to be unchanged only after it has run a filter, which we do not do. The message says so.
func TestTouchedFileWithAFilter(t *testing.T) {
	const why = "x as it is in the checkout, without the filter up of .gitattributes, which Hocket does not run: run git status"
	for _, c := range []struct {
		how         How
		beforeRun   bool // it is touched before the run, too
		filter      string
		want, edits string
	}{
		{AsBranch, true, "up", "the change depends on " + why + ", commit what that shows there and start the run again, or use land: patch", ""},
		{AsCommit, true, "up", "the change depends on " + why, ""},
		{AsPatch, true, "up", "", ""},
		{AsBranch, false, "up", "", ""},
		{AsCommit, false, "up", "the change does not fit " + why + ", stash what that shows there (git stash -u) and retry, or use land: branch", ""},
		{AsPatch, false, "up", "the change conflicts with " + why + " and retry, or use land: branch", ""},
		{AsCommit, false, "unconfigured", "your uncommitted work is in the way in x: stash it", "mine\n"},
	} {
		f := newFixture(t)
		f.git(f.repo, "config", "filter.up.clean", "tr a-z A-Z")
		f.git(f.repo, "config", "filter.up.smudge", "tr A-Z a-z")
		f.put(".gitattributes", "x filter="+c.filter+"\n")
		f.put("x", "text\n")
		touch := func(ago time.Duration) {
			at := time.Now().Add(-ago)
			f.no(os.Chtimes(filepath.Join(f.repo, "x"), at, at))
		}
		touch(3 * time.Hour)
		f.git(f.repo, "add", "-A")
		f.git(f.repo, "commit", "-qm", "x")
		if c.beforeRun {
			touch(2 * time.Hour)
		}
		s := f.open()
		b := f.capture(s, "r1")
		commit := f.change(s, "step", b.Commit, map[string]string{"x": "more\n"})
		touch(time.Hour)
		if c.edits != "" {
			f.put("x", c.edits)
		}
		_, err := s.Plan(t.Context(), Landing{ID: "land", Run: "r1", How: c.how, Branch: "new", Base: b.Commit, Commit: commit}, 1000)
		if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s, touched before the run: %t: %v, want %q", c.how, c.beforeRun, err, c.want)
		}
	}
}
