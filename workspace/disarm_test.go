package workspace

import (
	"os"
	"path/filepath"
	"slices"
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
			for _, args := range [][]string{{"status"}, {"diff"}, {"add", "-A"}, {"commit", "-qm", "mine", "--allow-empty"}, {"rebase", "--continue"}} {
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
