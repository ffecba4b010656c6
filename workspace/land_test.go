package workspace

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// plan returns a landing with the digest of its plan.
func (f *fixture) plan(s *Store, l Landing) (Landing, Plan) {
	f.Helper()
	p, err := s.Plan(f.Context(), l, 1<<20)
	f.no(err)
	l.Digest = p.Digest
	return l, p
}

func (f *fixture) land(s *Store, l Landing) Landed {
	f.Helper()
	done, err := s.Land(f.Context(), l)
	f.no(err)
	return done
}

// dirty leaves staged, unstaged and untracked work in the user's checkout.
func (f *fixture) dirty() {
	f.put("staged.txt", "staged\n")
	f.git(f.repo, "add", "staged.txt")
	f.put("staged.txt", "staged and more\n")
	f.put("run.sh", "#!/bin/sh\necho mine\n")
	f.put("untracked.txt", "untracked\n")
	f.put("intended.txt", "intended\n")
	f.git(f.repo, "add", "-N", "intended.txt")
}

const dirtyStatus = " A intended.txt\n M run.sh\nAM staged.txt\n?? untracked.txt"

func (f *fixture) status(want string) {
	f.Helper()
	cmd := exec.Command("git", "status", "--porcelain")
	cmd.Dir = f.repo
	out, err := cmd.Output()
	f.no(err)
	if got := strings.TrimSuffix(string(out), "\n"); got != want {
		f.Errorf("status:\n%s\nwant:\n%s", got, want)
	}
}

func TestLandAsBranch(t *testing.T) {
	f := newFixture(t)
	f.dirty()
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "one\ntwo\n3\n", "new.txt": "new\n"})
	before := listing(t, f.repo)
	l, p := f.plan(s, Landing{ID: "land", Run: "r1", How: AsBranch, Base: b.Commit, Commit: c, Branch: "hocket/r1", Message: "Land it"})
	if p.Ref != "refs/heads/hocket/r1" || len(p.Diff.Files) != 2 {
		t.Errorf("plan %+v", p)
	}
	done := f.land(s, l)
	if again := f.land(s, l); !reflect.DeepEqual(again, done) || done.Files != 2 {
		t.Errorf("landed %+v, then %+v", done, again)
	}
	if got := f.git(f.repo, "diff", "--stat", "--name-only", "main", "hocket/r1"); got != "a.txt\nnew.txt" {
		t.Errorf("the branch has %s", got)
	}
	if got := f.git(f.repo, "log", "--format=%an %ae %s", "main..hocket/r1"); got != "Ada ada@example.org Land it" {
		t.Errorf("log %s", got)
	}
	after := listing(t, f.repo)
	for name := range after {
		if strings.HasPrefix(name, ".git/") {
			delete(before, name)
			delete(after, name)
		}
	}
	same(t, "the checkout", before, after)
	f.status(dirtyStatus)

	_, err := s.Plan(t.Context(), Landing{ID: "x", Run: "r1", How: AsBranch, Base: b.Commit, Commit: c, Branch: "-x"}, 0)
	if err == nil || !strings.Contains(err.Error(), "invalid name") {
		t.Errorf("error %v", err)
	}
	l.ID = "other"
	f.git(f.repo, "commit", "-qm", "x", "--allow-empty")
	if _, err := s.Land(t.Context(), l); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("error %v", err)
	}
	l.Branch = "hocket/r2"
	l, _ = f.plan(s, l)
	l.Message = "other"
	var changed *ChangedError
	if _, err := s.Land(t.Context(), l); !errors.As(err, &changed) || changed.Plan.Message != "other" {
		t.Errorf("with another message: %v", err)
	}
}

func TestBranchWithoutUncommittedWork(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "uncommitted\n")
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "uncommitted, improved\n"})
	for _, how := range []How{AsBranch, AsCommit} {
		_, err := s.Plan(t.Context(), Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: c, Branch: "x"}, 0)
		var conflict *LandConflictError
		if !errors.As(err, &conflict) || !conflict.Uncommitted || conflict.Conflicts[0].Path != "a.txt" {
			t.Errorf("%s: error %v", how, err)
		}
	}
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	f.land(s, l)
	if got := f.read(f.repo, "a.txt"); got != "uncommitted, improved\n" {
		t.Errorf("a.txt is %q", got)
	}
}

