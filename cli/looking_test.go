package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Commands that only look at a project leave its repository alone: every file and directory in .git, and all files beside it, with their
// times. The repository has what git likes to write about when it only reads: files that seem to have changed, an index of two files, an
// untracked cache, loose objects and untracked files.
func TestLookingLeavesTheRepositoryAlone(t *testing.T) {
	const workflow = `name: w
steps:
  - {id: a, agent: shell, workspace: own, config: {command: "echo 4 >> a.txt"}}
  - {id: bad, agent: shell, workspace: own, error: ship, config: {command: "echo c > c.txt; exit 3"}}
  - {id: ship, land: patch}
`
	for name, where := range map[string]string{"top": ".", "directory": "sub", "linked worktree": "linked"} {
		t.Run(name, func(t *testing.T) {
			dir, run := inRepository(t, map[string]string{"a.txt": "1\n2\n3\n", "w.yml": workflow})
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"a.txt": "1\n", "w.yml": workflow} {
				if err := os.WriteFile(filepath.Join(dir, "sub", name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run("git", "add", "-A")
			run("git", "commit", "-qm", "second")
			run("git", "worktree", "add", "-q", "linked")
			hocket := func(args ...string) string { return run("hocket", append([]string{"-C", where}, args...)...) }
			id := regexp.MustCompile(`w-[a-z0-9]{8}`).FindString(hocket("run", "w.yml"))
			if shown := hocket("show", id); !strings.Contains(shown, "Land this change") {
				t.Fatal(shown)
			}
			for _, setting := range []string{"gc.auto=1", "gc.autoDetach=false", "maintenance.auto=true", "core.untrackedCache=true", "core.splitIndex=true"} {
				key, value, _ := strings.Cut(setting, "=")
				run("git", "config", key, value)
			}
			run("git", "-C", where, "update-index", "--split-index", "--untracked-cache")
			makeOld(t, dir)
			for _, command := range []string{
				"workspace list", "workspace list --json", "diff ID", "diff ID a", "diff ID a --attempt 1", "diff ID bad --attempt 1", "diff ID --json",
				"workspace open ID a", "check w.yml", "check", "plan w.yml", "show ID", "show ID --json", "logs ID", "runs", "graph w.yml", "doctor", "trust",
				"workspace rm ID",
			} {
				before := everything(t, dir)
				if out := hocket(strings.Fields(strings.ReplaceAll(command, "ID", id))...); strings.Contains(out, "unknown") {
					t.Errorf("hocket %s: %s", command, out)
				}
				after := everything(t, dir)
				for name, is := range after {
					if was, found := before[name]; was != is {
						t.Errorf("hocket %s: %s was %.200q (%t), is %.200q", command, name, was, found, is)
					}
				}
				for name := range before {
					if _, found := after[name]; !found {
						t.Errorf("hocket %s: %s is gone", command, name)
					}
				}
			}
		})
	}
}

// makeOld gives all files and directories of a project an old time, which its index does not know.
func makeOld(t *testing.T, root string) {
	t.Helper()
	past := time.Now().Add(-48 * time.Hour)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".state" {
			return fs.SkipDir
		}
		return errors.Join(err, os.Chtimes(path, past, past))
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "untracked.txt"), []byte("mine\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// everything returns what is in a project and its repository, with times, except for the state of Hocket.
func everything(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".state" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte("a directory")
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		all[strings.TrimPrefix(path, root)] = info.Mode().String() + " " + info.ModTime().Format(time.RFC3339Nano) + " " + string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
