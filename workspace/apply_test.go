package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// files is the listing of the user's checkout without .git.
func (f *fixture) files() map[string]string {
	f.Helper()
	all := listing(f.T, f.repo)
	maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, ".git/") })
	return all
}

// intend prepares a landing as far as its process may be killed before it changes anything.
func (f *fixture) intend(s *Store, l Landing) *intent {
	f.Helper()
	c, _, err := s.begin(f.Context(), l)
	f.no(err)
	in, err := s.intend(f.Context(), l, c)
	f.no(errors.Join(err, c.Release()))
	c.lock = nil
	return in
}

// begin changes the first files of a landing.
func (f *fixture) begin(in *intent, n int) {
	f.Helper()
	root, err := os.OpenRoot(f.repo)
	f.no(err)
	for _, i := range in.order(after)[:n] {
		f.no(in.changeFile(root, i, after))
	}
	f.no(root.Close())
}

// done takes the results of carryOut and undo, which must succeed completely.
func (f *fixture) done(kept []string, err error) {
	f.Helper()
	f.no(err)
	if kept != nil {
		f.Errorf("%v keep their part", kept)
	}
}

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
	f.intend(s, l)
	f.git(f.repo, "gc", "-q", "--prune=now")
	f.land(s, l)
	f.git(f.repo, "fsck", "--full", "--strict")
	if got := f.git(f.repo, "show", ":a.txt"); got != "ONE\ntwo\nthree\nstaged" {
		t.Errorf("staged is %q", got)
	}
	f.status("M  a.txt")
}

