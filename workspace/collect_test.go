package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPipesThatGitReads has pipes where git reads a file: it would wait for somebody who writes.
func TestPipesThatGitReads(t *testing.T) {
	if _, err := exec.LookPath("mkfifo"); err != nil {
		t.Skip("needs mkfifo")
	}
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i, name := range []string{".gitignore", "dir/.gitignore", ".gitattributes", "new/dir/.gitattributes", ".gitmodules"} {
		w := f.checkout(s, Attempt{"r1", fmt.Sprint("step", i), 1}, b.Commit)
		f.write(filepath.Join(w.Root, "work.txt"), "work\n")
		file := filepath.Join(w.Root, filepath.FromSlash(name))
		f.mkdir(filepath.Dir(file))
		f.no(ignoreMissing(os.Remove(file)))
		f.no(exec.Command("mkfifo", file).Run())
		if _, err := w.Collect(ctx, "work"); err == nil || !strings.Contains(err.Error(), name+" is not a regular file") {
			t.Errorf("%s: error %v", name, err)
		}
		f.no(w.Close())
		next, err := s.Checkout(ctx, Attempt{"r1", w.Address, 2}, b.Commit)
		f.no(err)
		if got := f.read(next.LeftIn, "work.txt"); got != "work\n" || next.Reason == nil {
			t.Errorf("%s: left in %s, %v", name, next.LeftIn, next.Reason)
		}
		f.no(next.Close())
	}
}

func TestWhatTakesTooLongIsKept(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.write(filepath.Join(w.Root, "work.txt"), "work\n")
	f.no(w.Close())
	limit := recoverTime
	recoverTime = 0
	defer func() { recoverTime = limit }()
	next := f.checkout(s, Attempt{"r1", "step", 2}, b.Commit)
	defer next.Close()
	if next.Reason == nil || !strings.Contains(next.Reason.Error(), "could not be captured within") || f.read(next.LeftIn, "work.txt") != "work\n" {
		t.Errorf("left in %s, %v", next.LeftIn, next.Reason)
	}
}

func TestUnreadableDirectories(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.write(filepath.Join(w.Root, "out", "in", "f"), "important\n")
	for dir, mode := range map[string]os.FileMode{"out/in": 0, "dir": 0o200, "out": 0o400, ".": 0o300} {
		f.no(os.Chmod(filepath.Join(w.Root, dir), mode))
	}
	c := f.collect(w)
	f.has(s, c, "out/in/f", "important\n")
	f.has(s, c, "dir/b.txt", "b\n")
	for _, dir := range []string{".", "out", "out/in", "dir"} { // root could read them anyway
		if info, err := os.Stat(filepath.Join(w.Root, dir)); err != nil || info.Mode().Perm()&0o500 != 0o500 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}

// deep creates a file whose path is longer than the system accepts.
func (f *fixture) deep(dir string) {
	f.Helper()
	root, err := os.OpenRoot(dir)
	f.no(err)
	for range 60 {
		name := strings.Repeat("d", 100)
		f.no(root.Mkdir(name, 0o755))
		below, err := root.OpenRoot(name)
		f.no(err)
		f.no(root.Close())
		root = below
	}
	f.no(root.WriteFile("leaf", []byte("x"), 0o644))
	f.no(root.Close())
}

// noise makes git print many warnings.
func (f *fixture) noise(dir string) {
	f.Helper()
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "* -!bad%d%s\n", i, strings.Repeat("a", 40))
	}
	f.write(filepath.Join(dir, ".gitattributes"), b.String())
}

