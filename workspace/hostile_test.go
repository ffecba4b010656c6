package workspace

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestManyAgentsAtOnce has fifty agents that commit, stash and prune, all at once.
func TestManyAgentsAtOnce(t *testing.T) {
	f := newFixture(t)
	f.dirty()
	before := listing(t, filepath.Join(f.repo, ".git"))
	s := f.open()
	b := f.capture(s, "r1")
	commits := make([]string, 50)
	var all sync.WaitGroup
	for i := range commits {
		all.Go(func() {
			w, err := s.Checkout(t.Context(), Attempt{"r1", fmt.Sprintf("each[%d]/write", i), 1}, b.Commit)
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			name := fmt.Sprint(i, ".txt")
			steps := [][]string{
				{"add", "-A"}, {"commit", "-qm", "mine"}, {"mv", name, "moved-" + name}, {"stash", "-q"}, {"stash", "pop", "-q"},
				{"commit", "-qam", "moved"}, {"reflog", "expire", "--expire=now", "--all"}, {"gc", "-q", "--prune=now"},
			}
			if err := os.WriteFile(filepath.Join(w.Root, name), []byte(name), 0o600); err != nil {
				t.Error(err)
			}
			for _, args := range steps {
				if out, err := run(w.Root, args...); err != nil {
					t.Errorf("%d: git %v: %v %s", i, args, err, out)
				}
			}
			if commits[i], err = w.Collect(t.Context(), "work"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	var branches []Branch
	for i, c := range commits {
		branches = append(branches, Branch{fmt.Sprint("write", i), c})
	}
	m, err := s.Merge(t.Context(), "r1", b.Commit, branches)
	f.no(err)
	for i := range commits {
		name := fmt.Sprint(i, ".txt")
		f.has(s, m.Commit, "moved-"+name, name)
		f.has(s, m.Commit, name, "")
	}
	before["refs/hocket/r1/base"] = "-rw-r--r-- " + b.Head + "\n"
	same(t, "the user's .git", before, listing(t, filepath.Join(f.repo, ".git")))
	if out, err := s.refs.out(t.Context(), "fsck", "--full"); err != nil {
		t.Error(out, err)
	}
	f.git(f.repo, "fsck", "--full", "--strict")
}

// TestNothingOfAWorkspaceRuns sets everything in a workspace that makes git run a program.
func TestNothingOfAWorkspaceRuns(t *testing.T) {
	f := newFixture(t)
	sub := f.repo + "-lib"
	f.git(".", "clone", "-q", f.repo, sub)
	f.git(f.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "lib")
	f.git(f.repo, "commit", "-qm", "lib")
	s := f.open()
	b := f.capture(s, "r1")
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "evil")
	f.write(program, "#!/bin/sh\necho $0 \"$@\" >> '"+ran+"'\ncat\n")
	f.no(os.Chmod(program, 0o755))
	infect := func(dir string) {
		for _, key := range []string{
			"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy", "diff.external",
			"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "merge.evil.driver",
			"uploadpack.packObjectsHook", "gpg.program", "credential.helper", "core.alternateRefsCommand", "alias.add", "alias.status",
		} {
			f.git(dir, "config", key, program)
		}
		f.git(dir, "config", "core.hooksPath", filepath.Join(dir, "hooks"))
		f.git(dir, "config", "include.path", filepath.Join(dir, "more"))
		f.git(dir, "config", "core.worktree", filepath.Dir(dir))
		f.git(dir, "config", "extensions.partialClone", "origin")
		f.git(dir, "config", "remote.origin.url", "ext::"+program)
		f.git(dir, "config", "remote.origin.promisor", "true")
		for _, hook := range []string{"pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"} {
			for _, place := range []string{filepath.Join(dir, "hooks"), filepath.Join(dir, ".git", "hooks")} {
				f.mkdir(place)
				f.write(filepath.Join(place, hook), "#!/bin/sh\nexec "+program+" "+hook+"\n")
				f.no(os.Chmod(filepath.Join(place, hook), 0o755))
			}
		}
	}
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.git(w.Root, "commit", "-qm", "mine", "--allow-empty")
	f.write(filepath.Join(w.Root, ".gitattributes"), "* filter=evil diff=evil merge=evil\n")
	f.write(filepath.Join(w.Root, "a.txt"), "changed\n")
	f.git(filepath.Join(w.Root), "clone", "-q", sub, "lib") // a repository where a submodule belongs
	f.write(filepath.Join(w.Root, "lib", ".gitattributes"), "* filter=evil\n")
	f.write(filepath.Join(w.Root, "lib", "a.txt"), "changed\n")
	infect(filepath.Join(w.Root, "lib"))
	infect(w.Root)
	_, _ = run(w.Root, "status")
	if err := os.Remove(ran); err != nil { // by the agent's own command
		t.Error("the workspace is harmless:", err)
	}

	c := f.collect(w)
	for _, args := range [][]string{{"status"}, {"diff"}, {"log", "-p"}, {"commit", "-qm", "a person's", "--allow-empty"}} {
		if out, err := run(w.Root, args...); err != nil {
			t.Errorf("a person: git %v: %v %s", args, err, out)
		}
	}
	if text := f.read(w.Root, ".git", "config"+byAgent); !strings.Contains(text, program) {
		t.Errorf("the configuration of the agent was lost: %s", text)
	}
	other := f.change(s, "other", b.Commit, map[string]string{"a.txt": "one\ntwo\nthree\nfour\n", ".gitattributes": "* filter=evil merge=evil\n"})
	_, err := s.Merge(t.Context(), "r1", b.Commit, []Branch{{"a", c}, {"b", other}})
	f.no(err)
	_, err = s.Diff(t.Context(), b.Commit, c, 1000)
	f.no(err)
	next := f.checkout(s, Attempt{"r1", "step", 2}, c)
	f.collect(next)
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: c})
	f.land(s, l)
	f.no(s.Release(t.Context(), "r1"))
	f.git(f.repo, "status")
	f.git(f.repo, "gc", "-q")
	f.git(f.repo, "log", "-p")
	if data, err := os.ReadFile(ran); err == nil {
		t.Errorf("programs of a workspace ran:\n%s", data)
	}
	f.has(s, c, "a.txt", "changed")
}

// TestFiltersOfTheUserDoNotRun is about Git LFS: workspaces have what is stored.
func TestFiltersOfTheUserDoNotRun(t *testing.T) {
	f := newFixture(t)
	f.git(f.repo, "config", "filter.up.clean", "tr a-z A-Z")
	f.git(f.repo, "config", "filter.up.smudge", "tr A-Z a-z")
	f.put(".gitattributes", "*.up filter=up\n")
	f.put("x.up", "text\n")
	past := time.Now().Add(-time.Minute) // otherwise git has to read it to know that it is unchanged
	f.no(os.Chtimes(filepath.Join(f.repo, "x.up"), past, past))
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "up")
	s := f.open()
	b := f.capture(s, "r1")
	if b.Warnings != nil {
		t.Errorf("warnings %v", b.Warnings)
	}
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	if got := f.read(w.Root, "x.up"); got != "TEXT\n" {
		t.Errorf("the workspace has %q", got)
	}
	f.write(filepath.Join(w.Root, "new.txt"), "new\n")
	l, p := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: f.collect(w)})
	if len(p.Diff.Files) != 1 {
		t.Errorf("plan %+v", p)
	}
	f.land(s, l)
	f.status("")
	if got := f.read(f.repo, "x.up"); got != "text\n" {
		t.Errorf("the checkout has %q", got)
	}
}

