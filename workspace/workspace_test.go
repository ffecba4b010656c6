package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fixture is a user with a repository, and a store.
type fixture struct {
	*testing.T
	repo, state string
}

// newFixture creates a repository with one commit.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	f := &fixture{t, filepath.Join(t.TempDir(), "repo"), filepath.Join(t.TempDir(), "state")}
	f.write(filepath.Join(home, ".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
	f.mkdir(f.repo)
	f.git(f.repo, "init", "-q")
	f.put("a.txt", "one\ntwo\nthree\n")
	f.put("dir/b.txt", "b\n")
	f.put("run.sh", "#!/bin/sh\n")
	f.put(".gitignore", "ignored/\n.env\n")
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "first")
	return f
}

func (f *fixture) open() *Store {
	f.Helper()
	s, err := Open(f.Context(), f.state, f.repo)
	f.no(err)
	return s
}

func (f *fixture) no(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) mkdir(dir string) { f.Helper(); f.no(os.MkdirAll(dir, 0o755)) }

func (f *fixture) write(file, text string) {
	f.Helper()
	f.mkdir(filepath.Dir(file))
	f.no(os.WriteFile(file, []byte(text), 0o644))
}

func (f *fixture) put(name, text string) { f.Helper(); f.write(filepath.Join(f.repo, name), text) }

func (f *fixture) read(elem ...string) string {
	f.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	f.no(err)
	return string(data)
}