// TestLandNotThroughLinks has an ignored link in the checkout where the change has a directory.
func TestLandNotThroughLinks(t *testing.T) {
	for _, to := range []string{".git/hooks", "releases/v3"} {
		f := newFixture(t)
		f.put("releases/v3/keep", "keep\n")
		f.put(".gitignore", "current\n")
		f.git(f.repo, "add", "-A")
		f.git(f.repo, "commit", "-qm", "releases")
		s := f.open()
		b := f.capture(s, "r1")
		c := f.change(s, "step", b.Commit, map[string]string{".gitignore": "x\n", "current/deep/pre-commit": "new\n", "current/pre-commit": "new\n", "a.txt": "changed\n"})
		f.mkdir(filepath.Join(f.repo, to))
		f.no(os.Symlink(to, filepath.Join(f.repo, "current")))
		before, target := f.files(), listing(t, filepath.Join(f.repo, to))
		for i, how := range []How{AsCommit, AsPatch} {
			l, _ := f.plan(s, Landing{ID: fmt.Sprint(i), Run: "r1", How: how, Base: b.Commit, Commit: c})
			if done, err := s.Land(t.Context(), l); err == nil || !strings.Contains(err.Error(), "current is a symbolic link") {
				t.Errorf("%s: %+v, %v", how, done, err)
			}
			same(t, "the checkout", before, f.files())
			same(t, "what the link leads to", target, listing(t, filepath.Join(f.repo, to)))
		}
		// The link may also appear after the first look.
		f.no(os.Remove(filepath.Join(f.repo, "current")))
		l, _ := f.plan(s, Landing{ID: "late", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
		in := f.intend(s, l)
		f.no(os.Symlink(to, filepath.Join(f.repo, "current")))
		root, err := os.OpenRoot(f.repo)
		f.no(err)
		for i, m := range in.Changes {
			if err := in.changeFile(root, i, after); strings.HasPrefix(m.Path, "current/") && !errors.Is(err, errMoved) {
				t.Errorf("%s: %v", m.Path, err)
			}
		}
		f.no(root.Close())
		same(t, "what the link leads to", target, listing(t, filepath.Join(f.repo, to)))
	}
}

// TestLandNotIntoGit has commits that git itself would not create.
func TestLandNotIntoGit(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	blob, err := s.git.input(t.Context(), "#!/bin/sh\n", "hash-object", "-w", "--stdin")
	f.no(err)
	for _, dir := range []string{".git", ".GIT"} {
		tree, err := s.git.input(t.Context(), "100755 blob "+blob+"\tpre-commit\n", "mktree")
		f.no(err)
		for _, name := range []string{"hooks", dir} {
			tree, err = s.git.input(t.Context(), "040000 tree "+tree+"\t"+name+"\n", "mktree")
			f.no(err)
		}
		c, err := s.git.input(t.Context(), "tree "+tree+"\nparent "+b.Commit+"\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n", "hash-object", "-t", "commit", "-w", "--stdin")
		f.no(err)
		for _, how := range []How{AsCommit, AsPatch} {
			_, err := s.Plan(t.Context(), Landing{ID: "1", Run: "r1", How: how, Base: b.Commit, Commit: c}, 0)
			if err == nil || !strings.Contains(err.Error(), dir+"/hooks/pre-commit belongs to git") {
				t.Errorf("%s: error %v", how, err)
			}
		}
	}
}

// TestLandNoTemporaryFiles has changes with files that look like those of a landing. It must not take them for its own.
func TestLandNoTemporaryFiles(t *testing.T) {
	f := newFixture(t)
	f.put("dir/.hocket-notes", "old\n")
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "second")
	s := f.open()
	b := f.capture(s, "r1")
	for _, name := range []string{".hocket-x", "dir/.HOCKET-0123-1-held"} {
		c := f.change(s, "step", b.Commit, map[string]string{name: "evil\n"})
		for _, how := range []How{AsPatch, AsCommit} {
			_, err := s.Plan(t.Context(), Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: c}, 1<<20)
			if err == nil || !strings.Contains(err.Error(), "it adds "+name) {
				t.Errorf("%s as a %s: %v", name, how, err)
			}
		}
	}
	c := f.change(s, "step", b.Commit, map[string]string{"dir/.hocket-notes": "new\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	first := f.intend(s, l)
	f.done(s.undo(t.Context(), first))
	second := f.intend(s, l)
	if first.tempName(0) == second.tempName(0) {
		t.Errorf("two landings have the temporary file %s", first.tempName(0))
	}
	again, err := second.checkout.read(second.dir)
	f.no(err)
	if again.tempName(0) != second.tempName(0) {
		t.Errorf("the temporary file %s is %s after the landing was killed", second.tempName(0), again.tempName(0))
	}
	f.land(s, l)
	f.status(" M dir/.hocket-notes")
}

// TestForeignTemporaryFile has a file with the name that a landing needs. The landing fails, and that file stays.
func TestForeignTemporaryFile(t *testing.T) {
	f := newFixture(t)
	_, in := f.landing()
	f.put(in.tempName(0), "somebody's\n")
	root, err := os.OpenRoot(f.repo)
	f.no(err)
	defer root.Close()
	if err := in.changeFile(root, 0, after); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if got := f.read(f.repo, in.tempName(0)) + f.read(f.repo, "a.txt"); got != "somebody's\none\ntwo\nthree\n" {
		t.Errorf("the files have %q", got)
	}
}

// TestLandBehindAFile has an ignored file in the checkout where the change has a directory.
func TestLandBehindAFile(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{".gitignore": "none\n", ".env/x": "new\n", ".a.txt": "new\n", "a.txt": ""})
	f.put(".env", "precious\n")
	before := f.files()
	for i, how := range []How{AsCommit, AsPatch} {
		l, _ := f.plan(s, Landing{ID: fmt.Sprint(i), Run: "r1", How: how, Base: b.Commit, Commit: c})
		if done, err := s.Land(t.Context(), l); err == nil || !strings.Contains(err.Error(), ".env is not a directory") {
			t.Errorf("%s: %+v, %v", how, done, err)
		}
		same(t, "the checkout", before, f.files())
		f.status("")
	}
}

// TestUndo interrupts a landing after each of its files, and then undoes or finishes it.
func TestUndo(t *testing.T) {
	f := newFixture(t)
	for name, text := range map[string]string{"file": "file\n", "folder/x": "x\n", "folder/deep/y": "y\n", "gone/z": "z\n", "tree/z": "z\n", "keep/z": "z\n"} {
		f.put(name, text)
	}
	f.no(os.Symlink("a.txt", filepath.Join(f.repo, "link")))
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "second")
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	for _, name := range []string{"file", "folder", "gone", "tree", "link", "keep/z"} {
		f.no(os.RemoveAll(filepath.Join(w.Root, name)))
	}
	for name, text := range map[string]string{"file/x": "x\n", "file/y/z": "z\n", "folder": "folder\n", "link/x": "x\n", "a.txt": "changed\n", "new/deep/x": "x\n", "keep/y": "y\n"} {
		f.write(filepath.Join(w.Root, name), text)
	}
	f.no(os.Symlink("a.txt", filepath.Join(w.Root, "tree")))
	f.no(os.Chmod(filepath.Join(w.Root, "run.sh"), 0o755))
	c := f.collect(w)
	f.no(os.Chmod(filepath.Join(f.repo, "gone"), 0o700))
	f.no(os.Chmod(filepath.Join(f.repo, "gone", "z"), 0o600))
	f.mkdir(filepath.Join(f.repo, "new"))
	untouched := f.files()
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	in := f.intend(s, l)
	kept := filepath.Join(t.TempDir(), "kept")
	f.no(copyTree(t.Context(), in.dir, kept))
	var landed map[string]string
	for n := range len(in.Changes) + 1 {
		for _, finish := range []bool{true, false} {
			f.begin(in, n)
			if finish {
				f.done(s.carryOut(t.Context(), in))
				if landed == nil {
					landed = f.files()
				}
				same(t, "the landed checkout", landed, f.files())
			}
			f.done(s.undo(t.Context(), in))
			same(t, "the checkout", untouched, f.files())
			for name, want := range map[string]bool{"new": true, "new/deep": false, "file/y": false} {
				if _, err := os.Stat(filepath.Join(f.repo, name)); (err == nil) != want {
					t.Errorf("%s: %v", name, err)
				}
			}
			if info, err := os.Stat(filepath.Join(f.repo, "gone")); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("gone: %v, %v", info, err)
			}
			f.status("")
			if t.Failed() {
				t.Fatalf("after %d files, finished: %v", n, finish)
			}
			f.no(copyTree(t.Context(), kept, in.dir)) // undoing removes it
		}
	}
	if n := len(landed); n == len(untouched) && landed["a.txt"] == untouched["a.txt"] {
		t.Error("nothing has landed")
	}
}