// TestUserPrunesAndMoves does to the repository what its owner may do while a run waits.
func TestUserPrunesAndMoves(t *testing.T) {
	f := newFixture(t)
	f.git(f.repo, "checkout", "-qb", "feature")
	f.put("feature.txt", "feature\n")
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "feature")
	f.put("staged.txt", "staged\n")
	f.git(f.repo, "add", "staged.txt") // its object is in the user's repository only
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n", "copy.txt": "dangling\n"})
	f.put("copy.txt", "dangling\n")
	f.git(f.repo, "add", "copy.txt")
	c2 := f.change(s, "step2", b.Commit, map[string]string{"copy.txt": "dangling\n"})

	f.git(f.repo, "reset", "-q", "--hard")
	f.git(f.repo, "checkout", "-q", "main")
	f.git(f.repo, "branch", "-qD", "feature")
	f.git(f.repo, "reflog", "expire", "--expire=now", "--all")
	f.git(f.repo, "gc", "-q", "--prune=now")
	check := func(s *Store) {
		t.Helper()
		if out, err := s.refs.out(t.Context(), "fsck", "--full"); err != nil {
			t.Error(out, err)
		}
		w := f.checkout(s, Attempt{"r1", "step", 2}, c)
		if f.read(w.Root, "staged.txt")+f.read(w.Root, "feature.txt")+f.read(w.Root, "a.txt") != "staged\nfeature\nchanged\n" {
			t.Error("files are missing")
		}
		if out, err := run(w.Root, "fsck", "--full"); err != nil {
			t.Error(out, err)
		}
		f.write(filepath.Join(w.Root, "more.txt"), "more\n")
		f.has(s, f.collect(w), "more.txt", "more")
		f.has(s, c2, "copy.txt", "dangling")
	}
	check(s)
	f.no(os.Rename(f.repo, f.repo+"-moved"))
	f.repo += "-moved"
	check(f.open())
}