// TestNothingIsLostSilently has files that git does not add, and only warns about. An agent can hide the warning among others.
func TestNothingIsLostSilently(t *testing.T) {
	for _, noise := range []bool{false, true} {
		t.Run(fmt.Sprint("noise ", noise), func(t *testing.T) {
			f := newFixture(t)
			s := f.open()
			b := f.capture(s, "r1")
			w := f.checkout(s, Attempt{"r1", "deep", 1}, b.Commit)
			if noise {
				f.noise(w.Root)
			}
			f.deep(w.Root)
			_, err := w.Collect(t.Context(), "work")
			var unread *UnreadableError
			if !errors.As(err, &unread) || !strings.HasPrefix(unread.Dirs[0], "ddd") {
				t.Errorf("a long path: error %v", err)
			}
			f.write(filepath.Join(w.Root, ".gitignore"), "d*d/\n")
			if _, err := w.Collect(t.Context(), "work"); err != nil {
				t.Errorf("a long path that is ignored: error %v", err)
			}
			f.no(w.Close())

			w = f.checkout(s, Attempt{"r1", "nested", 1}, b.Commit)
			defer w.Close()
			if noise {
				f.noise(w.Root)
			}
			nested := filepath.Join(w.Root, "wo\nrk")
			f.write(filepath.Join(nested, "important.txt"), "important\n")
			f.git(nested, "init", "-q")
			f.git(nested, "add", "-A")
			f.git(nested, "commit", "-qm", "x")
			_, err = w.Collect(t.Context(), "work")
			var inside *NestedError
			if !errors.As(err, &inside) || !slices.Equal(inside.Paths, []string{"wo\nrk"}) {
				t.Errorf("a repository inside: error %v", err)
			}
			f.git(w.Root, "add", "-A")
			f.git(w.Root, "commit", "-qm", "mine")
			if _, err = w.Collect(t.Context(), "work"); !errors.As(err, &inside) {
				t.Errorf("a repository inside that was committed: error %v", err)
			}
		})
	}
}

func TestCaptureNamesWhatItCannotRead(t *testing.T) {
	f := newFixture(t)
	f.deep(f.repo)
	b := f.capture(f.open(), "r1")
	if len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], "cannot be read: its files are not captured") {
		t.Errorf("warnings %.200q", b.Warnings)
	}
}