// TestNamesAreBytes has a landing that is killed, of files whose names are not UTF-8.
func TestNamesAreBytes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names of files are UTF-8")
	}
	f := newFixture(t)
	for _, name := range []string{"edit\xff", "dir\xff/gone", `"quoted"`} {
		f.put(name, "text\n")
	}
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "names")
	f.git(f.repo, "checkout", "-qb", "caf\xe9")
	f.no(os.Chmod(filepath.Join(f.repo, "dir\xff"), 0o700))
	f.put("a.txt", "staged\n")
	f.git(f.repo, "add", "a.txt")
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"edit\xff": "changed\n", "dir\xff/gone": "", `"quoted"`: "changed\n", "new\xfd": "new\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c, Approval: "yes"})
	before := f.files()
	for n := range 5 {
		in := f.intend(s, l)
		f.begin(in, n)
		in, err := in.checkout.read(in.dir) // as another process does
		f.no(err)
		f.done(s.undo(t.Context(), in))
		same(t, "the checkout", before, f.files())
		if info, err := os.Stat(filepath.Join(f.repo, "dir\xff")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the directory: %v, %v", info, err)
		}
		f.status("M  a.txt")
	}
	f.begin(f.intend(s, l), 3)
	if _, found, err := s.Finish(t.Context(), l); !found || err != nil {
		t.Errorf("finished: %v, %v", found, err)
	}
	f.status("M  a.txt")
	if got := f.read(f.repo, "edit\xff") + f.read(f.repo, "new\xfd"); got != "changed\nnew\n" {
		t.Errorf("the files have %q", got)
	}
}