func TestClean(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	f.change(s, "done", b.Commit, map[string]string{"x": strings.Repeat("x", 10000)})
	lost := f.checkout(s, Attempt{"r1", "lost", 1}, b.Commit)
	f.write(filepath.Join(lost.Root, "work"), "not captured")
	f.no(lost.Close())
	nested := f.checkout(s, Attempt{"r1", "nested", 1}, b.Commit) // cannot be captured
	f.git(nested.Root, "init", "-q", "app")
	f.no(nested.Close())
	damaged := f.checkout(s, Attempt{"r1", "damaged", 1}, b.Commit)
	f.no(damaged.Close())
	f.write(filepath.Join(damaged.home, markerName), "")
	used := f.checkout(s, Attempt{"r1", "used", 1}, b.Commit)
	_, err := used.Collect(t.Context(), "work")
	f.no(err)
	foreign := filepath.Join(f.state, "work", "r1", "foreign")
	f.write(filepath.Join(foreign, "tree", "x"), "not ours")
	outside := filepath.Join(t.TempDir(), "outside")
	f.write(filepath.Join(outside, "tree", "x"), "outside")
	f.write(filepath.Join(outside, markerName), f.read(used.home, markerName))
	f.no(os.Symlink(outside, filepath.Join(f.state, "work", "r1", "link")))

	all, err := s.List(t.Context())
	f.no(err)
	found := map[string]Info{}
	for _, info := range all {
		found[info.Address+filepath.Base(info.Dir)] = info
	}
	if !found["usedused"].InUse || found["donedone"].InUse || found["donedone"].Captured == "" || found["lostlost"].Captured != "" || found["donedone"].Size < 10000 {
		t.Errorf("list %+v", found)
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	for path, want := range map[string]bool{
		filepath.Join(f.state, "work", "r1", "done"): false, lost.Root: false, nested.Root: true, damaged.Root: true, used.Root: true, filepath.Join(foreign, "tree", "x"): true, filepath.Join(outside, "tree", "x"): true,
	} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, left, err := s.Collected(t.Context(), lost.Attempt)
	f.no(err)
	f.has(s, left, "work", "not captured")
	f.no(used.Close())
}

// TestInterruptedAttempts has an attempt that is interrupted twice and made again with the same number.
func TestInterruptedAttempts(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	a := Attempt{"r1", "step", 1}
	if err := s.Recover(t.Context(), a); err != nil {
		t.Error("nothing to recover:", err)
	}
	begin := func(text string) *Workspace {
		t.Helper()
		w := f.checkout(s, a, b.Commit)
		f.git(w.Root, "status", "--porcelain")
		if _, err := os.Lstat(filepath.Join(w.Root, "work")); err == nil {
			t.Error("the attempt does not begin with the base")
		}
		f.write(filepath.Join(w.Root, "work"), text)
		return w
	}
	w := begin("killed")
	if err := s.Recover(t.Context(), a); !errors.Is(err, ErrInUse) {
		t.Errorf("recovered while it works: %v", err)
	}
	f.no(w.Close())
	f.no(s.Recover(t.Context(), Attempt{"r1", "step", 2})) // not the one that the directory is of
	if _, c, err := s.Collected(t.Context(), a); c != "" || err != nil {
		t.Errorf("collected %s, %v", c, err)
	}
	f.no(s.Recover(t.Context(), a))
	_, c, err := s.Collected(t.Context(), a)
	f.no(err)
	f.has(s, c, "work", "killed")

	f.collect(begin("stopped"))
	f.no(begin("killed again").Close())
	f.no(f.checkout(s, a, b.Commit).Close()) // begins, and changes nothing
	end := f.collect(begin("done"))
	all, err := s.Interruptions(t.Context(), a)
	f.no(err)
	if len(all) != 3 {
		t.Fatalf("interruptions %+v", all)
	}
	for i, want := range []string{"killed", "stopped", "killed again"} {
		if all[i].Base != b.Commit {
			t.Errorf("interruption %d began with %s", i, all[i].Base)
		}
		f.has(s, all[i].Commit, "work", want)
	}
	if _, c, err := s.Collected(t.Context(), a); c != end || err != nil {
		t.Errorf("collected %s, %v, want %s", c, err, end)
	}
	f.no(s.Release(t.Context(), "r1"))
	if refs, err := s.refs.out(t.Context(), "for-each-ref"); refs != "" || err != nil {
		t.Errorf("left in the store: %s %v", refs, err)
	}
}

// TestProvisionalRuns has processes that were killed before they recorded a run.
func TestProvisionalRuns(t *testing.T) {
	f := newFixture(t)
	f.put("new.txt", "new\n")
	s := f.open()
	fresh := Provisional()
	for _, run := range []string{fresh, "start-20200101T000000.000000000", "start-3k7qmwzx"} {
		f.capture(s, run)
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return false }))
	want := "refs/hocket/start-3k7qmwzx/base\n" + refsOf(fresh) + "base"
	if got := f.git(f.repo, "for-each-ref", "--format=%(refname)", "refs/hocket/"); len(got) != len(want) || !strings.Contains(got, refsOf(fresh)) || !strings.Contains(got, "3k7q") {
		t.Errorf("the user's repository has %s", got)
	}
	if got, err := s.refs.out(t.Context(), "for-each-ref", "--format=%(refname)"); err != nil || len(got) != len(want) {
		t.Errorf("the store has %s, %v", got, err)
	}
}

