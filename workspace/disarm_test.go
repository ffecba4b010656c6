package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestKeptDirectoriesAreHarmless has an agent that leaves what cannot be recorded, so that a person looks at it. No git
// command of the person may run a program of the agent.
func TestKeptDirectoriesAreHarmless(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	f.write(program, "#!/bin/sh\necho $0 >> '"+ran+"'\n")
	f.no(os.Chmod(program, 0o755))
	armed := func(gitDir string) {
		f.git(gitDir, "config", "core.fsmonitor", program)
		f.git(gitDir, "config", "core.hooksPath", "hooks")
		f.write(filepath.Join(gitDir, "hooks", "pre-commit"), f.read(program))
		f.no(os.Chmod(filepath.Join(gitDir, "hooks", "pre-commit"), 0o755))
	}
	bare := func(root string) {
		f.git(root, "init", "-q", "--bare", ".")
		f.git(root, "--git-dir=.", "config", "core.fsmonitor", program)
		f.git(root, "--git-dir=.", "config", "core.bare", "false")
		f.git(root, "--git-dir=.", "config", "core.worktree", ".")
	}
	for name, arm := range map[string]func(root string){
		"config": func(root string) { armed(filepath.Join(root, ".git")) },
		"hooks": func(root string) {
			armed(filepath.Join(root, ".git"))
			f.git(root, "config", "--unset", "core.fsmonitor")
			f.git(root, "config", "--unset", "core.hooksPath")
		},
		"common directory": func(root string) {
			elsewhere := t.TempDir()
			f.git(elsewhere, "init", "-q", "--bare")
			armed(elsewhere)
			f.write(filepath.Join(root, ".git", "commondir"), elsewhere+"\n")
		},
		"another repository": func(root string) {
			elsewhere := filepath.Join(t.TempDir(), "git")
			f.no(os.Rename(filepath.Join(root, ".git"), elsewhere))
			armed(elsewhere)
			f.write(filepath.Join(root, ".git"), "gitdir: "+elsewhere+"\n")
		},
		"link to a repository": func(root string) {
			elsewhere := filepath.Join(t.TempDir(), "git")
			f.no(os.Rename(filepath.Join(root, ".git"), elsewhere))
			armed(elsewhere)
			f.no(os.Symlink(elsewhere, filepath.Join(root, ".git")))
		},
		"bare repository, no .git": func(root string) {
			bare(root)
			f.no(os.RemoveAll(filepath.Join(root, ".git")))
		},
		"bare repository, no HEAD": func(root string) {
			bare(root)
			f.no(os.Remove(filepath.Join(root, ".git", "HEAD")))
		},
		"bare repository, wrong HEAD": func(root string) {
			bare(root)
			f.write(filepath.Join(root, ".git", "HEAD"), " ref: refs/heads/hocket\n")
		},
		"bare repository, no refs": func(root string) {
			bare(root)
			f.no(os.RemoveAll(filepath.Join(root, ".git", "refs")))
		},
		"bare repository, objects elsewhere": func(root string) {
			bare(root)
			f.no(os.RemoveAll(filepath.Join(root, ".git", "objects")))
			f.no(os.Symlink("nowhere", filepath.Join(root, ".git", "objects")))
		},
		"bare repository, closed directories": func(root string) {
			bare(root)
			f.no(os.Chmod(filepath.Join(root, ".git", "refs"), 0))
			f.no(os.Chmod(filepath.Join(root, ".git"), 0))
			f.no(os.Chmod(root, 0o500))
		},
		"remote in a file": func(root string) {
			f.write(filepath.Join(root, ".git", "remotes", "origin"), "URL: .git/evil\nPush: HEAD:refs/heads/x\n")
			f.git(root, "init", "-q", "--bare", ".git/evil")
			f.write(filepath.Join(root, ".git", "evil", "hooks", "pre-receive"), f.read(program))
			f.no(os.Chmod(filepath.Join(root, ".git", "evil", "hooks", "pre-receive"), 0o755))
			armed(filepath.Join(root, ".git"))
		},
		"remote in the oldest file": func(root string) {
			f.write(filepath.Join(root, ".git", "branches", "origin"), ".git/evil#hocket\n")
			f.git(root, "init", "-q", "--bare", ".git/evil")
			f.write(filepath.Join(root, ".git", "evil", "hooks", "pre-receive"), f.read(program))
			f.no(os.Chmod(filepath.Join(root, ".git", "evil", "hooks", "pre-receive"), 0o755))
			armed(filepath.Join(root, ".git"))
		},
		"info is a file": func(root string) {
			f.no(os.RemoveAll(filepath.Join(root, ".git", "info")))
			f.write(filepath.Join(root, ".git", "info"), "x")
			armed(filepath.Join(root, ".git"))
		},
		"rebase": func(root string) {
			f.git(root, "commit", "-qm", "x", "--allow-empty")
			_, _ = run(root, "rebase", "-q", "--exec", "false", "HEAD~1")
			f.write(filepath.Join(root, ".git", "rebase-merge", "git-rebase-todo"), "exec "+program+"\n")
			armed(filepath.Join(root, ".git"))
		},
		"submodule": func(root string) {
			inner := filepath.Join(root, "inner")
			f.mkdir(inner)
			f.git(inner, "init", "-q")
			f.git(inner, "commit", "-qm", "x", "--allow-empty")
			f.git(root, "add", "inner")
			armed(filepath.Join(inner, ".git"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
			f.write(filepath.Join(w.Root, "nested", "x"), "x")
			f.git(filepath.Join(w.Root, "nested"), "init", "-q")
			f.git(filepath.Join(w.Root, "nested"), "add", "-A")
			f.git(filepath.Join(w.Root, "nested"), "commit", "-qm", "x")
			arm(w.Root)
			if _, err := w.Collect(t.Context(), "work"); err == nil {
				t.Error("it was recorded")
			}
			_, _ = run(w.Root, "status")
			_, _ = run(w.Root, "--git-dir=.", "status")
			_, _ = run(w.Root, "commit", "-qm", "x", "--allow-empty")
			if err := os.Remove(ran); err != nil {
				t.Error("the directory is harmless anyway:", err)
			}
			f.no(w.Close())
			next := f.checkout(s, Attempt{"r1", name, 2}, b.Commit)
			defer next.Close()
			left := next.LeftIn
			for _, args := range [][]string{{"status"}, {"diff"}, {"add", "-A"}, {"commit", "-qm", "mine", "--allow-empty"}, {"rebase", "--continue"}, {"push"}} {
				_, _ = run(left, args...)
			}
			if out, err := run(left, "rev-parse", "HEAD", "--absolute-git-dir"); err != nil || !strings.HasSuffix(out, "/.git") {
				t.Errorf("git in the directory: %s %v", out, err)
			}
			if text, err := os.ReadFile(ran); err == nil {
				t.Errorf("programs of the agent ran:\n%s", text)
				f.no(os.Remove(ran))
			}
			if !strings.Contains(f.read(left, "nested", "x"), "x") {
				t.Error("files were lost")
			}
		})
	}
}

// TestLinksInAGitDirectory has an agent that connects its repository with that of the user. What a person does in the directory when the
// attempt has ended must not change the user's.
func TestLinksInAGitDirectory(t *testing.T) {
	f := newFixture(t)
	f.git(f.repo, "branch", "feature")
	s := f.open()
	b := f.capture(s, "r1")
	users := filepath.Join(f.repo, ".git")
	for _, name := range []string{"refs/heads", "refs/heads/main", "logs", "packed-refs", "HEAD", "COMMIT_EDITMSG", "objects/pack", "description"} {
		w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
		link := filepath.Join(w.Root, ".git", filepath.FromSlash(name))
		f.no(os.RemoveAll(link))
		f.no(os.Symlink(filepath.Join(users, filepath.FromSlash(name)), link))
		if name != "HEAD" {
			f.write(filepath.Join(w.Root, ".git", "HEAD"), "ref: refs/heads/main\n")
		}
		f.write(filepath.Join(w.Root, "a.txt"), "changed\n")
		c := f.collect(w)
		was := listing(t, users)
		f.git(w.Root, "commit", "-qam", "mine")
		_, _ = run(w.Root, "branch", "-D", "feature")
		same(t, name, was, listing(t, users))
		f.has(s, c, "a.txt", "changed\n")
		if info, err := os.Lstat(filepath.Join(w.home, "git"+byAgent, filepath.FromSlash(name))); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s: what the agent had was lost: %v", name, err)
		}
	}
}

