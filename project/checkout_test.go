package project_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hocket-dev/hocket/project"
)

// git runs git in a directory, with no configuration but the repository's.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// committed returns a repository with files.
func committed(t *testing.T, files map[string]string, format string) string {
	t.Helper()
	dir := write(t, files)
	git(t, dir, "init", "-q", "--object-format="+format)
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func TestFilesOf(t *testing.T) {
	unchanged, changed := regexp.MustCompile(`^commit [0-9a-f]{12}$`), regexp.MustCompile(`^commit [0-9a-f]{12} with changes [0-9a-f]{12}$`)
	for _, format := range []string{"sha1", "sha256"} {
		origin := committed(t, map[string]string{"a.txt": "a", "sub/b.txt": "b", "c.txt": "c", ".gitignore": "*.log\n"}, format)
		if err := os.Chmod(filepath.Join(origin, "c.txt"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("a.txt", filepath.Join(origin, "link")); err != nil {
			t.Fatal(err)
		}
		git(t, origin, "add", "-A")
		git(t, origin, "commit", "-q", "-m", "second")
		clone := func() string {
			dir := t.TempDir()
			git(t, dir, "clone", "-q", origin, ".")
			return dir
		}
		plain := filesOf(t, origin)
		if !unchanged.MatchString(plain) || filesOf(t, clone()) != plain {
			t.Errorf("%s: %q, and in a clone %q", format, plain, filesOf(t, clone()))
		}
		seen := map[string]string{}
		for name, change := range map[string]func(dir string) error{
			"changed":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.txt"), []byte("b"), 0o644) },
			"untracked": func(dir string) error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o644) },
			"deleted":   func(dir string) error { return os.Remove(filepath.Join(dir, "sub/b.txt")) },
			"mode":      func(dir string) error { return os.Chmod(filepath.Join(dir, "a.txt"), 0o755) },
			"target": func(dir string) error {
				file := filepath.Join(dir, "link")
				if err := os.Remove(file); err != nil {
					return err
				}
				return os.Symlink("c.txt", file)
			},
		} {
			one, two := clone(), clone()
			if err := change(one); err != nil {
				t.Fatal(err)
			}
			if err := change(two); err != nil {
				t.Fatal(err)
			}
			git(t, two, "add", "-A") // which changes no file
			got := filesOf(t, one)
			if !changed.MatchString(got) || got[:len(plain)] != plain || filesOf(t, two) != got {
				t.Errorf("%s, %s: %q, and elsewhere %q", format, name, got, filesOf(t, two))
			}
			if _, changed, err := project.FilesOf(t.Context(), one); err != nil || len(changed) != 1 {
				t.Errorf("%s, %s: %v, %v", format, name, changed, err)
			}
			if other, ok := seen[got]; ok {
				t.Errorf("%s: %s and %s are both %q", format, name, other, got)
			}
			seen[got] = name
		}
		dir := clone()
		if err := os.WriteFile(filepath.Join(dir, "ignored.log"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := filesOf(t, dir); got != plain {
			t.Errorf("%s, with an ignored file: %q", format, got)
		}
		if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := filesOf(t, filepath.Join(dir, "sub")); got != plain {
			t.Errorf("%s, in a directory without changes: %q", format, got)
		}
	}
	if got := filesOf(t, t.TempDir()); got != "" {
		t.Errorf("without a repository: %q", got)
	}
}

// A repository in the repository counts with its commit and its changes.
func TestFilesOfSubmodules(t *testing.T) {
	inner, origin := committed(t, map[string]string{"i.txt": "i"}, "sha1"), committed(t, map[string]string{"a.txt": "a"}, "sha1")
	git(t, origin, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "inner")
	git(t, origin, "commit", "-q", "-m", "second")
	plain := filesOf(t, origin)
	clone := t.TempDir()
	git(t, clone, "clone", "-q", origin, ".") // without the inner one
	if got := filesOf(t, clone); len(plain) != len("commit ")+12 || got != plain {
		t.Errorf("%q, and in a clone %q", plain, got)
	}
	if err := os.WriteFile(filepath.Join(origin, "inner", "i.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := filesOf(t, origin); got == plain {
		t.Error("a change in the inner repository does not count")
	}
}

// Nothing in a repository can start a program.
func TestFilesOfStartsNothing(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	touch := "touch " + mark + "; cat"
	hostile := [][]string{
		{"filter.x.clean", touch}, {"filter.x.process", touch}, {"filter.x.smudge", touch}, {"diff.x.textconv", touch}, {"diff.x.command", touch}, {"diff.external", touch},
		{"core.fsmonitor", touch}, {"core.pager", touch}, {"pager.ls-files", touch}, {"alias.ls-files", "!" + touch}, {"core.sshCommand", touch},
		{"core.alternateRefsCommand", touch}, {"credential.helper", "!" + touch},
	}
	set := func(dir string, more ...[]string) {
		for _, c := range append(hostile, more...) {
			git(t, dir, "config", c[0], c[1])
		}
	}
	check := func(name, dir string, known bool) {
		t.Helper()
		if got := filesOf(t, dir); (got != "") != known {
			t.Errorf("%s: %q", name, got)
		}
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("%s: a program ran", name)
			os.Remove(mark)
		}
	}
	files := map[string]string{"a.txt": "a", ".gitattributes": "* filter=x diff=x\n"}
	dir := committed(t, files, "sha1")
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman"} {
		if err := os.WriteFile(filepath.Join(dir, ".git/hooks", hook), []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	set(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("b"), 0o644); err != nil { // so that git would compare it
		t.Fatal(err)
	}
	check("filters", dir, true)

	for _, url := range []string{"ext::sh -c touch% " + mark, "ssh://example.org/x", "file://" + dir} {
		dir := committed(t, files, "sha1")
		objects, err := filepath.Glob(filepath.Join(dir, ".git/objects/??/*"))
		if err != nil {
			t.Fatal(err)
		}
		set(dir, []string{"core.repositoryFormatVersion", "1"}, []string{"extensions.partialClone", "origin"}, []string{"remote.origin.promisor", "true"},
			[]string{"remote.origin.url", url}, []string{"remote.origin.uploadpack", touch}, []string{"protocol.allow", "always"}, []string{"protocol.ext.allow", "always"})
		for _, file := range objects {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		check("missing objects at "+url, dir, false)
	}

	bare := t.TempDir()
	git(t, bare, "clone", "-q", "--bare", dir, ".")
	set(bare, []string{"core.bare", "false"}, []string{"core.worktree", "."})
	if err := os.WriteFile(filepath.Join(bare, "a.txt"), []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("a directory that looks like a repository", bare, false)
}

func filesOf(t *testing.T, dir string) string {
	t.Helper()
	files, _, err := project.FilesOf(t.Context(), dir)
	if err != nil {
		t.Error(err)
	}
	return files
}

// Nobody waits for the files of a large project longer than they want to.
func TestFilesOfStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if files, _, err := project.FilesOf(ctx, "."); files != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", files, err)
	}
}