// TestLandingFails lets the last steps of a landing fail. Nothing of it is left, not even in the index.
func TestLandingFails(t *testing.T) {
	f := newFixture(t)
	f.dirty()
	s := f.open()
	b := f.capture(s, "r1")
	c := f.changeAll(s, b.Commit)
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c})
	before := f.files()
	for _, lock := range []string{".git/refs/heads/main.lock", ".git/index.lock"} {
		f.put(lock, "")
		index := f.read(f.repo, ".git/index")
		done, err := s.Land(t.Context(), l)
		if err == nil || !strings.Contains(err.Error(), ".lock") && !strings.Contains(err.Error(), "another git command") {
			t.Errorf("%s: %+v, %v", lock, done, err)
		}
		f.no(os.Remove(filepath.Join(f.repo, lock)))
		same(t, "the checkout", before, f.files())
		if f.read(f.repo, ".git/index") != index {
			t.Error("the index differs")
		}
		f.status(dirtyStatus)
	}
	if left, err := filepath.Glob(filepath.Join(f.repo, ".git", "index?*")); err != nil || left != nil {
		t.Errorf("left over: %v, %v", left, err)
	}
	f.land(s, l)
	f.landed()
	f.status(dirtyStatus)
}

// TestLandingOnFullDisk has no space for the last file of a landing.
func TestLandingOnFullDisk(t *testing.T) {
	if state, repo, found := strings.Cut(os.Getenv("HOCKET_TEST_FULL"), "\n"); found {
		f := &fixture{t, repo, state}
		s := f.open()
		in, err := (*checkout)(nil).read(filepath.Join(s.dir, "land", "r1.land"))
		f.no(err)
		_, err = s.carryOut(t.Context(), in)
		fmt.Println("error:", err)
		return
	}
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n", "dir/b.txt": "", "zz.txt": strings.Repeat("large\n", 100_000)})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	f.intend(s, l)
	before := f.files()
	self, err := os.Executable()
	f.no(err)
	child := exec.Command("sh", "-c", "ulimit -f 64; trap '' XFSZ; exec \"$0\" -test.run='^TestLandingOnFullDisk$'", self)
	child.Env = append(os.Environ(), "HOCKET_TEST_FULL="+f.state+"\n"+f.repo)
	if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "error: zz.txt: ") || strings.Contains(string(out), "cannot be undone") {
		t.Errorf("landed without space: %v\n%s", err, out)
	}
	same(t, "the checkout", before, f.files())
	f.land(s, l)
	f.status(" M a.txt\n D dir/b.txt\n?? zz.txt")
}