// changes are what an agent did to the fixture.
var changes = map[string]string{"a.txt": "one\ntwo\n3\n", "new/deep.txt": "new\n", "dir/b.txt": "", "dir": "now a file\n"}

func (f *fixture) changeAll(s *Store, base string) string {
	f.Helper()
	w := f.checkout(s, Attempt{"r1", "step", 1}, base)
	f.no(os.RemoveAll(filepath.Join(w.Root, "dir")))
	for name, text := range changes {
		if text != "" {
			f.write(filepath.Join(w.Root, name), text)
		}
	}
	f.no(os.Chmod(filepath.Join(w.Root, "a.txt"), 0o755))
	f.no(os.Symlink("a.txt", filepath.Join(w.Root, "link")))
	return f.collect(w)
}

func (f *fixture) landed() {
	f.Helper()
	for name, text := range changes {
		if text != "" && f.read(f.repo, name) != text {
			f.Errorf("%s is %q", name, f.read(f.repo, name))
		}
	}
	if link, err := os.Readlink(filepath.Join(f.repo, "link")); err != nil || link != "a.txt" {
		f.Errorf("link %q, %v", link, err)
	}
	if info, err := os.Stat(filepath.Join(f.repo, "a.txt")); err != nil || info.Mode().Perm() != 0o755 {
		f.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestLandAsCommit(t *testing.T) {
	f := newFixture(t)
	f.dirty()
	s := f.open()
	b := f.capture(s, "r1")
	c := f.changeAll(s, b.Commit)
	l, p := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c, Message: "Land it"})
	if p.Ref != "refs/heads/main" {
		t.Errorf("plan %+v", p)
	}
	done := f.land(s, l)
	f.landed()
	f.status(dirtyStatus)
	if got := f.git(f.repo, "log", "--format=%H %s", "HEAD^.."); got != done.Commit+" Land it" {
		t.Errorf("log %s", got)
	}
	if got := f.read(f.repo, "staged.txt") + f.git(f.repo, "show", ":staged.txt"); got != "staged and more\nstaged" {
		t.Errorf("staged %q", got)
	}
	f.git(f.repo, "fsck", "--full", "--strict")
	if again := f.land(s, l); !reflect.DeepEqual(again, done) {
		t.Errorf("landed %+v, then %+v", done, again)
	}
	if n := f.git(f.repo, "rev-list", "--count", "HEAD"); n != "2" {
		t.Errorf("%s commits", n)
	}
}

func TestLandAsPatch(t *testing.T) {
	for _, git := range []bool{true, false} {
		f := newFixture(t)
		f.dirty()
		if !git {
			f.no(os.RemoveAll(filepath.Join(f.repo, ".git")))
		}
		s := f.open()
		b := f.capture(s, "r1")
		c := f.changeAll(s, b.Commit)
		f.put("run.sh", "#!/bin/sh\necho later\n")
		l, p := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
		if len(p.Diff.Files) != 5 {
			t.Errorf("plan %+v", p)
		}
		done := f.land(s, l)
		f.landed()
		if f.read(f.repo, "run.sh") != "#!/bin/sh\necho later\n" || done.Commit != "" || f.read(f.repo, "staged.txt") != "staged and more\n" {
			t.Errorf("landed %+v", done)
		}
		if git && f.git(f.repo, "rev-list", "--count", "HEAD") != "1" {
			t.Error("a patch was committed")
		}
		if !git {
			_, err := s.Plan(t.Context(), Landing{ID: "x", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c}, 0)
			if err == nil || !strings.Contains(err.Error(), "only land: patch") {
				t.Errorf("error %v", err)
			}
		}
	}
}

func TestLandMergesWithTheSameFile(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "one\ntwo\nTHREE\n"})
	f.put("a.txt", "ONE\ntwo\nthree\n") // by the user, since
	for i, how := range []How{AsCommit, AsPatch} {
		l, _ := f.plan(s, Landing{ID: fmt.Sprint("land", i), Run: "r1", How: how, Base: b.Commit, Commit: c})
		f.land(s, l)
		if got := f.read(f.repo, "a.txt"); got != "ONE\ntwo\nTHREE\n" {
			t.Errorf("%s: a.txt is %q", how, got)
		}
		f.status(" M a.txt")
	}
	if got := f.git(f.repo, "show", "HEAD:a.txt"); got != "one\ntwo\nTHREE" {
		t.Errorf("committed %q", got)
	}
}