// TestBusyHour has more packs than are kept, which are all young: copying them would remove none.
func TestBusyHour(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	for i := range maxPacks + 5 {
		f.change(s, fmt.Sprint("step", i), b.Commit, map[string]string{"new.txt": fmt.Sprintln(i)})
	}
	dir := filepath.Join(f.state, "store.git", "objects", "pack")
	before := listing(t, dir)
	f.no(s.collectGarbage(t.Context(), leftovers))
	same(t, "packs in a busy hour", before, listing(t, dir))
	packs, err := filepath.Glob(filepath.Join(dir, "*"))
	f.no(err)
	for _, pack := range packs {
		f.no(os.Chtimes(pack, time.Now(), time.Now().Add(-2*leftovers)))
	}
	f.no(s.collectGarbage(t.Context(), leftovers))
	if packs, err = filepath.Glob(filepath.Join(dir, "*.pack")); err != nil || len(packs) != 1 {
		t.Errorf("packs %v, %v", packs, err)
	}
	f.git(f.repo, "--git-dir="+filepath.Join(f.state, "store.git"), "fsck", "--full")
}

// TestStoreDoesNotGrow has many runs that are forgotten.
func TestStoreDoesNotGrow(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	var sizes []int64
	for i := range 45 {
		run := fmt.Sprint("run", i)
		f.put("big.txt", strings.Repeat(fmt.Sprintln("line", i), 5000))
		b := f.capture(s, run)
		w := f.checkout(s, Attempt{run, "step", 1}, b.Commit)
		f.write(filepath.Join(w.Root, "result"), strings.Repeat(fmt.Sprintln("result", i), 5000))
		c := f.collect(w)
		if i >= 5 {
			f.no(s.Release(t.Context(), fmt.Sprint("run", i-5)))
		}
		f.no(s.collectGarbage(t.Context(), 0))
		f.has(s, c, "a.txt", "one\ntwo\nthree\n")
		if i%15 == 14 {
			sizes = append(sizes, Size(filepath.Join(f.state, "store.git")))
		}
	}
	if out, err := s.refs.out(t.Context(), "fsck", "--full"); err != nil {
		t.Error(out, err)
	}
	if sizes[2] > 2*sizes[0] {
		t.Errorf("the store grows: %v", sizes)
	}
	if refs := strings.Count(f.git(f.repo, "for-each-ref", "refs/hocket/"), "\n") + 1; refs != 5 {
		t.Errorf("%d refs in the user's repository", refs)
	}
	if left, _ := os.ReadDir(filepath.Join(f.state, "work")); len(left) != 5 {
		t.Errorf("%d runs have workspaces", len(left))
	}
}