// TestUserGoesOn has a landing that was interrupted, and a user who goes on working.
func TestUserGoesOn(t *testing.T) {
	const mine, theirs = "mine\n", "changed\n"
	for name, c := range map[string]struct {
		how   How
		files int // that had changed
		does  func(f *fixture)
		found bool
		fails string
		want  [3]string // what the files are in the end
		log   string    // the subjects of the commits
		kept  string    // the files of which it is said that they keep their part
	}{
		"nothing":              {AsCommit, 2, func(*fixture) {}, true, "", [3]string{theirs, theirs, theirs}, "Land it,first", ""},
		"a file before":        {AsPatch, 2, func(f *fixture) { f.put("1.txt", mine); f.put("3.txt", mine) }, true, "1.txt, 3.txt", [3]string{mine, "2\n", mine}, "first", ""},
		"a file after":         {AsCommit, 2, func(f *fixture) { f.put("3.txt", mine) }, false, "", [3]string{"1\n", "2\n", mine}, "first", "3.txt"}, // it may have been changed before
		"the last file":        {AsPatch, 2, func(f *fixture) { f.put("2.txt", mine) }, false, "", [3]string{"1\n", mine, "3\n"}, "first", "2.txt"},
		"all files":            {AsPatch, 3, func(f *fixture) { f.put("1.txt", mine); f.put("2.txt", mine); f.put("3.txt", mine) }, false, "", [3]string{mine, mine, mine}, "first", "1.txt 2.txt 3.txt"},
		"a file between":       {AsPatch, 3, func(f *fixture) { f.put("2.txt", mine); f.put("3.txt", mine) }, false, "", [3]string{"1\n", mine, mine}, "first", "2.txt 3.txt"},
		"commits something":    {AsCommit, 2, func(f *fixture) { f.git(f.repo, "commit", "-qm", "mine", "--allow-empty") }, false, "", [3]string{"1\n", "2\n", "3\n"}, "mine,first", ""},
		"commits what landed":  {AsCommit, 2, func(f *fixture) { f.git(f.repo, "commit", "-qam", "mine") }, false, "", [3]string{theirs, theirs, "3\n"}, "mine,first", "1.txt 2.txt"},
		"commits all":          {AsCommit, 3, func(f *fixture) { f.git(f.repo, "commit", "-qam", "mine") }, false, "", [3]string{theirs, theirs, theirs}, "mine,first", "1.txt 2.txt 3.txt"},
		"commits half a patch": {AsPatch, 2, func(f *fixture) { f.git(f.repo, "commit", "-qam", "mine"); f.put("3.txt", mine) }, false, "", [3]string{theirs, theirs, mine}, "mine,first", "1.txt 2.txt 3.txt"},
		"another branch":       {AsCommit, 2, func(f *fixture) { f.git(f.repo, "checkout", "-q", "-b", "other") }, false, "", [3]string{"1\n", "2\n", "3\n"}, "first", ""},
		"commits more":         {AsCommit, 2, func(f *fixture) { f.put("1.txt", mine); f.git(f.repo, "commit", "-qam", "mine") }, false, "", [3]string{mine, theirs, "3\n"}, "mine,first", "1.txt 2.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			for i := range 3 {
				f.put(fmt.Sprint(i+1, ".txt"), fmt.Sprintln(i+1))
			}
			f.git(f.repo, "add", "-A")
			f.git(f.repo, "commit", "-q", "--amend", "-m", "first")
			s := f.open()
			b := f.capture(s, "r1")
			made := f.change(s, "step", b.Commit, map[string]string{"1.txt": theirs, "2.txt": theirs, "3.txt": theirs})
			l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: c.how, Base: b.Commit, Commit: made, Message: "Land it", Approval: "yes"})
			f.begin(f.intend(s, l), c.files)
			c.does(f)
			var kept []string
			l.Ended = func(e Ended) { kept = append(kept, e.Kept...) }
			_, found, err := s.Finish(t.Context(), l)
			if got := strings.Join(kept, " "); got != c.kept {
				t.Errorf("told of %q, want %q", got, c.kept)
			}
			if found != c.found || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), "keep their part of it: "+c.fails) {
				t.Errorf("found %v, error %v", found, err)
			}
			for i, want := range c.want {
				if got := f.read(f.repo, fmt.Sprint(i+1, ".txt")); got != want {
					t.Errorf("%d.txt is %q, want %q", i+1, got, want)
				}
			}
			if got := strings.ReplaceAll(f.git(f.repo, "log", "--format=%s"), "\n", ","); got != c.log {
				t.Errorf("the commits are %s", got)
			}
			if _, found, err := s.Finish(t.Context(), l); found != c.found && c.fails == "" || err != nil {
				t.Errorf("again: %v, %v", found, err)
			}
		})
	}
}

// TestFinishAfterTheIndex has a landing that was killed after it had changed the index, while it held git's lock.
func TestFinishAfterTheIndex(t *testing.T) {
	for _, moved := range []bool{false, true} {
		f := newFixture(t)
		f.put("dir/b.txt", "staged\n")
		f.git(f.repo, "add", "dir/b.txt")
		s := f.open()
		b := f.capture(s, "r1")
		c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})
		l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c, Approval: "yes"})
		in := f.intend(s, l)
		f.begin(in, 1)
		index := filepath.Join(f.repo, ".git", "index")
		f.no(s.editIndex(t.Context(), func(q *quarantine) (string, error) { return s.change(t.Context(), q, in) }, func() error {
			f.no(os.Link(index, index+".test"))
			return nil
		}))
		swap, err := s.indexSwap() // as it is while the lock is held
		f.no(err)
		f.no(errors.Join(os.Rename(index+".test", swap.lock), os.Link(index, swap.held), os.Link(index, swap.old)))
		if moved {
			f.git(f.repo, "update-ref", "refs/heads/main", f.git(f.repo, "commit-tree", "-p", "HEAD", "-m", "mine", "HEAD^{tree}"))
		}
		if _, found, err := s.Finish(t.Context(), l); found == moved || err != nil {
			t.Errorf("moved %v: %v, %v", moved, found, err)
		}
		f.status("M  dir/b.txt")
		want := map[bool]string{true: "one\ntwo\nthree", false: "changed"}[moved]
		if got := f.git(f.repo, "show", "HEAD:a.txt"); got != want {
			t.Errorf("committed is %q", got)
		}
		if left, err := filepath.Glob(index + "?*"); err != nil || left != nil {
			t.Errorf("left over: %v, %v", left, err)
		}
	}
}

