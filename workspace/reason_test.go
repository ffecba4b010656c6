//go:build unix

package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestErrorsSayWhatToDo has what a step can leave that cannot be recorded. Each message names the place and the remedy.
func TestErrorsSayWhatToDo(t *testing.T) {
	pipe := func(f *fixture, name string) {
		f.Helper()
		_ = os.Remove(name)
		if out, err := exec.Command("mkfifo", name).CombinedOutput(); err != nil {
			f.Skip(string(out))
		}
	}
	for name, test := range map[string]struct {
		work func(f *fixture, root string)
		want []string
	}{
		"a name like .git":       {func(f *fixture, root string) { f.write(root+"/in/.Git/hooks/x", "x") }, []string{"git does not record in/.Git/hooks/x: ", "rename it, remove it, or ignore it"}},
		"a link for .gitmodules": {func(f *fixture, root string) { f.no(os.Symlink("a.txt", root+"/.gitmodules")) }, []string{"git does not record .gitmodules: it is a symbolic link", "replace or remove it"}},
		"a pipe":                 {func(f *fixture, root string) { pipe(f, root+"/a.txt") }, []string{"git does not record a.txt: ", "a pipe: remove it"}},
		"a pipe of a commit": {func(f *fixture, root string) {
			f.write(root+"/new.txt", "new\n")
			f.git(root, "add", "-A")
			f.git(root, "commit", "-qm", "new")
			pipe(f, root+"/new.txt")
		}, []string{"git does not record new.txt: ", "a pipe: remove it"}},
		"a link for its directory": {func(f *fixture, root string) { f.no(os.Rename(root, root+"-moved")); f.no(os.Symlink(f.repo, root)) }, []string{"have it leave that in place, and retry", "/tree is a symbolic link"}},
		"no directory":             {func(f *fixture, root string) { f.no(os.RemoveAll(root)) }, []string{"have it leave that in place, and retry", "/tree: no such file"}},
		"a link above it": {func(f *fixture, root string) {
			home := filepath.Dir(root)
			f.no(os.Rename(home, home+"-moved"))
			f.no(os.Symlink(home+"-moved", home))
		}, []string{"a step has replaced the directory ", "remove what is there now"}},
		"no store":   {func(f *fixture, root string) { f.no(os.RemoveAll(f.state + "/store.git")) }, []string{"store.git/objects, where Hocket records", "was removed: retry the run"}},
		"no objects": {func(f *fixture, root string) { f.no(os.RemoveAll(f.state + "/store.git/objects")) }, []string{"store.git/objects, where Hocket records", "was removed: retry the run"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.put("new.txt", "in the store only\n")
			s := f.open()
			b := f.capture(s, "r1")
			w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
			defer w.Close()
			test.work(f, w.Root)
			_, err := w.Collect(t.Context(), "work")
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, without %q", err, want)
				}
			}
		})
	}
}

// TestALinkAboveAWorkspaceIsNotFollowed has a step that puts a link where its directories belong. The next attempt removes nothing there.
func TestALinkAboveAWorkspaceIsNotFollowed(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.no(w.Close())
	users := t.TempDir()
	f.write(filepath.Join(users, "tree", "mine"), "mine\n")
	f.no(os.Rename(w.home, w.home+"-moved"))
	f.no(os.Symlink(users, w.home))
	if w, err := s.Checkout(t.Context(), Attempt{"r1", "step", 2}, b.Commit); err == nil {
		t.Errorf("checked out in %s", w.Root)
	}
	if got := f.read(users, "tree", "mine"); got != "mine\n" {
		t.Errorf("the user has %q", got)
	}
}