func TestLandAsksAgain(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "one\ntwo\nTHREE\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c})

	// Something else changed: the same change still lands.
	f.put("dir/b.txt", "B\n")
	f.git(f.repo, "commit", "-qam", "b")
	if _, p := f.plan(s, l); p.Digest != l.Digest {
		t.Error("an unrelated commit changes the digest")
	}
	// The same file: ask again, with the new diff.
	f.put("a.txt", "ONE\ntwo\nthree\n")
	f.git(f.repo, "commit", "-qam", "a")
	_, err := s.Land(t.Context(), l)
	var changed *ChangedError
	if !errors.As(err, &changed) || changed.Plan.Digest == l.Digest || !strings.Contains(changed.Plan.Diff.Patch, " ONE\n") {
		t.Fatalf("error %v", err)
	}
	f.status("")
	// Another branch, too.
	f.git(f.repo, "checkout", "-q", "-b", "other", "HEAD^")
	if _, err := s.Land(t.Context(), l); !errors.As(err, &changed) {
		t.Fatalf("error %v", err)
	}
	f.git(f.repo, "checkout", "-q", "main")
	l.Digest = changed.Plan.Digest
	// A conflict.
	f.put("a.txt", "ONE\ntwo\n3\n")
	f.git(f.repo, "commit", "-qam", "a")
	_, err = s.Land(t.Context(), l)
	var conflict *LandConflictError
	if !errors.As(err, &conflict) || conflict.Uncommitted || conflict.Conflicts[0].Path != "a.txt" {
		t.Fatalf("error %v", err)
	}
	f.status("")
}

func TestLandNeverOverwrites(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{".gitignore": "x\n", "ignored/file": "new\n", "a.txt": "changed\n"})
	f.put("ignored/file", "precious\n") // ignored, so it is not captured
	for i, how := range []How{AsCommit, AsPatch} {
		l, _ := f.plan(s, Landing{ID: fmt.Sprint(i), Run: "r1", How: how, Base: b.Commit, Commit: c})
		if done, err := s.Land(t.Context(), l); err == nil || !strings.Contains(err.Error(), "ignored/file") {
			t.Errorf("%s: %+v, %v", how, done, err)
		}
		if f.read(f.repo, "ignored/file") != "precious\n" || f.read(f.repo, "a.txt") != "one\ntwo\nthree\n" {
			t.Error("files changed")
		}
		f.status("")
	}
}

func TestLandDuringAMerge(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"new.txt": "new\n"})
	f.put(".git/MERGE_HEAD", b.Commit+"\n")
	l := Landing{ID: "1", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c}
	if _, err := s.Plan(t.Context(), l, 0); err == nil || !strings.Contains(err.Error(), "in progress") {
		t.Errorf("error %v", err)
	}
	f.no(os.Remove(filepath.Join(f.repo, ".git/MERGE_HEAD")))
	f.git(f.repo, "checkout", "-q", "--detach")
	if _, err := s.Plan(t.Context(), l, 0); err == nil || !strings.Contains(err.Error(), "no branch is checked out") {
		t.Errorf("error %v", err)
	}
	// Another git command holds the index only for a moment.
	f.git(f.repo, "checkout", "-q", "main")
	f.put(".git/index.lock", "")
	time.AfterFunc(100*time.Millisecond, func() { os.Remove(filepath.Join(f.repo, ".git/index.lock")) })
	l, _ = f.plan(s, l)
	f.land(s, l)
	f.status("")
}