func TestDiskFull(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	noise := make([]byte, 1<<20) // git cannot compress it
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	f.write(filepath.Join(w.Root, "big"), string(noise))
	f.no(w.Close())
	before := listing(t, filepath.Join(f.state, "store.git"))
	// A limit for the size of files fails as a full disk does: in the middle of an object.
	self, err := os.Executable()
	f.no(err)
	child := exec.Command("sh", "-c", "ulimit -f 64; trap '' XFSZ; exec \"$0\" -test.run='^TestCollectInChild$'", self)
	child.Env = append(os.Environ(), "HOCKET_TEST_COLLECT="+f.state+"\n"+f.repo)
	if out, err := child.CombinedOutput(); err == nil || !strings.Contains(string(out), "git add: ") {
		t.Errorf("collected without space: %v\n%s", err, out)
	}
	same(t, "the store", before, listing(t, filepath.Join(f.state, "store.git")))
	w = f.checkout(s, Attempt{"r1", "step", 2}, b.Commit)
	defer w.Close()
	_, left, err := s.Collected(t.Context(), Attempt{"r1", "step", 1})
	f.no(err)
	if left == "" {
		t.Errorf("not collected afterwards: %+v", w)
	}
}

// TestDiskFullDuringCapture has a file system for the state that is smaller than what is captured, or has no space for what is captured
// and the pack of it.
func TestDiskFullDuringCapture(t *testing.T) {
	if repo := os.Getenv("HOCKET_TEST_CAPTURE"); repo != "" {
		captureOnFullDisk(t, repo)
		return
	}
	for size, command := range map[string]string{"2m": "git add", "5m": "git index-pack"} {
		f := newFixture(t)
		noise := make([]byte, 3<<20)
		_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
		f.put("big", string(noise))
		before := listing(t, f.repo)
		f.onDisk(size, "HOCKET_TEST_CAPTURE="+f.repo, "HOCKET_TEST_STATE="+f.state, "HOCKET_TEST_COMMAND="+command)
		same(t, "the project", before, listing(t, f.repo))
	}
}

