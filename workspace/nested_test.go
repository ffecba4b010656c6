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
		"names that mean something to git": {func(f *fixture, root string, y spy) {
			f.nest(root+"/:(top)sub", y)
			f.nest(root+"/*", y)
			f.nest(root+"/:!ignored", y)
			f.nest(root+"/ignored", y)
			f.write(root+"/.gitignore", ":!ignored\nignored\n")
		}, []string{"*", ":(top)sub"}},
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

// bareTests are ways to make a directory a repository, and the directories that are refused.
var bareTests = map[string]struct {
	files map[string]string // "" removes one
	want  []string
}{
	"in a directory":               {map[string]string{"nb/HEAD": "ref: refs/heads/main\n", "nb/objects/x": "x", "nb/refs/x": "x", "nb/config": "[core]\n"}, []string{"nb"}},
	"at the top":                   {map[string]string{"HEAD": "ref: refs/heads/main\n", "objects/x": "x", "refs/x": "x"}, []string{"."}},
	"in other case":                {map[string]string{"nb/head": "ref: refs/heads/main\n", "nb/Objects/x": "x", "nb/REFS/x": "x"}, []string{"nb"}},
	"with its own parts elsewhere": {map[string]string{"nb/HEAD": "ref: refs/heads/main\n", "nb/commondir": "/tmp\n"}, []string{"nb"}},
	"by one more file":             {map[string]string{"half/objects/x": "x"}, []string{"half"}},
	"its configuration":            {map[string]string{"old/config": "[core]\n\tfsmonitor = evil\n"}, []string{"old"}},
	"its hooks":                    {map[string]string{"old/hooks/pre-commit": "#!/bin/sh\n"}, []string{"old"}},
	"its HEAD":                     {map[string]string{"old/HEAD": "ref: refs/heads/main\n"}, []string{"old"}},
	"a file beside":                {map[string]string{"old/objects/y": "y", "old/description": "x"}, nil},
	"something else":               {map[string]string{"nb/HEAD": "x", "nb/objects/x": "x", "config": "x", "hooks/x": "x"}, nil},
	"it is removed":                {map[string]string{"old/HEAD": "", "old/objects/x": ""}, nil},
	"ignored":                      {map[string]string{"ignored/nb/HEAD": "x", "ignored/nb/objects/x": "x", "ignored/nb/refs/x": "x"}, nil},
}

// withBare has a repository in the project, and a half of one.
func withBare(t *testing.T) *fixture {
	f := newFixture(t)
	for _, name := range []string{"old/HEAD", "old/objects/x", "old/refs/x", "half/HEAD", "half/refs/x"} {
		f.put(name, "x")
	}
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "bare")
	return f
}

// TestBareRepositoriesOfAnAgent has directories that become repositories by what an agent writes into them.
func TestBareRepositoriesOfAnAgent(t *testing.T) {
	f := withBare(t)
	s := f.open()
	b := f.capture(s, "r1")
	for name, test := range bareTests {
		for _, committed := range []bool{false, true} {
			w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
			f.editAll(w.Root, test.files)
			if committed {
				f.git(w.Root, "add", "-A")
				f.git(w.Root, "commit", "-q", "--allow-empty", "-m", "x")
			}
			_, err := w.Collect(t.Context(), "work")
			f.no(w.Close())
			f.refusedAsNested(name, err, test.want)
		}
	}
}

// editAll writes files; an empty text removes one.
func (f *fixture) editAll(dir string, files map[string]string) {
	f.Helper()
	for name, text := range files {
		if text == "" {
			f.no(os.Remove(filepath.Join(dir, name)))
		} else {
			f.write(filepath.Join(dir, name), text)
		}
	}
}

func (f *fixture) refusedAsNested(what string, err error, want []string) {
	f.Helper()
	var nested *NestedError
	switch {
	case want == nil && err != nil:
		f.Errorf("%s: %v", what, err)
	case want != nil && (!errors.As(err, &nested) || !nested.Bare || !slices.Equal(nested.Paths, want)):
		f.Errorf("%s: %v", what, err)
	}
}