// git runs the user's or an agent's git.
func (f *fixture) git(dir string, args ...string) string {
	f.Helper()
	out, err := run(dir, args...)
	if err != nil {
		f.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func run(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// has compares a file of a commit in the store; "" means that it has none.
func (f *fixture) has(s *Store, commit, path, want string) {
	f.Helper()
	got, err := s.git.out(f.Context(), "cat-file", "blob", commit+":"+path)
	if err != nil {
		got = ""
	}
	if got != strings.TrimSuffix(want, "\n") {
		f.Errorf("%s of %.8s is %q, want %q", path, commit, got, want)
	}
}

func (f *fixture) capture(s *Store, run string, include ...string) Base {
	f.Helper()
	b, err := s.Capture(f.Context(), run, include)
	f.no(err)
	return b
}

func (f *fixture) checkout(s *Store, a Attempt, commit string) *Workspace {
	f.Helper()
	w, err := s.Checkout(f.Context(), a, commit)
	f.no(err)
	return w
}

func (f *fixture) collect(w *Workspace) string {
	f.Helper()
	c, err := w.Collect(f.Context(), "work")
	f.no(err)
	f.no(w.Close())
	return c
}

// change makes a commit in a workspace of its own, by writing files. An empty text removes one.
func (f *fixture) change(s *Store, address, base string, files map[string]string) string {
	f.Helper()
	w := f.checkout(s, Attempt{"r1", address, 1}, base)
	for name, text := range files {
		if text == "" {
			f.no(os.Remove(filepath.Join(w.Root, name)))
			continue
		}
		f.write(filepath.Join(w.Root, name), text)
	}
	return f.collect(w)
}

// listing has the files of a directory with their content and mode.
func listing(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if info.Mode()&fs.ModeSymlink != 0 {
			all[name], err = os.Readlink(path)
			all[name] = "-> " + all[name]
			return err
		}
		data, err := os.ReadFile(path)
		all[name] = info.Mode().String() + " " + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t testing.TB, what string, before, after map[string]string) {
	t.Helper()
	for name, text := range after {
		if old, ok := before[name]; !ok {
			t.Errorf("%s: %s is new", what, name)
		} else if old != text {
			t.Errorf("%s: %s was %.80q, is %.80q", what, name, old, text)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			t.Errorf("%s: %s is gone", what, name)
		}
	}
}

func TestCaptureTakesEverything(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "one\nstaged\nthree\n")
	f.git(f.repo, "add", "a.txt")
	f.put("a.txt", "one\nunstaged\nthree\n")
	f.put("staged.txt", "only staged\n")
	f.git(f.repo, "add", "staged.txt")
	f.put("intended.txt", "intended\n")
	f.git(f.repo, "add", "-N", "intended.txt")
	f.put("new [x]/ü \"q\".txt", "untracked\n")
	f.no(os.Remove(filepath.Join(f.repo, "dir/b.txt")))
	f.no(os.Chmod(filepath.Join(f.repo, "run.sh"), 0o755))
	f.no(os.Symlink("a.txt", filepath.Join(f.repo, "link")))
	f.put("ignored/x", "x")
	f.put(".env", "SECRET=1")
	before := listing(t, filepath.Join(f.repo, ".git"))

	s := f.open()
	b := f.capture(s, "r1")
	f.has(s, b.Commit, "a.txt", "one\nunstaged\nthree\n")
	f.has(s, b.Commit, "staged.txt", "only staged\n")
	f.has(s, b.Commit, "intended.txt", "intended\n")
	f.has(s, b.Commit, "new [x]/ü \"q\".txt", "untracked\n")
	f.has(s, b.Commit, "dir/b.txt", "")
	f.has(s, b.Commit, "ignored/x", "")
	f.has(s, b.Commit, ".env", "")
	head := f.git(f.repo, "rev-parse", "HEAD")
	if b.Head != head || b.Commit == head || len(b.Warnings) > 0 {
		t.Errorf("base %+v", b)
	}
	if again := f.capture(s, "r1"); again.Commit != b.Commit {
		t.Errorf("captured again: %s, before %s", again.Commit, b.Commit)
	}
	before["refs/hocket/r1/base"] = "-rw-r--r-- " + head + "\n"
	same(t, "the user's .git", before, listing(t, filepath.Join(f.repo, ".git")))

	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	want := listing(t, f.repo)
	got := listing(t, w.Root)
	for _, files := range []map[string]string{want, got} {
		for name := range files {
			if strings.HasPrefix(name, ".git/") || name == ".env" || strings.HasPrefix(name, "ignored") {
				delete(files, name)
			}
		}
	}
	same(t, "the workspace", want, got)
	if status := f.git(w.Root, "status", "--porcelain"); status != "" {
		t.Errorf("status of a new workspace:\n%s", status)
	}
	if c := f.collect(w); c != b.Commit {
		t.Errorf("collected %s from an unchanged workspace, want the base", c)
	}
}

func TestCaptureOfACleanCheckoutIsItsCommit(t *testing.T) {
	f := newFixture(t)
	if b := f.capture(f.open(), "r1"); b.Commit != b.Head || b.Head != f.git(f.repo, "rev-parse", "HEAD") {
		t.Errorf("base %+v", b)
	}
}

func TestIgnoredFilesOnlyIfIncluded(t *testing.T) {
	f := newFixture(t)
	f.put(".env", "SECRET=1\n")
	f.put("ignored/keep.json", "{}\n")
	f.put("ignored/other", "x\n")
	s := f.open()
	f.has(s, f.capture(s, "r1").Commit, ".env", "")
	b := f.capture(s, "r1", "/ignored/keep.json")
	f.has(s, b.Commit, "ignored/keep.json", "{}")
	f.has(s, b.Commit, "ignored/other", "")
	f.put(Include, "# local configuration\n.env*\n!.env.other\n")
	f.put(".env.other", "not ignored\n")
	b = f.capture(s, "r1")
	f.has(s, b.Commit, ".env", "SECRET=1")
	f.has(s, b.Commit, ".env.other", "not ignored")
	f.has(s, b.Commit, "ignored/keep.json", "")
}

// TestIncludeIsAFileOfTheProject has clones in which .worktreeinclude leads elsewhere.
func TestIncludeIsAFileOfTheProject(t *testing.T) {
	f := newFixture(t)
	f.put(".env", "SECRET=1\n")
	s := f.open()
	file := filepath.Join(f.repo, Include)
	secret := filepath.Join(t.TempDir(), "secret")
	f.write(secret, ".env\n")
	for target, want := range map[string]string{"/dev/zero": "leaves the project", secret: "leaves the project", "dir": "not a regular file"} {
		f.no(os.Symlink(target, file))
		if _, err := s.Capture(t.Context(), "r1", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", target, err)
		}
		f.no(os.Remove(file))
	}
	f.put("patterns", ".env\n")
	f.no(os.Symlink("patterns", file))
	f.has(s, f.capture(s, "r1").Commit, ".env", "SECRET=1")
	f.no(os.Remove(file))
	f.no(os.Symlink("missing", file))
	f.has(s, f.capture(s, "r1").Commit, ".env", "")
}

func TestUsersConfigurationDecidesWhatIsIgnored(t *testing.T) {
	f := newFixture(t)
	f.write(filepath.Join(os.Getenv("HOME"), "ignore"), "*.swp\n")
	f.git(f.repo, "config", "--global", "core.excludesFile", "~/ignore")
	f.put(".git/info/exclude", "mine\n")
	f.put("x.swp", "x")
	f.put("mine", "x")
	s := f.open()
	if b := f.capture(s, "r1"); b.Commit != b.Head {
		t.Error("captured", s.mustDiff(t, b.Head, b.Commit))
	}
}

func (s *Store) mustDiff(t *testing.T, a, b string) string {
	t.Helper()
	out, err := s.git.out(t.Context(), "diff-tree", "-r", "--name-status", a, b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCaptureErrors(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(f *fixture)
		want string
	}{
		"nested repository without commits": {func(f *fixture) { f.mkdir(f.repo + "/sub"); f.git(f.repo+"/sub", "init", "-q"); f.put("sub/x", "x") }, "sub is a git repository without commits"},
		"bare":                              {func(f *fixture) { f.repo += ".git"; f.git(".", "init", "-q", "--bare", f.repo) }, "bare repository"},
		"inside .git":                       {func(f *fixture) { f.repo += "/.git" }, "bare repository or inside a .git directory"},
		"folder that is a bare repository":  {func(f *fixture) { f.repo = bareFolder(f) }, "bare repository"},
		"work tree elsewhere": {func(f *fixture) {
			f.git(f.repo, "config", "core.worktree", filepath.Dir(f.repo))
		}, "whose .git does not lead to it"},
		"work tree of another repository": {func(f *fixture) {
			f.git(filepath.Dir(f.repo), "init", "-q")
			f.git(f.repo, "config", "core.worktree", filepath.Dir(f.repo))
		}, "whose .git does not lead to it"},
		"huge untracked file": {func(f *fixture) {
			f.put("huge", "")
			f.no(os.Truncate(filepath.Join(f.repo, "huge"), maxUntracked+1))
		}, "the largest is huge"},
		"unmerged": {func(f *fixture) {
			f.git(f.repo, "checkout", "-qb", "other")
			f.put("a.txt", "x\n")
			f.git(f.repo, "commit", "-qam", "x")
			f.git(f.repo, "checkout", "-q", "main")
			f.put("a.txt", "y\n")
			f.git(f.repo, "commit", "-qam", "y")
			_, _ = run(f.repo, "merge", "other")
		}, "a.txt is unmerged"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			c.do(f)
			s, err := Open(t.Context(), f.state, f.repo)
			if err == nil {
				_, err = s.Capture(t.Context(), "r1", nil)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// bareFolder returns a folder of a clone that is also a bare repository, whose configuration takes the directory around the
// clone for its work tree. That is in a repository of the user.
func bareFolder(f *fixture) string {
	f.Helper()
	clone := filepath.Join(f.repo, "src", "clone")
	f.mkdir(clone)
	f.git(clone, "init", "-q")
	folder := filepath.Join(clone, "folder")
	f.write(filepath.Join(folder, "HEAD"), "ref: refs/heads/main\n")
	f.write(filepath.Join(folder, "config"), "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n\tworktree = ../../..\n")
	f.write(filepath.Join(folder, "objects", "info", "alternates"), "../../../../.git/objects\n")
	f.write(filepath.Join(folder, "refs", "heads", ".keep"), "")
	f.git(clone, "add", "-A")
	f.git(clone, "commit", "-qm", "first")
	return folder
}

func TestRepositoryOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	f := newFixture(t)
	f.no(filepath.WalkDir(f.repo, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 12345, 12345))
	}))
	if _, err := Open(t.Context(), f.state, f.repo); err == nil || !strings.Contains(err.Error(), "safe.directory "+f.repo) {
		t.Errorf("error %v", err)
	}
	f.git(".", "config", "--global", "--add", "safe.directory", f.repo)
	f.capture(f.open(), "r1")
}

// TestDamagedConfiguration has a store whose configuration is not what we wrote. No command of ours reads it.
func TestDamagedConfiguration(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	config := filepath.Join(f.state, "store.git", "config")
	was := f.read(config)
	for _, text := range []string{"junk\n", "", was + "[core]\n\tworktree = /\n"} {
		f.write(config, text)
		f.has(s, b.Commit, "dir/b.txt", "b\n")
		f.has(f.open(), b.Commit, "dir/b.txt", "b\n")
		if got := f.read(config); got != was {
			t.Errorf("the configuration is %q", got)
		}
	}
	f.write(config, bareConfig("sha256"))
	if _, err := Open(t.Context(), f.state, f.repo); err == nil || !strings.Contains(err.Error(), "another format") {
		t.Errorf("error %v", err)
	}
}

func TestVersion(t *testing.T) {
	for text, ok := range map[string]bool{
		"git version 2.39.5": true, "git version 2.38.0.windows.1": true, "git version 3.0.0": true,
		"git version 2.37.9": false, "git version 1.9": false, "hg 2.39": false, "": false,
	} {
		if err := checkVersion(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKindsOfRepositories(t *testing.T) {
	for name, do := range map[string]func(f *fixture){
		"without git":     func(f *fixture) { f.no(os.RemoveAll(filepath.Join(f.repo, ".git"))) },
		"without commits": func(f *fixture) { f.no(os.RemoveAll(filepath.Join(f.repo, ".git"))); f.git(f.repo, "init", "-q") },
		"sha256": func(f *fixture) {
			f.no(os.RemoveAll(filepath.Join(f.repo, ".git")))
			f.git(f.repo, "init", "-q", "--object-format=sha256")
			f.git(f.repo, "add", "-A")
			f.git(f.repo, "commit", "-qm", "x")
		},
		"split index": func(f *fixture) { f.git(f.repo, "update-index", "--split-index") },
		"submodule": func(f *fixture) {
			f.git(filepath.Dir(f.repo), "init", "-q", "outer")
			outer := filepath.Join(filepath.Dir(f.repo), "outer")
			f.git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f.repo, "inner")
			f.repo = filepath.Join(outer, "inner")
		},
		"linked .git": func(f *fixture) {
			f.no(os.Rename(f.repo+"/.git", f.repo+".git"))
			f.no(os.Symlink(f.repo+".git", f.repo+"/.git"))
		},
		"linked worktree":   func(f *fixture) { f.git(f.repo, "worktree", "add", "-q", f.repo+"-linked"); f.repo += "-linked" },
		"state inside":      func(f *fixture) { f.state = filepath.Join(f.repo, "state [1]") },
		"detached":          func(f *fixture) { f.git(f.repo, "checkout", "-q", "--detach") },
		"colon in its path": func(f *fixture) { f.no(os.Rename(f.repo, f.repo+`:a "b`)); f.repo += `:a "b`; f.state += `:c "d` },
		"shallow": func(f *fixture) {
			f.put("a.txt", "second\n")
			f.git(f.repo, "commit", "-qam", "second")
			f.git(".", "clone", "-q", "--depth=1", "file://"+f.repo, f.repo+"-shallow")
			f.repo += "-shallow"
		},
		"partial clone": func(f *fixture) {
			f.put("a.txt", "second\n")
			f.git(f.repo, "commit", "-qam", "second")
			f.git(f.repo, "config", "uploadpack.allowFilter", "true")
			f.git(".", "clone", "-q", "--filter=blob:none", "file://"+f.repo, f.repo+"-partial")
			f.no(os.Rename(f.repo, f.repo+"-gone")) // nothing can be fetched
			f.repo += "-partial"
		},
		"CRLF": func(f *fixture) {
			f.git(f.repo, "config", "core.autocrlf", "true")
			f.no(os.Remove(f.repo + "/a.txt"))
			f.git(f.repo, "checkout", "a.txt")
			if f.read(f.repo, "a.txt") != "one\r\ntwo\r\nthree\r\n" {
				f.Error("no CRLF")
			}
		},
		"sparse": func(f *fixture) { f.git(f.repo, "sparse-checkout", "set", "--sparse-index", "nothing") },
		"merge in progress": func(f *fixture) {
			f.git(f.repo, "checkout", "-qb", "other")
			f.put("other.txt", "x\n")
			f.git(f.repo, "add", "other.txt")
			f.git(f.repo, "commit", "-qm", "x")
			f.git(f.repo, "checkout", "-q", "main")
			f.git(f.repo, "merge", "-q", "--no-commit", "--no-ff", "other")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			do(f)
			f.put("new.txt", "new\n")
			s := f.open()
			b := f.capture(s, "r1")
			f.has(s, b.Commit, "new.txt", "new\n")
			f.has(s, b.Commit, "dir/b.txt", "b\n")
			files, err := s.git.out(t.Context(), "ls-tree", "-r", "--name-only", b.Commit)
			f.no(err)
			if strings.Contains(files, "state") {
				t.Errorf("captured our own directory: %s", files)
			}
			w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
			f.write(filepath.Join(w.Dir, "result.txt"), "result\n")
			f.git(w.Dir, "add", "-A")
			f.git(w.Dir, "commit", "-qm", "mine")
			c := f.collect(w)
			f.has(s, c, "result.txt", "result\n")
			f.has(s, c, "new.txt", "new\n")
			if _, sparse := os.Stat(filepath.Join(f.repo, ".git", "info", "sparse-checkout")); sparse != nil {
				l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: f.change(s, "more", c, map[string]string{"a.txt": "changed\n"})})
				f.land(s, l)
				if got := strings.ReplaceAll(f.read(f.repo, "a.txt")+f.read(f.repo, "result.txt"), "\r", ""); got != "changed\nresult\n" {
					t.Errorf("landed %q", got)
				}
			}
			if name != "partial clone" { // of which objects are missing
				_, err = s.refs.out(t.Context(), "fsck", "--full")
				f.no(err)
			}
		})
	}
}

func TestProjectInASubdirectory(t *testing.T) {
	f := newFixture(t)
	s, err := Open(t.Context(), f.state, filepath.Join(f.repo, "dir"))
	f.no(err)
	w := f.checkout(s, Attempt{"r1", "step", 1}, f.capture(s, "r1").Commit)
	defer w.Close()
	if w.Dir != filepath.Join(w.Root, "dir") || f.read(w.Dir, "b.txt") != "b\n" || f.read(w.Root, "a.txt") == "" {
		t.Errorf("workspace %+v", w)
	}
	// An ignored directory is a project without git.
	f.put("ignored/p/x.txt", "x\n")
	s, err = Open(t.Context(), f.state+"2", filepath.Join(f.repo, "ignored/p"))
	f.no(err)
	f.has(s, f.capture(s, "r1").Commit, "x.txt", "x")
}

func TestSubmodulesAreNamed(t *testing.T) {
	f := newFixture(t)
	f.git(".", "clone", "-q", f.repo, f.repo+"-lib")
	f.git(f.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f.repo+"-lib", "lib")
	f.git(f.repo, "commit", "-qm", "lib")
	f.put("lib/a.txt", "changed\n")
	f.git(".", "clone", "-q", f.repo+"-lib", f.repo+"/tools")
	b := f.capture(f.open(), "r1")
	if len(b.Warnings) != 2 || !strings.Contains(b.Warnings[0], "lib is a submodule") || !strings.Contains(b.Warnings[1], "tools is a repository of its own") {
		t.Errorf("warnings %q", b.Warnings)
	}
}

func TestAttemptsStartClean(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	first := f.checkout(s, Attempt{"r1", "step[2]/fix#1", 1}, b.Commit)
	if _, err := s.Checkout(t.Context(), Attempt{"r1", "step[2]/fix#1", 2}, b.Commit); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("two attempts at once: %v", err)
	}
	f.write(filepath.Join(first.Root, "half.txt"), "half\n")
	f.write(filepath.Join(first.Root, "ignored", "cache"), "x")
	f.write(filepath.Join(first.Root, ".git", "hooks", "pre-commit"), "#!/bin/sh\nexit 1\n")
	f.git(first.Root, "config", "core.editor", "evil")
	f.git(first.Root, "stash", "-u")
	f.write(filepath.Join(first.Root, "left.txt"), "left\n")
	f.no(first.Close()) // the process of the attempt ended without collecting

	second := f.checkout(s, Attempt{"r1", "step[2]/fix#1", 2}, b.Commit)
	if second.Dir != first.Dir || second.Reason != nil {
		t.Errorf("second attempt %+v", second)
	}
	fresh := f.checkout(s, Attempt{"r1", "other", 1}, b.Commit)
	want, got := listing(t, fresh.Root), listing(t, second.Root)
	delete(want, ".git/index") // has times of files
	delete(got, ".git/index")
	same(t, "second attempt", want, got)
	f.collect(fresh)
	_, left, err := s.Collected(t.Context(), Attempt{"r1", "step[2]/fix#1", 1})
	f.no(err)
	f.has(s, left, "left.txt", "left\n")
	f.has(s, left, "half.txt", "")

	// What cannot be captured is kept beside the next attempt.
	f.mkdir(second.Root + "/sub")
	f.git(second.Root+"/sub", "init", "-q")
	f.write(second.Root+"/sub/x", "x")
	f.no(second.Close())
	third := f.checkout(s, Attempt{"r1", "step[2]/fix#1", 3}, b.Commit)
	if third.Reason == nil || f.read(third.LeftIn, "sub/x") != "x" {
		t.Errorf("third attempt %+v", third)
	}
	if _, none, err := s.Collected(t.Context(), Attempt{"r1", "step[2]/fix#1", 2}); err != nil || none != "" {
		t.Errorf("collected %q, %v", none, err)
	}
	f.collect(third)
}

func TestCommitsOfAgents(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "uncommitted\n")
	s := f.open()
	b := f.capture(s, "r1")
	log := func(commit string) string {
		out, err := s.git.out(t.Context(), "log", "--format=%s", b.Commit+".."+commit)
		f.no(err)
		return strings.ReplaceAll(out, "\n", ",")
	}
	for name, c := range map[string]struct {
		do   func(dir string)
		want string // subjects of the commits on the base, newest first
		file string // one that the result has
	}{
		"commits":  {func(d string) { f.git(d, "commit", "-qm", "mine", "--allow-empty") }, "mine", "a.txt"},
		"and more": {func(d string) { f.git(d, "commit", "-qm", "mine", "--allow-empty"); f.write(d+"/more", "m\n") }, "work,mine", "more"},
		"changed file": {func(d string) {
			f.write(d+"/a.txt", "changed\n")
			f.git(d, "commit", "-qam", "mine")
		}, "mine", "a.txt"},
		"other branch": {func(d string) {
			f.git(d, "checkout", "-qb", "x/y")
			f.write(d+"/n", "n")
			f.git(d, "add", "n")
			f.git(d, "commit", "-qm", "mine")
		}, "mine", "n"},
		"detached": {func(d string) {
			f.git(d, "checkout", "-q", "--detach")
			f.write(d+"/n", "n")
			f.git(d, "add", "n")
			f.git(d, "commit", "-qm", "mine")
		}, "mine", "n"},
		"packed": {func(d string) {
			f.git(d, "commit", "-qm", "mine", "--allow-empty")
			f.git(d, "gc", "-q", "--prune=now")
		}, "mine", "a.txt"},
		"ignored file": {func(d string) {
			f.write(d+"/.env", "x")
			f.git(d, "add", "-f", ".env")
			f.git(d, "commit", "-qm", "mine")
		}, "mine", ".env"},
		"amended": {func(d string) {
			f.write(d+"/n", "n")
			f.git(d, "add", "n")
			f.git(d, "commit", "-q", "--amend", "-m", "mine")
		}, "work", "n"},
		"orphan": {func(d string) {
			f.git(d, "checkout", "-q", "--orphan", "x")
			f.write(d+"/n", "n")
			f.git(d, "add", "n")
			f.git(d, "commit", "-qm", "mine")
		}, "work", "n"},
		"no .git": {func(d string) { f.no(os.RemoveAll(d + "/.git")); f.write(d+"/n", "n") }, "work", "n"},
		"other .git": {func(d string) {
			f.no(os.RemoveAll(d + "/.git"))
			f.git(d, "init", "-q")
			f.write(d+"/n", "n")
			f.git(d, "add", "n")
			f.git(d, "commit", "-qm", "mine")
		}, "work", "n"},
		"damaged": {func(d string) {
			f.write(d+"/n", "damaged")
			f.git(d, "add", "n")
			f.git(d, "commit", "-qm", "mine")
			tree := f.git(d, "rev-parse", "HEAD^{tree}")
			f.no(os.Remove(d + "/.git/objects/" + tree[:2] + "/" + tree[2:]))
		}, "work", "n"},
		"lying object": {func(d string) {
			f.write(d+"/n", "lying")
			f.git(d, "add", "n")
			f.git(d, "commit", "-qm", "mine")
			blob := f.git(d, "rev-parse", "HEAD:n")
			f.write(d+"/o", "other")
			other := f.git(d, "hash-object", "-w", "o")
			f.no(os.Rename(d+"/.git/objects/"+other[:2]+"/"+other[2:], d+"/.git/objects/"+blob[:2]+"/"+blob[2:]))
		}, "work", "n"},
		"hidden change": {func(d string) {
			f.git(d, "update-index", "--assume-unchanged", "a.txt")
			f.write(d+"/a.txt", "hidden\n")
			f.write(d+"/n", "n")
		}, "work", "n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{t, f.repo, f.state}
			w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
			c.do(w.Root)
			commit := f.collect(w)
			if got := log(commit); got != c.want {
				t.Errorf("commits %s, want %s", got, c.want)
			}
			files, err := s.git.out(t.Context(), "ls-tree", "-r", "--name-only", commit)
			f.no(err)
			if !slices.Contains(strings.Split(files, "\n"), c.file) {
				t.Errorf("no %s in %s", c.file, files)
			}
			if name == "hidden change" {
				f.has(s, commit, "a.txt", "hidden")
			}
			if _, err := s.refs.out(t.Context(), "fsck", "--full"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCollectRefusesNestedRepositories(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	w := f.checkout(s, Attempt{"r1", "step", 1}, f.capture(s, "r1").Commit)
	defer w.Close()
	f.mkdir(w.Root + "/app")
	f.git(w.Root+"/app", "init", "-q")
	f.git(w.Root+"/app", "commit", "-qm", "x", "--allow-empty")
	if _, err := w.Collect(t.Context(), "work"); err == nil || !strings.Contains(err.Error(), "app: remove its .git") {
		t.Errorf("error %v", err)
	}
}

func TestCancelledCapture(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Capture(ctx, "r1", nil); err != context.Canceled {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(f.state, "temp")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