// TestPipesAmongObjects has agents whose commits git could not read without waiting forever.
func TestPipesAmongObjects(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skip(string(out))
	}
	for name, change := range map[string]func(objects string){
		"alternates": func(objects string) {
			f.no(os.Remove(filepath.Join(objects, "info", "alternates")))
			f.no(exec.Command("mkfifo", filepath.Join(objects, "info", "alternates")).Run())
		},
		"elsewhere": func(objects string) {
			elsewhere := t.TempDir()
			f.mkdir(filepath.Join(elsewhere, "info"))
			f.no(exec.Command("mkfifo", filepath.Join(elsewhere, "info", "alternates")).Run())
			f.write(filepath.Join(objects, "info", "alternates"), f.read(objects, "info", "alternates")+elsewhere+"\n")
		},
		"graph": func(objects string) {
			f.no(exec.Command("mkfifo", filepath.Join(objects, "info", "commit-graph")).Run())
		},
		"index of packs": func(objects string) {
			f.no(os.Symlink(pipe, filepath.Join(objects, "pack", "multi-pack-index")))
		},
		"objects": func(objects string) {
			f.no(filepath.WalkDir(objects, func(path string, d fs.DirEntry, err error) error {
				if err == nil && len(d.Name()) == 38 {
					err = errors.Join(os.Remove(path), exec.Command("mkfifo", path).Run())
				}
				return err
			}))
		},
	} {
		w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
		f.write(filepath.Join(w.Root, "a.txt"), "changed\n")
		f.git(w.Root, "commit", "-qam", "mine")
		change(filepath.Join(w.Root, ".git", "objects"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		c, err := w.Collect(ctx, "work")
		cancel()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.has(s, c, "a.txt", "changed")
	}
}

// TestSubmodulesOfAnAgent changes what is in place of a submodule. It is recorded, or the attempt fails and its directory stays.
func TestSubmodulesOfAnAgent(t *testing.T) {
	f := newFixture(t)
	sub := filepath.Join(f.repo, "libs", "sub")
	f.mkdir(sub)
	f.git(sub, "init", "-q")
	f.git(sub, "commit", "-q", "--allow-empty", "-m", "x")
	f.git(f.repo, "add", "libs/sub")
	f.git(f.repo, "commit", "-qm", "sub")
	s := f.open()
	b := f.capture(s, "r1")
	elsewhere := t.TempDir()
	f.git(elsewhere, "clone", "-q", sub, "sub")
	for name, step := range map[string]struct {
		work func(root, sub string)
		want string // what git says of the change, and of the file; "": an error
	}{
		"nothing":                   {func(string, string) {}, "A\twork.txt"},
		"removed":                   {func(_, sub string) { f.no(os.Remove(sub)) }, "D\tlibs/sub\nA\twork.txt"},
		"a file":                    {func(_, sub string) { f.no(os.Remove(sub)); f.write(sub, "x") }, "T\tlibs/sub\nA\twork.txt"},
		"a link":                    {func(_, sub string) { f.no(os.Remove(sub)); f.no(os.Symlink("/", sub)) }, "T\tlibs/sub\nA\twork.txt"},
		"no parent":                 {func(root, _ string) { f.no(os.RemoveAll(root + "/libs")); f.write(root+"/libs", "x") }, "A\tlibs\nD\tlibs/sub\nA\twork.txt"},
		"a link elsewhere above it": {func(root, _ string) { f.no(os.RemoveAll(root + "/libs")); f.no(os.Symlink(elsewhere, root+"/libs")) }, "A\tlibs\nD\tlibs/sub\nA\twork.txt"},
		"a link above it": {func(root, _ string) {
			f.no(os.RemoveAll(root + "/libs"))
			f.mkdir(root + "/ignored/sub")
			f.no(os.Symlink("ignored", root+"/libs"))
		}, "A\tlibs\nD\tlibs/sub\nA\twork.txt"},
		"a directory of files after a commit": {func(root, sub string) {
			f.git(root, "rm", "-q", "--cached", "libs/sub")
			f.git(root, "commit", "-qm", "no submodule")
			f.write(filepath.Join(sub, "x"), "x")
		}, "D\tlibs/sub\nA\tlibs/sub/x\nA\twork.txt"},
		"a file in it": {func(_, sub string) { f.write(filepath.Join(sub, "x"), "x") }, ""},
		"a file in it after a commit": {func(root, sub string) {
			f.git(root, "commit", "-qm", "x", "--allow-empty")
			f.write(filepath.Join(sub, "x"), "x")
		}, ""},
		"a directory in it": {func(_, sub string) { f.mkdir(filepath.Join(sub, "x")) }, ""},
		"its repository":    {func(_, sub string) { f.git(sub, "init", "-q"); f.write(filepath.Join(sub, "x"), "x") }, "A\twork.txt"},
		"its repository with a bare one": {func(_, sub string) {
			f.git(sub, "init", "-q")
			for _, part := range []string{"HEAD", "objects/keep", "refs/heads/keep"} {
				f.write(filepath.Join(sub, "testdata", "repo.git", part), "x")
			}
		}, "A\twork.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
			f.write(filepath.Join(w.Root, "work.txt"), "work\n")
			step.work(w.Root, filepath.Join(w.Root, "libs", "sub"))
			c, err := w.Collect(t.Context(), "work")
			f.no(w.Close())
			if step.want == "" {
				if !errors.As(err, new(*SubmoduleError)) || !strings.Contains(err.Error(), ": libs/sub: ") {
					t.Errorf("recorded %s, %v", c, err)
				}
				f.no(s.Clean(t.Context(), func(Info) bool { return true }))
				if got := f.read(w.Root, "work.txt"); got != "work\n" {
					t.Errorf("work is %q", got)
				}
				return
			}
			f.no(err)
			got, err := s.git.out(t.Context(), "diff", "--no-renames", "--name-status", b.Commit, c)
			if err != nil || got != step.want {
				t.Errorf("recorded\n%s, %v; want\n%s", got, err, step.want)
			}
		})
	}
	w := f.checkout(s, Attempt{"r1", "looked at", 1}, b.Commit)
	f.collect(w)
	f.write(filepath.Join(w.Root, "libs", "sub", "mine"), "mine\n")
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	if got := f.read(w.Root, "libs", "sub", "mine"); got != "mine\n" {
		t.Errorf("the work of a person is %q", got)
	}
}