// TestProjectsInOneCheckout has two projects with stores of their own in one checkout, which land at once.
func TestProjectsInOneCheckout(t *testing.T) {
	f := newFixture(t)
	f.put("shared", lines(60))
	for _, project := range []string{"p1", "p2"} {
		f.put(project+"/code", "code\n")
	}
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "projects")
	f.put("shared", lines(60)+"mine\n")
	locks := t.TempDir()
	var stores []*Store
	var landings []Landing
	for i := range 2 {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "state"), filepath.Join(f.repo, fmt.Sprint("p", i+1)))
		f.no(err)
		s.Locks = locks
		b := f.capture(s, "r1")
		files := map[string]string{"shared": lines(60, 10*i+10, "agent") + "mine\n"}
		for n := range 40 {
			files[fmt.Sprintf("p%d/new%d", i+1, n)] = "new\n"
		}
		l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: f.change(s, "step", b.Commit, files)})
		stores, landings = append(stores, s), append(landings, l)
	}
	one, err := stores[0].lockFile()
	f.no(err)
	if two, err := stores[1].lockFile(); err != nil || one != two {
		t.Errorf("the locks are %s and %s, %v", one, two, err)
	}
	dir := filepath.Join(t.TempDir(), "linked")
	f.git(f.repo, "worktree", "add", "-q", dir)
	linked, err := Open(t.Context(), filepath.Join(t.TempDir(), "state"), dir)
	f.no(err)
	linked.Locks = locks
	if other, err := linked.lockFile(); err != nil || other == one {
		t.Errorf("a linked worktree has the same lock, %v", err)
	}

	errs := make([]error, 2)
	var all sync.WaitGroup
	for i, s := range stores {
		all.Go(func() { _, errs[i] = s.Land(t.Context(), landings[i]) })
	}
	all.Wait()
	second := 0 // to land
	if errs[0] == nil {
		second = 1
	}
	var changed *ChangedError // of the shared file
	if errs[1-second] != nil || !errors.As(errs[second], &changed) {
		t.Fatalf("landed with %v", errs)
	}
	f.status(" M shared")
	if got, err := filepath.Glob(filepath.Join(f.repo, fmt.Sprint("p", second+1), "new*")); err != nil || got != nil {
		t.Errorf("the second project has left %d files, %v", len(got), err)
	}
	landings[second].Digest = changed.Plan.Digest
	f.land(stores[second], landings[second])
	f.status(" M shared")
	if got := f.read(f.repo, "shared"); got != lines(60, 10, "agent", 20, "agent")+"mine\n" {
		t.Errorf("the file is\n%s", got)
	}
	if left, err := os.ReadDir(locks); err != nil || len(left) > 0 {
		t.Errorf("locks are left: %v, %v", left, err)
	}
}