func TestLandingsAtOnce(t *testing.T) {
	f := newFixture(t)
	f.dirty()
	s := f.open()
	b := f.capture(s, "r1")
	var all sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprint("new", i)
		c := f.change(s, name, b.Commit, map[string]string{name: name + "\n"})
		l, _ := f.plan(s, Landing{ID: name, Run: "r1", How: AsCommit, Base: b.Commit, Commit: c})
		for range 2 {
			all.Go(func() {
				if _, err := s.Land(t.Context(), l); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if n := f.git(f.repo, "rev-list", "--count", "HEAD"); n != "5" {
		t.Errorf("%s commits", n)
	}
	f.status(dirtyStatus)
}

// TestFinish has a landing that was interrupted after its first file, and a user who then works in one of the others.
func TestFinish(t *testing.T) {
	for _, edited := range []bool{false, true} {
		f := newFixture(t)
		s := f.open()
		b := f.capture(s, "r1")
		c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n", "dir/b.txt": "changed\n"})
		l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c, Approval: "yes"})
		if _, found, err := s.Finish(t.Context(), l); found || err != nil {
			t.Errorf("before it began: %v, %v", found, err)
		}
		in := f.intend(s, l)
		root, err := os.OpenRoot(f.repo)
		f.no(err)
		f.no(in.changeFile(root, 0, after))
		sub, err := root.OpenRoot("dir")
		f.no(err)
		f.no(in.writeTemp(sub, 1, after))
		f.no(sub.Close())
		f.no(root.Close())
		other := l
		if other.Approval = "another"; edited {
			f.put("dir/b.txt", "mine\n")
		}
		if _, found, err := s.Finish(t.Context(), other); found || err != nil {
			t.Errorf("with another approval: %v, %v", found, err)
		}
		for range 2 {
			landed, found, err := s.Finish(t.Context(), l)
			if err != nil || found == edited || !edited && landed.Files != 2 {
				t.Errorf("edited %v: %+v, %v, %v", edited, landed, found, err)
			}
		}
		want, status := "changed\nchanged\n", " M a.txt\n M dir/b.txt"
		if edited {
			want, status = "one\ntwo\nthree\nmine\n", " M dir/b.txt"
		}
		if got := f.read(f.repo, "a.txt") + f.read(f.repo, "dir/b.txt"); got != want {
			t.Errorf("the files are %q", got)
		}
		f.status(status) // and no other file
	}
}

var kills = flag.Int("kills", 20, "how often TestLandIsKilled kills a landing")

// TestLandIsKilled kills a process that lands, at random moments, and lands again. Before that, another run may begin, or the run may
// be cancelled: then all has landed, or nothing.
func TestLandIsKilled(t *testing.T) {
	if file := os.Getenv("HOCKET_TEST_LAND"); file != "" {
		landInChild(t, file)
		return
	}
	f := newFixture(t)
	f.dirty()
	f.put("a.txt", "one\ntwo\nthree\nand mine\n")
	origin := f.repo
	took := 400 * time.Millisecond
	systems := []string{"everything", "only links", "nothing"}
	for i := range *kills {
		system := systems[i%len(systems)]
		restore := onFileSystem(system)
		f := &fixture{t, filepath.Join(t.TempDir(), "repo"), filepath.Join(t.TempDir(), "state")}
		out, err := exec.Command("cp", "-a", origin, f.repo).CombinedOutput()
		if err != nil {
			t.Fatal(string(out))
		}
		s := f.open()
		b := f.capture(s, "r1")
		w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
		for n := range 30 {
			f.write(filepath.Join(w.Root, "many", fmt.Sprint(n)), fmt.Sprintln("file", n))
		}
		f.write(filepath.Join(w.Root, "a.txt"), "ONE\ntwo\nthree\nand mine\n")
		c := f.collect(w)
		how := []How{AsCommit, AsPatch}[i%2]
		l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: c, Message: "Land it"})
		before := listing(t, f.repo)

		took = max(took, killedLanding(t, f, l, system, rand.N(took)))
		for name, text := range listing(t, f.repo) {
			old, was := before[name]
			landed := strings.HasPrefix(name, "many/") || strings.Contains(name, ".hocket-") || name == "a.txt" && (strings.HasSuffix(text, "ONE\ntwo\nthree\nand mine\n") || system == "nothing")
			if !strings.HasPrefix(name, ".git/") && old != text && !landed {
				t.Errorf("after the kill, %s was %q (%v), is %q", name, old, was, text)
			}
		}
		for name := range before {
			if _, err := os.Lstat(filepath.Join(f.repo, name)); err != nil && !strings.HasPrefix(name, ".git/") && (name != "a.txt" || system == "everything") {
				t.Errorf("after the kill: %v", err)
			}
		}

		switch i / 2 % 3 {
		case 1:
			f.capture(s, "r2")
			f.allOrNothing(before)
		case 2:
			_, err := s.Withdraw(t.Context(), "r1")
			f.no(err)
			f.allOrNothing(before)
		}
		done := f.land(s, l)
		if done.Files != 31 {
			t.Errorf("landed %+v", done)
		}
		if how == AsCommit {
			f.status(" M a.txt\n A intended.txt\n M run.sh\nAM staged.txt\n?? untracked.txt")
			if got := f.git(f.repo, "rev-list", "--count", "HEAD"); got != "2" {
				t.Errorf("%s commits", got)
			}
		}
		if got := f.read(f.repo, "a.txt"); got != "ONE\ntwo\nthree\nand mine\n" {
			t.Errorf("a.txt is %q", got)
		}
		for name := range listing(t, f.repo) {
			if strings.Contains(name, ".hocket") || strings.HasSuffix(name, ".lock") {
				t.Errorf("%s is left", name)
			}
		}
		f.git(f.repo, "fsck", "--full", "--strict")
		if t.Failed() {
			t.Fatalf("kill %d, %s, with %s", i, how, system)
		}
		restore()
	}
}