// asNobody runs a test again as a user whom permissions stop.
func asNobody(t *testing.T) (again bool) {
	t.Helper()
	if os.Getuid() != 0 {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const nobody = 65534
	program, err := os.ReadFile(self)
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "test"), program, 0o755), os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "temp"), 0o777), os.Chown(filepath.Join(dir, "temp"), nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(filepath.Join(dir, "test"), "-test.run=^"+t.Name()+"$", "-test.v")
	child.Dir, child.Env = dir, append(os.Environ(), "TMPDIR="+filepath.Join(dir, "temp"))
	child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := child.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip(err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// TestReadOnlyDirectories has a step and a user who make directories read-only.
func TestReadOnlyDirectories(t *testing.T) {
	if !asNobody(t) {
		return
	}
	f := newFixture(t)
	f.put("new.txt", "new\n")
	s := f.open()
	b := f.capture(s, "r1")
	a := Attempt{"r1", "step", 1}
	w := f.checkout(s, a, b.Commit)
	f.write(filepath.Join(w.Root, "dir", "b.txt"), "changed\n")
	f.no(os.Chmod(filepath.Join(w.Root, "a.txt"), 0))
	for _, dir := range []string{filepath.Join(w.Root, "dir"), filepath.Join(w.Root, ".git", "refs"), filepath.Join(w.Root, ".git"), w.Root, w.home, filepath.Dir(w.home)} {
		f.no(os.Chmod(dir, 0o500))
	}
	c := f.collect(w)
	f.has(s, c, "dir/b.txt", "changed")
	f.has(s, c, "a.txt", "one\ntwo\nthree")
	f.no(os.Chmod(filepath.Dir(w.home), 0o500))
	f.no(f.checkout(s, Attempt{"r1", "step", 2}, b.Commit).Close())

	fails := func(what string, err error, want ...string) {
		t.Helper()
		for _, want := range want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error is %v, without %q", what, err, want)
			}
		}
	}
	readOnly := func(dir string) (again func()) {
		f.no(os.Chmod(dir, 0o500))
		return func() { f.no(os.Chmod(dir, 0o700)) }
	}
	again := readOnly(filepath.Join(f.repo, "dir"))
	l, _ := f.plan(s, Landing{ID: "patch", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	_, err := s.Land(t.Context(), l)
	fails("a landing", err, "dir/b.txt cannot be changed: make it and its directory writable")
	again()
	objects := filepath.Join(f.repo, ".git", "objects")
	again = readOnly(objects)
	l, _ = f.plan(s, Landing{ID: "branch", Run: "r1", How: AsBranch, Base: b.Commit, Commit: c, Branch: "new"})
	_, err = s.Land(t.Context(), l)
	fails("a branch", err, objects+" cannot be written: make it and what is in it writable")
	again()
}

// TestDenied has what a user may not write or read, in the user's repository and in the store. The error names that.
func TestDenied(t *testing.T) {
	if !asNobody(t) {
		return
	}
	f := newFixture(t)
	f.put("new.txt", "new\n")
	s := f.open()
	b := f.capture(s, "r1")
	f.no(f.checkout(s, Attempt{"r1", "step", 1}, b.Commit).Close())
	capture := func() error { _, err := s.Capture(t.Context(), "r2", nil); return err }
	for _, c := range []struct {
		path string
		mode os.FileMode
		do   func() error
		want string
	}{
		{f.repo + "/.git/refs/hocket", 0o500, capture, "cannot be written"},
		{f.repo + "/.git/refs/hocket/r1", 0o500, func() error { _, err := s.Capture(t.Context(), "r1", nil); return err }, "cannot be written"},
		{f.repo + "/.git/refs/hocket/r1", 0o500, func() error { return s.Release(t.Context(), "r1") }, "cannot be written"},
		{f.repo + "/.git/index", 0, capture, "cannot be read"},
		{f.repo + "/.git/info/exclude", 0, capture, "cannot be read"},
		{f.state + "/temp", 0o500, capture, "cannot be written"},
		{f.state + "/store.git/objects", 0o500, capture, "cannot be written"},
		{f.state + "/store.git/refs/hocket", 0o500, capture, "cannot be written"},
		{f.state + "/work", 0o500, func() error { _, err := s.Checkout(t.Context(), Attempt{"r2", "step", 1}, b.Commit); return err }, "cannot be written"},
		{f.state + "/store.git/config", 0, func() error { _, err := Open(t.Context(), f.state, f.repo); return err }, "cannot be read"},
	} {
		info, err := os.Stat(c.path)
		f.no(err)
		f.no(os.Chmod(c.path, c.mode))
		if err := c.do(); err == nil || !strings.HasPrefix(err.Error(), c.path+" "+c.want+": make it ") {
			t.Errorf("%s with mode %v: the error is %v", c.path, c.mode, err)
		}
		f.no(os.Chmod(c.path, info.Mode()))
	}
	// Another failure of git is none of permissions.
	f.no(os.RemoveAll(f.repo + "/.git/refs/hocket"))
	f.write(f.repo+"/.git/refs/hocket", "in the way\n")
	if err := capture(); err == nil || errors.As(err, new(*UnwritableError)) || errors.As(err, new(*DeniedError)) {
		t.Errorf("a file in the way of a ref: %v", err)
	}
}

// TestFullDiskOfALanding has a full disk in the checkout, in the user's repository and in the store.
func TestFullDiskOfALanding(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	restore := onFileSystem("everything")
	exchange = func(*os.Root, string, string) error { return syscall.ENOSPC }
	_, err := s.Land(t.Context(), l)
	restore()
	var full *FullError
	if !errors.As(err, &full) || full.Dir != s.root || !strings.Contains(err.Error(), "a.txt: ") {
		t.Errorf("in the checkout: %v", err)
	}
	f.land(s, l)
	failed := &gitError{command: "merge-tree", code: 128, stderr: "fatal: unable to write loose object file", err: syscall.ENOSPC}
	if err := s.landReason(failed); !errors.As(err, &full) || full.Dir != s.dir || full.Elsewhere {
		t.Errorf("in the store: %v", err)
	}
	objects := &FullError{Dir: "/proc", Err: failed} // which is on no disk
	if err := s.landReason(objects); !errors.As(err, &full) || strings.Contains(err.Error(), "workspace rm") != (runtime.GOOS != "linux") {
		t.Errorf("in the user's repository: %v", err)
	}
}
