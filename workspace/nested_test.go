package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// spy is a program that an agent wants git to run.
type spy struct{ program, ran string }

func (f *fixture) spy() spy {
	f.Helper()
	dir := f.TempDir()
	y := spy{filepath.Join(dir, "program"), filepath.Join(dir, "ran")}
	f.write(y.program, "#!/bin/sh\necho $0 \"$@\" >> '"+y.ran+"'\ncat\n")
	f.no(os.Chmod(y.program, 0o755))
	return y
}

// arm makes git in a repository run the program.
func (f *fixture) arm(gitDir string, y spy) {
	f.Helper()
	for _, key := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.command", "diff.evil.textconv", "merge.evil.driver"} {
		f.git(gitDir, "--git-dir=.", "config", key, y.program)
	}
}

// check fails if the program ran.
func (f *fixture) check(what string, y spy) {
	f.Helper()
	if text, err := os.ReadFile(y.ran); err == nil {
		f.Errorf("%s: programs of an agent ran:\n%s", what, text)
		f.no(os.Remove(y.ran))
	}
}

// nest makes a repository whose files git would pass to the program.
func (f *fixture) nest(dir string, y spy) {
	f.Helper()
	f.mkdir(dir)
	f.git(dir, "init", "-q")
	f.write(filepath.Join(dir, "x"), "x\n")
	f.git(dir, "add", "x")
	f.git(dir, "commit", "-qm", "x")
	f.write(filepath.Join(dir, ".gitattributes"), "* filter=evil\n")
	f.write(filepath.Join(dir, "x"), "y\n")
	f.arm(filepath.Join(dir, ".git"), y)
}

// TestRepositoriesOfAnAgent has repositories that an agent makes in its workspace, and commits. Git never looks into them.
func TestRepositoriesOfAnAgent(t *testing.T) {
	for name, test := range map[string]struct {
		work func(f *fixture, root string, y spy)
		want []string // the repositories in the error
	}{
		"untracked": {func(f *fixture, root string, y spy) { f.nest(root+"/sub", y) }, []string{"sub"}},
		"committed": {func(f *fixture, root string, y spy) {
			f.nest(root+"/sub", y)
			f.git(root, "-c", "core.fsmonitor=", "add", "sub")
			f.git(root, "commit", "-qm", "sub")
		}, []string{"sub"}},
		"committed and ignored": {func(f *fixture, root string, y spy) {
			f.nest(root+"/sub", y)
			f.git(root, "add", "sub")
			f.write(root+"/.gitignore", "sub/\n")
			f.git(root, "commit", "-qam", "sub")
		}, nil},
		"committed by its name only": {func(f *fixture, root string, y spy) {
			f.git(root, "update-index", "--add", "--cacheinfo", "160000,"+f.git(root, "rev-parse", "HEAD")+",sub")
			f.git(root, "commit", "-qm", "sub")
		}, nil},
		"committed, and then only files": {func(f *fixture, root string, y spy) {
			f.nest(root+"/sub", y)
			f.git(root, "-c", "core.fsmonitor=", "add", "sub")
			f.git(root, "commit", "-qm", "sub")
			f.no(os.RemoveAll(root + "/sub/.git"))
		}, nil},
		"around tracked files": {func(f *fixture, root string, y spy) { f.nest(root+"/dir", y) }, []string{"dir"}},
		"without commits":      {func(f *fixture, root string, y spy) { f.git(root, "init", "-q", "sub") }, []string{"sub"}},
		"elsewhere": {func(f *fixture, root string, y spy) {
			f.nest(root+"/sub", y)
			f.no(os.Rename(root+"/sub/.git", root+"/../gitdir"))
			f.write(root+"/sub/.git", "gitdir: "+root+"/../gitdir\n")
		}, []string{"sub"}},
		"a link": {func(f *fixture, root string, y spy) {
			f.nest(root+"/sub", y)
			f.no(os.Rename(root+"/sub/.git", root+"/../gitdir"))
			f.no(os.Symlink(root+"/../gitdir", root+"/sub/.git"))
		}, []string{"sub"}},
		"two": {func(f *fixture, root string, y spy) { f.nest(root+"/b", y); f.nest(root+"/a/in", y) }, []string{"a/in", "b"}},
		"ignored": {func(f *fixture, root string, y spy) {
			f.nest(root+"/ignored/sub", y)
			f.nest(root+"/out", y)
			f.write(root+"/.gitignore", "ignored/\nout\n")
		}, nil},
		"no repository": {func(f *fixture, root string, y spy) { f.write(root+"/sub/.git/marker", "") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s, y := f.open(), f.spy()
			b := f.capture(s, "r1")
			w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
			f.write(filepath.Join(w.Root, "a.txt"), "changed\n")
			test.work(f, w.Root, y)
			_ = os.Remove(y.ran) // by the agent's own commands
			c, err := w.Collect(t.Context(), "work")
			f.check("recorded", y)
			var nested *NestedError
			switch {
			case test.want == nil && err != nil:
				t.Fatal(err)
			case test.want == nil:
				f.has(s, c, "a.txt", "changed")
			case !errors.As(err, &nested) || !slices.Equal(nested.Paths, test.want):
				t.Errorf("recorded %s, %v", c, err)
			}
			f.no(w.Close())
			f.no(s.Clean(t.Context(), func(Info) bool { return true }))
			f.check("cleaned", y)
			if test.want != nil && f.read(w.Root, "a.txt") != "changed\n" {
				t.Error("the work is gone")
			}
		})
	}
}

// TestSubmodulesAreNotLookedInto has an agent that commits another commit of a submodule of the user.
func TestSubmodulesAreNotLookedInto(t *testing.T) {
	f := newFixture(t)
	lib := filepath.Join(f.repo, "lib")
	f.mkdir(lib)
	f.git(lib, "init", "-q")
	f.git(lib, "commit", "-q", "--allow-empty", "-m", "x")
	f.git(f.repo, "add", "lib")
	f.git(f.repo, "commit", "-qm", "lib")
	s, y := f.open(), f.spy()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.nest(filepath.Join(w.Root, "lib"), y)
	f.nest(filepath.Join(w.Root, "lib", "deeper"), y)
	f.git(w.Root, "-c", "core.fsmonitor=", "add", "lib")
	f.git(w.Root, "commit", "-qm", "lib")
	_ = os.Remove(y.ran)
	c := f.collect(w)
	f.check("recorded", y)
	if names, err := s.git.out(t.Context(), "diff", "--name-only", b.Commit, c); err != nil || strings.TrimSpace(names) != "lib" {
		t.Errorf("recorded %q, %v", names, err)
	}
}