// TestBareRepositoriesDoNotLand has the same in a commit, for example one that was merged from two of which each has a half.
func TestBareRepositoriesDoNotLand(t *testing.T) {
	f := withBare(t)
	s := f.open()
	b := f.capture(s, "r1")
	for name, test := range bareTests {
		if name == "ignored" {
			continue
		}
		index := filepath.Join(t.TempDir(), "index")
		tree := filepath.Join(t.TempDir(), "tree")
		f.mkdir(tree)
		g := s.git.with("GIT_INDEX_FILE="+index, "GIT_WORK_TREE="+tree)
		f.no(g.do(t.Context(), "read-tree", b.Commit))
		f.no(g.do(t.Context(), "checkout-index", "-a"))
		f.editAll(tree, test.files)
		f.no(g.in(tree).do(t.Context(), "add", "-A"))
		files, err := g.out(t.Context(), "write-tree")
		f.no(err)
		q, err := s.quarantine("", "")
		f.no(err)
		at, err := s.git.point(t.Context(), b.Commit)
		f.no(err)
		q.git = s.git
		commit, err := q.commit(t.Context(), files, name, at)
		f.no(err)
		for _, how := range []How{AsBranch, AsCommit, AsPatch} {
			_, err := s.Plan(t.Context(), Landing{ID: name, Run: "r1", How: how, Base: b.Commit, Commit: commit, Branch: "new"}, 1<<20)
			f.refusedAsNested(name+" as "+string(how), err, test.want)
		}
	}
	// The rest may be there already, where git ignores it.
	f.put("ignored/objects/x", "x")
	f.put("ignored/refs/x", "x")
	w := f.checkout(s, Attempt{"r1", "half", 1}, b.Commit)
	f.write(filepath.Join(w.Root, "ignored", "HEAD"), "ref: refs/heads/main\n")
	f.git(w.Root, "add", "-f", "ignored/HEAD")
	f.git(w.Root, "commit", "-qm", "x")
	commit := f.collect(w)
	_, err := s.Plan(t.Context(), Landing{ID: "half", Run: "r1", How: AsPatch, Base: b.Commit, Commit: commit}, 1<<20)
	f.refusedAsNested("together with the checkout", err, []string{"ignored"})
}

// TestBareRepositoriesWithoutFiles has directories that are repositories because of empty directories, which are in no tree.
func TestBareRepositoriesWithoutFiles(t *testing.T) {
	f := withBare(t)
	s := f.open()
	b := f.capture(s, "r1")
	for name, test := range map[string]struct {
		files map[string]string
		dirs  []string
		want  []string
	}{
		"all are empty":          {map[string]string{"nb/HEAD": "ref: refs/heads/m\n", "nb/config": "[core]\n"}, []string{"nb/objects", "nb/refs"}, []string{"nb"}},
		"at the top":             {map[string]string{"HEAD": "ref: refs/heads/m\n"}, []string{"objects", "refs"}, []string{"."}},
		"one is empty":           {map[string]string{"nb/HEAD": "x", "nb/refs/x": "x"}, []string{"nb/Objects"}, []string{"nb"}},
		"the rest is recorded":   {nil, []string{"half/objects"}, []string{"half"}},
		"most is ignored":        {map[string]string{".gitignore": "HEAD\nconfig\n", "nb/HEAD": "x", "nb/config": "x"}, []string{"nb/objects", "nb/refs"}, []string{"nb"}},
		"an ignored setting":     {map[string]string{".gitignore": "config\n", "old/config": "[core]\n"}, nil, []string{"old"}},
		"all is ignored":         {map[string]string{"ignored/nb/HEAD": "x"}, []string{"ignored/nb/objects", "ignored/nb/refs"}, nil},
		"directories only":       {nil, []string{"nb/objects", "nb/refs", "nb/HEAD"}, []string{"nb"}},
		"what was there":         {nil, []string{"old/refs/tags"}, nil},
		"two directories":        {map[string]string{"nb/HEAD": "x"}, []string{"nb/objects", "refs"}, nil},
		"a part in another part": {map[string]string{"refs/HEAD": "x"}, []string{"objects"}, nil},
	} {
		w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
		f.editAll(w.Root, test.files)
		for _, dir := range test.dirs {
			f.mkdir(filepath.Join(w.Root, dir))
		}
		_, err := w.Collect(t.Context(), "work")
		f.no(w.Close())
		f.refusedAsNested(name, err, test.want)
	}
}

// TestABareProjectDoesNotRun lands what git init --bare makes of the project's own directory, in a project without git.
func TestABareProjectDoesNotRun(t *testing.T) {
	f := newFixture(t)
	f.no(os.RemoveAll(filepath.Join(f.repo, ".git")))
	s, y := f.open(), f.spy()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	for _, dir := range []string{".", "nb"} {
		f.git(w.Root, "init", "-q", "--bare", dir)
		at := filepath.Join(w.Root, dir)
		f.git(at, "--git-dir=.", "config", "core.fsmonitor", y.program)
		f.git(at, "--git-dir=.", "config", "core.worktree", ".")
		f.git(at, "--git-dir=.", "config", "core.bare", "false")
		f.write(filepath.Join(at, "refs", "heads", "keep"), b.Commit+"\n")
		f.write(filepath.Join(at, "objects", "keep"), "x")
	}
	_, err := w.Collect(t.Context(), "work")
	f.refusedAsNested("bare", err, []string{".", "nb"})
	f.no(w.Close())
}