// onDisk runs the test again in a process that has a file system of a size for the state.
func (f *fixture) onDisk(size string, env ...string) {
	f.Helper()
	f.mkdir(f.state)
	self, err := os.Executable()
	f.no(err)
	const mount = `mount -t tmpfs -o size="$1" none "$2" || { echo no file system; exit 0; }; shift; shift; exec "$@"`
	child := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", size, f.state, self, "-test.run=^"+f.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), env...)
	out, err := child.CombinedOutput()
	if strings.Contains(string(out), "no file system") || strings.Contains(string(out), "unshare") || errors.Is(err, exec.ErrNotFound) {
		f.Skipf("no file systems here: %v %s", err, out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		f.Errorf("%v\n%s", err, out)
	}
}

func captureOnFullDisk(t *testing.T, repo string) {
	f := &fixture{t, repo, os.Getenv("HOCKET_TEST_STATE")}
	s := f.open()
	before := listing(t, filepath.Join(f.state, "store.git"))
	_, err := s.Capture(t.Context(), "r1", nil)
	var disk *FullError
	if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &disk) || !strings.HasPrefix(disk.Dir, f.state) || !strings.Contains(err.Error(), os.Getenv("HOCKET_TEST_COMMAND")+": ") ||
		strings.Count(err.Error(), "free some space") != 1 || !strings.Contains(err.Error(), "No space left on device") {
		t.Errorf("captured on a full disk: %v", err)
	}
	t.Log(err)
	same(t, "the store", before, listing(t, filepath.Join(f.state, "store.git")))
	for _, dir := range []string{"temp", "store.git/objects"} {
		if left, _ := filepath.Glob(filepath.Join(f.state, dir, "tmp*")); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(f.state, "temp")); len(left) > 0 {
		t.Errorf("%d directories are left", len(left))
	}
	f.no(s.Release(t.Context(), "r1"))
	f.no(os.Rename(filepath.Join(repo, "big"), filepath.Join(repo, ".env"))) // which is ignored
	f.has(s, f.capture(s, "r2").Commit, "a.txt", "one\ntwo\nthree\n")
	f.no(s.Release(t.Context(), "r2"))
	f.no(os.Rename(filepath.Join(repo, ".env"), filepath.Join(repo, "big")))
}

// TestLeftoversAmongObjects has what git and we leave if the process is killed.
func TestLeftoversAmongObjects(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	f.capture(s, "r1")
	old := time.Now().Add(-2 * leftovers)
	for _, name := range []string{"tmp_objdir-hocket-1/pack/tmp_pack_x", "tmp_obj_x", "pack/tmp_pack_x", "pack/tmp_idx_x"} {
		for _, age := range []string{"", "-old"} {
			first, rest, _ := strings.Cut(name, "/")
			if first == "pack" {
				first, rest = name, ""
			}
			file := filepath.Join(s.objects(), first+age, rest)
			f.write(file, "x")
			if age != "" {
				f.no(os.Chtimes(filepath.Join(s.objects(), first+age), old, old))
			}
		}
	}
	f.no(s.Clean(t.Context(), func(Info) bool { return false }))
	for dir, want := range map[string]int{".": 2, "pack": 2} {
		if left, err := filepath.Glob(filepath.Join(s.objects(), dir, "tmp_*")); err != nil || len(left) != want {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

// TestCollectInChild is a part of TestDiskFull.
func TestCollectInChild(t *testing.T) {
	state, repo, found := strings.Cut(os.Getenv("HOCKET_TEST_COLLECT"), "\n")
	if !found {
		return
	}
	f := &fixture{t, repo, state}
	s := f.open()
	w := &Workspace{Attempt: Attempt{"r1", "step", 1}, store: s, home: s.home(Attempt{"r1", "step", 1})}
	w.Root = filepath.Join(w.home, "tree")
	m, err := readMarker(w.home)
	f.no(err)
	w.Base = m.Base
	if _, _, err := w.collect(t.Context(), "", "", "work"); err != nil {
		t.Fatal(err)
	}
}