// allOrNothing compares the checkout with what it was before a landing that was killed.
func (f *fixture) allOrNothing(before map[string]string) {
	f.Helper()
	now, landed := f.files(), 0
	for name, text := range now {
		switch old, was := before[name]; {
		case !was && strings.HasPrefix(name, "many/"), name == "a.txt" && strings.HasSuffix(text, "ONE\ntwo\nthree\nand mine\n"):
			landed++
		case old != text:
			f.Errorf("%s was %q (%v), is %q", name, old, was, text)
		}
	}
	if landed != 0 && landed != 31 {
		f.Errorf("%d files of the landing are left", landed)
	}
	if left, err := filepath.Glob(filepath.Join(f.repo, ".git", "*.lock")); err != nil || left != nil {
		f.Errorf("left over: %v, %v", left, err)
	}
}

// killedLanding lands in another process and kills that after a time. It returns how long the
// landing took if it was faster.
func killedLanding(t *testing.T, f *fixture, l Landing, system string, after time.Duration) time.Duration {
	t.Helper()
	file := filepath.Join(t.TempDir(), "landing.json")
	data, err := json.Marshal([]any{f.state, f.repo, l})
	f.no(err)
	f.no(os.WriteFile(file, data, 0o600))
	self, err := os.Executable()
	f.no(err)
	child := exec.Command(self, "-test.run=^TestLandIsKilled$", "-test.count=1")
	child.Env = append(os.Environ(), "HOCKET_TEST_LAND="+file, "HOCKET_TEST_FILES="+system)
	out, err := child.StdoutPipe()
	f.no(err)
	f.no(child.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "landing" {
	}
	start, ended := time.Now(), make(chan error, 1)
	go func() { ended <- child.Wait() }()
	select {
	case err := <-ended:
		f.no(err)
		return time.Since(start)
	case <-time.After(after):
		if err := child.Process.Kill(); !errors.Is(err, os.ErrProcessDone) { // it may just have ended
			f.no(err)
		}
		<-ended
		return 0
	}
}

func landInChild(t *testing.T, file string) {
	t.Helper()
	f := &fixture{T: t}
	var l Landing
	parts := []any{&f.state, &f.repo, &l}
	f.no(json.Unmarshal([]byte(f.read(file)), &parts))
	fileSystems[os.Getenv("HOCKET_TEST_FILES")]()
	s := f.open()
	fmt.Println("landing")
	f.land(s, l)
}

// TestLandingBesideAnother has a user who puts a directory or a link where a change has a file. The message names that, not the file that git
// puts beside it.
func TestLandingBesideAnother(t *testing.T) {
	for _, how := range []How{AsPatch, AsCommit} {
		for name, edit := range map[string]func(f *fixture){
			"new.txt": func(f *fixture) { f.put("new.txt/k", "k\n") },
			"dir": func(f *fixture) {
				f.no(errors.Join(os.RemoveAll(filepath.Join(f.repo, "dir")), os.Symlink("x", filepath.Join(f.repo, "dir"))))
			},
		} {
			f := newFixture(t)
			s := f.open()
			b := f.capture(s, "r1")
			l := Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: f.change(s, "step", b.Commit, map[string]string{"new.txt": "x\n", "dir/c.txt": "x\n"})}
			edit(f)
			want := "the change conflicts with the checkout in " + name
			if how == AsCommit {
				want = "your uncommitted work is in the way in " + name + ": stash it"
			}
			if _, err := s.Plan(t.Context(), l, 1000); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "~") {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}