// TestNamesOfBranches has names of new branches that git would take for something else, or the other way round.
func TestNamesOfBranches(t *testing.T) {
	f := newFixture(t)
	f.git(f.repo, "update-ref", "refs/remotes/origin/main", "HEAD")
	f.git(f.repo, "remote", "add", "fork", f.repo)
	f.git(f.repo, "tag", "v1")
	head := f.git(f.repo, "rev-parse", "HEAD")
	s := f.open()
	b := f.capture(s, "r1")
	l := Landing{ID: "land", Run: "r1", How: AsBranch, Base: b.Commit, Commit: f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})}
	for name, want := range map[string]string{
		"main": "exists already", "v1": "means " + head[:12] + " already", "origin/main": "means " + head[:12] + " already", "v1-0-g" + head[:8]: "means " + head[:12] + " already",
		"fork/x": "with fork/", "fork": "with fork/", "refs/heads/main": "with refs/", "heads/x": "with heads/", "tags/x": "with tags/", "remotes/x": "with remotes/",
		head: "taken for a commit", "deadbeef": "taken for a commit", "@": "taken for a commit", "FETCH_HEAD": "taken for a commit",
		"HEAD": "invalid name", "@{-1}": "invalid name", "-f": "invalid name", "a b": "invalid name", "a\nb": "invalid name", "a\u202eb": "invalid name", "caf\xe9": "invalid name", "x.lock": "invalid name", "": "invalid name",
		"add": "", "topic/né": "", "forks/x": "", "main-2": "",
	} {
		l.Branch = name
		if _, err := s.Plan(t.Context(), l, 0); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", name, err, want)
		}
	}
}

// TestFinishIsNotRecorded cannot record that a landing is done. What is needed to go on stays.
func TestFinishIsNotRecorded(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	in := f.intend(s, l)
	f.done(s.carryOut(t.Context(), in))
	file := filepath.Join(in.dir, "intent.json")
	f.no(os.Rename(file, file+".kept"))
	f.mkdir(filepath.Join(file, "in the way"))
	if err := in.finish(); err == nil || !strings.HasPrefix(err.Error(), "the change has landed, but that cannot be recorded: ") {
		t.Errorf("error %v", err)
	}
	if got := f.read(in.dir, "new", "a.txt"); got != "changed\n" {
		t.Errorf("the new file is %q", got)
	}
	f.no(os.RemoveAll(file))
	f.no(os.Rename(file+".kept", file))
	if done := f.land(s, l); done.Files != 1 {
		t.Errorf("landed %+v", done)
	}
	f.status(" M a.txt")
}

// TestCancelledLanding is cancelled before and while it changes files: nothing of it remains.
func TestCancelledLanding(t *testing.T) {
	f := newFixture(t)
	f.dirty()
	s := f.open()
	b := f.capture(s, "r1")
	c := f.changeAll(s, b.Commit)
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c})
	before := f.files()
	for n := range 3 {
		in := f.intend(s, l)
		f.begin(in, n)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.carryOut(ctx, in); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		same(t, "the checkout", before, f.files())
		f.status(dirtyStatus)
	}
	f.land(s, l)
	f.landed()
}

// TestWhatIsInTheWay has work of the user that does not let a commit land, and a file that cannot be committed.
func TestWhatIsInTheWay(t *testing.T) {
	f := newFixture(t)
	f.put(".gitignore", ".env\n")
	f.put(".env", "one\n")
	s := f.open()
	b := f.capture(s, "r1", ".env")
	for _, at := range []struct {
		name, text string
		how        How
		want       string
	}{
		{"new.txt", "new\n", AsCommit, "your uncommitted work is in the way in new.txt: stash it (git stash -u) and retry, or use land: branch"},
		{".env", "two\n", AsCommit, "the change includes .env, which git ignores, so it cannot be committed: have the steps leave that as it is, or use land: patch"},
		{".env", "two\n", AsBranch, "the change includes .env, which git ignores, so it cannot be committed: have the steps leave that as it is, or use land: patch"},
	} {
		c := f.change(s, "step", b.Commit, map[string]string{at.name: at.text})
		if at.name == "new.txt" {
			f.put("new.txt", "mine\n")
		}
		_, err := s.Plan(t.Context(), Landing{ID: "land", Run: "r1", How: at.how, Base: b.Commit, Commit: c, Branch: "topic"}, 0)
		if err == nil || err.Error() != at.want {
			t.Errorf("%s %s: error %v", at.how, at.name, err)
		}
	}
	c := f.change(s, "step", b.Commit, map[string]string{".env": "two\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c, Include: []string{".env"}})
	f.land(s, l)
	if got := f.read(f.repo, ".env"); got != "two\n" {
		t.Errorf(".env is %q", got)
	}
}

// TestBranchesAboveAndBelow has branches because of which git cannot create others.
func TestBranchesAboveAndBelow(t *testing.T) {
	f := newFixture(t)
	f.git(f.repo, "branch", "hocket")
	f.git(f.repo, "branch", "a/b/c")
	s := f.open()
	b := f.capture(s, "r1")
	l := Landing{ID: "land", Run: "r1", How: AsBranch, Base: b.Commit, Commit: f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})}
	for name, want := range map[string]string{
		"hocket/x": "branch hocket exists", "hocket/x/y": "branch hocket exists", "a/b": "branch a/b/c exists", "a": "branch a/b/c exists",
		"hocket": "exists already", "a/b/d": "", "a-b": "",
	} {
		l.Branch = name
		_, err := s.Plan(t.Context(), l, 0)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", name, err, want)
		}
		if err := s.CanLand(t.Context(), AsBranch, name); (err != nil) != (want != "") {
			t.Errorf("%q: error %v", name, err)
		}
	}
	if name, err := s.FreeBranch(t.Context(), "hocket/r1"); err == nil || !strings.Contains(err.Error(), "branch hocket exists") {
		t.Errorf("free is %q, %v", name, err)
	}
	if name, err := s.FreeBranch(t.Context(), "a/b"); err != nil || name != "a/b-2" {
		t.Errorf("free is %q, %v", name, err)
	}
}