// TestReplacedGitIsNoWork has an agent that damages its repository. What is kept of that is recorded nowhere, however often the directory is
// looked at.
func TestReplacedGitIsNoWork(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	a := Attempt{"r1", "step", 1}
	w := f.checkout(s, a, b.Commit)
	f.no(os.Remove(filepath.Join(w.Root, ".git", "HEAD")))
	f.write(filepath.Join(w.Root, ".git", "secret"), "secret\n")
	f.write(filepath.Join(w.Root, "a.txt"), "changed\n")
	c := f.collect(w)
	f.write(filepath.Join(w.Root, "dir", "b.txt"), "changed by a person\n")
	f.no(s.Clean(t.Context(), func(Info) bool { return true }))
	_, last, err := s.Collected(t.Context(), a)
	f.no(err)
	if names, err := s.git.out(t.Context(), "diff", "--name-only", c, last); err != nil || names != "dir/b.txt" {
		t.Errorf("recorded: %s, %v", names, err)
	}
}

// TestAgentsWithManyGitFiles has more files in .git than are looked at.
func TestAgentsWithManyGitFiles(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	defer func(was int) { maxGitFiles = was }(maxGitFiles)
	maxGitFiles = 100
	for name, files := range map[string]int{"few": 20, "many": 100} {
		w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
		for i := range files {
			f.write(filepath.Join(w.Root, ".git", "x", strconv.Itoa(i)), "")
		}
		f.collect(w)
		if _, err := os.Lstat(filepath.Join(w.home, "git"+byAgent)); (err == nil) != (name == "many") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConfigurationHasAnOrder has a workspace in which a person looks, and which the next process cleans: the configuration is still
// ours, so nothing is put aside.
func TestConfigurationHasAnOrder(t *testing.T) {
	f := newFixture(t)
	for _, key := range []string{"core.autocrlf", "core.ignorecase", "core.precomposeunicode", "core.longpaths", "core.protecthfs"} {
		f.git(f.repo, "config", key, "false")
	}
	want := f.open().tree.settings
	for range 20 {
		if got := f.open().tree.settings; !slices.Equal(got, want) {
			t.Fatalf("settings %v, then %v", want, got)
		}
	}
}

// TestReplacedObjects has an agent that replaces its commit by another one for everybody who looks at it, and for us.
func TestReplacedObjects(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	for _, packed := range []bool{false, true} {
		w := f.checkout(s, Attempt{"r1", "step " + strconv.FormatBool(packed), 1}, b.Commit)
		f.write(filepath.Join(w.Root, "a.txt"), "evil\n")
		f.git(w.Root, "commit", "-qam", "evil")
		evil := f.git(w.Root, "rev-parse", "HEAD")
		f.write(filepath.Join(w.Root, "a.txt"), "harmless\n")
		f.git(w.Root, "commit", "-q", "--amend", "-am", "harmless")
		f.git(w.Root, "replace", evil, f.git(w.Root, "rev-parse", "HEAD"))
		f.git(w.Root, "replace", f.git(w.Root, "rev-parse", evil+"^{tree}"), b.Commit+"^{tree}", "-f")
		f.git(w.Root, "update-ref", "refs/heads/"+branchName, evil)
		f.git(w.Root, "config", "core.useReplaceRefs", "true")
		f.write(filepath.Join(w.Root, "a.txt"), "evil\n")
		if packed {
			f.git(w.Root, "pack-refs", "--all")
		}
		f.has(s, f.collect(w), "a.txt", "evil")
		if got := f.git(w.Root, "log", "-1", "--format=%s"); got != "evil" {
			t.Errorf("git shows the commit %q", got)
		}
		if got := f.git(w.Root, "show", "HEAD:a.txt"); got != "evil" {
			t.Errorf("git shows the file %q", got)
		}
	}
}

// TestHardLinksInAGitDirectory has an agent that gives a file of the user a second name in its repository, where git writes into it. Objects
// may have several names: git clone makes them, and git does not write into them.
func TestHardLinksInAGitDirectory(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	mine := filepath.Join(t.TempDir(), "mine")
	for _, name := range []string{"logs/HEAD", "COMMIT_EDITMSG", "FETCH_HEAD", "description"} {
		f.write(mine, "")
		w := f.checkout(s, Attempt{"r1", name, 1}, b.Commit)
		link := filepath.Join(w.Root, ".git", filepath.FromSlash(name))
		_ = os.Remove(link)
		f.mkdir(filepath.Dir(link))
		if err := os.Link(mine, link); err != nil {
			t.Skip(err)
		}
		f.write(filepath.Join(w.Root, "a.txt"), "changed\n")
		f.has(s, f.collect(w), "a.txt", "changed")
		f.git(w.Root, "commit", "-qam", "mine")
		f.git(w.Root, "fetch", "-q", ".")
		if got := f.read(mine); got != "" {
			t.Errorf("%s: git wrote %q into another file", name, got)
		}
	}
	w := f.checkout(s, Attempt{"r1", "clone", 1}, b.Commit)
	f.write(filepath.Join(w.Root, "a.txt"), "changed\n")
	f.git(w.Root, "commit", "-qam", "mine")
	f.git(w.Root, "clone", "-q", ".", t.TempDir())
	f.collect(w)
	if _, err := os.Lstat(filepath.Join(w.home, "git"+byAgent)); err == nil {
		t.Error("a repository that was cloned is replaced")
	}
}

// TestLocksOfAnAgent has an agent that leaves lock files of git. A person who opens the directory can use git there. Those of the person stay.
func TestLocksOfAnAgent(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	a := Attempt{"r1", "step", 1}
	w := f.checkout(s, a, b.Commit)
	f.git(w.Root, "pack-refs", "--all")
	f.git(w.Root, "branch", "another")
	for _, name := range []string{"HEAD", "index", "config", "packed-refs", "refs/heads/hocket", "refs/heads/another"} {
		f.write(filepath.Join(w.Root, ".git", filepath.FromSlash(name)+".lock"), "")
	}
	f.mkdir(filepath.Join(w.Root, ".git", "ORIG_HEAD.lock"))
	f.no(w.Close())
	f.write(filepath.Join(w.Root, "a.txt"), "resolved\n")
	f.git(w.Root, "commit", "-qam", "resolved")
	f.git(w.Root, "reset", "-q", "HEAD~1")
	f.git(w.Root, "checkout", "-q", "another")
	f.git(w.Root, "branch", "-D", "hocket")
	f.git(w.Root, "config", "user.name", "Ada")
	mine := filepath.Join(w.Root, ".git", "index.lock") // a command of the person waits for an editor
	f.write(mine, "")
	w, err := s.Reopen(a, b.Commit)
	f.no(err)
	f.collect(w)
	if _, err := os.Lstat(mine); err != nil {
		t.Error(err)
	}
}

// TestDisarmedAsFarAsPossible has an agent that makes a part of it impossible. What lets programs run is set aside anyway, and Close says
// what is left.
func TestDisarmedAsFarAsPossible(t *testing.T) {
	for name, prevent := range map[string]func(f *fixture, w *Workspace){
		"no index": func(f *fixture, w *Workspace) { f.write(filepath.Join(w.home, "index"), "garbage") },
		"no attributes": func(f *fixture, w *Workspace) {
			f.no(os.RemoveAll(filepath.Join(w.Root, ".git", "info")))
			f.no(os.Symlink(f.repo, filepath.Join(w.Root, ".git", "info")))
			f.no(os.RemoveAll(filepath.Join(f.state, "temp")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s := f.open()
			b := f.capture(s, "r1")
			w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
			y := f.spy()
			f.arm(filepath.Join(w.Root, ".git"), y)
			prevent(f, w)
			if err := w.Close(); err == nil {
				t.Error("Close says nothing")
			}
			_, _ = run(w.Root, "status")
			_, _ = run(w.Root, "commit", "-qm", "mine", "--allow-empty")
			f.check("git in the directory", y)
			f.no(os.MkdirAll(filepath.Join(f.state, "temp"), 0o700))
		})
	}
}