// TestUserRewritesWhatLanded has a user who drops the commits on which a change landed. The store still has all that it needs.
func TestUserRewritesWhatLanded(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})
	f.put("other.txt", "of the user\n")
	f.git(f.repo, "add", ".")
	f.git(f.repo, "commit", "-qm", "second")
	f.put("dir/b.txt", "not committed\n")
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c})
	f.land(s, l)
	f.git(f.repo, "reset", "-q", "--hard", b.Commit)
	f.git(f.repo, "reflog", "expire", "--expire=now", "--all")
	f.git(f.repo, "gc", "-q", "--prune=now")
	for i := range maxPacks {
		f.change(s, "step", b.Commit, map[string]string{"n.txt": strings.Repeat("n", i+1)})
	}
	f.no(s.collectGarbage(t.Context(), 0))
	if out, err := s.refs.out(t.Context(), "fsck", "--full"); err != nil {
		t.Error(out, err)
	}
}

// TestAnotherBranchMeanwhile has a user who makes a new branch after the files have changed. The branch of the landing stays, and so does
// the index.
func TestAnotherBranchMeanwhile(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c})
	in := f.intend(s, l)
	f.no(in.changeFiles(t.Context(), s.root))
	f.git(f.repo, "switch", "-qc", "other")
	err := s.editIndex(t.Context(), func(q *quarantine) (string, error) { return s.change(t.Context(), q, in) }, func() error { return s.moveBranch(t.Context(), in) })
	if !errors.Is(err, errMoved) || !strings.Contains(err.Error(), "branch main has moved, or another one is checked out") {
		t.Errorf("error %v", err)
	}
	f.status(" M a.txt")
	if got := f.git(f.repo, "rev-parse", "main"); got != in.Head {
		t.Errorf("main is at %s", got)
	}
}

// TestLandWhileOtherFilesChange lands a change while a program writes into a file that it does not change, all the time.
func TestLandWhileOtherFilesChange(t *testing.T) {
	for _, how := range []How{AsPatch, AsCommit} {
		f := newFixture(t)
		s := f.open()
		b := f.capture(s, "r1")
		l := Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})}
		p, err := s.Plan(t.Context(), l, 1<<20)
		f.no(err)
		l.Digest = p.Digest
		log, err := os.Create(filepath.Join(f.repo, "server.log"))
		f.no(err)
		stop, stopped := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				select {
				case <-stop:
					stopped <- log.Close()
					return
				case <-time.After(time.Millisecond):
					_, _ = log.WriteString("x\n")
				}
			}
		}()
		_, err = s.Land(t.Context(), l)
		close(stop)
		f.no(errors.Join(err, <-stopped))
		if got := f.read(f.repo, "a.txt"); got != "changed\n" {
			t.Errorf("as a %s: %q", how, got)
		}
	}
}
