package sametest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// About is what the lines above the first file of a scenario say about it.
type About struct {
	// Repository means that each run is in a git repository of its own, with one commit. The file "left" is what is
	// in the repository in the end.
	Repository bool
	Answers    []Answer // each given when the run waits
}

// Answer is what a person answers to the open question at an address.
type Answer struct{ Address, Value string }

// Read reads the lines that begin with "repository:", which has no value, and "answer:", an address and a value. A
// scenario with workspaces is skipped without git.
func Read(t *testing.T, archive *txtar.Archive) (about About) {
	t.Helper()
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "repository":
			about.Repository = true
		case "answer":
			address, value, ok := strings.Cut(strings.TrimSpace(value), " ")
			if !ok {
				t.Fatalf("an answer has an address and a value: %s", line)
			}
			about.Answers = append(about.Answers, Answer{address, value})
		}
	}
	for _, f := range archive.Files {
		if f.Name == "flow.yml" && strings.Contains(string(f.Data), "workspace: own") {
			if _, err := exec.LookPath("git"); err != nil {
				t.Skip("workspaces need git")
			}
		}
	}
	return about
}

// Repository makes a directory a git repository, in which its files are committed.
func Repository(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(dir, ".git", "info", "exclude"), []byte(".state\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "First")
	git(t, dir, "tag", "first")
}

// Left returns what has changed in a repository since its first commit: the subject and the changed lines of each
// branch, and the changed lines that are not committed.
func Left(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for branch := range strings.Lines(git(t, dir, "branch", "--format=%(refname:short)")) {
		branch = strings.TrimSpace(branch)
		b.WriteString(branch + ": " + git(t, dir, "log", "-1", "--format=%s", branch))
		b.WriteString(lines(git(t, dir, "diff", "-U0", "first", branch)))
	}
	git(t, dir, "add", "-A")
	if changes := lines(git(t, dir, "diff", "-U0", "--cached", "HEAD")); changes != "" {
		b.WriteString("not committed:\n" + changes)
	}
	return b.String()
}

// lines returns the names and the changed lines of a diff.
func lines(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "+++ ") || !strings.HasPrefix(line, "---") && (line[0] == '+' || line[0] == '-') {
			b.WriteString("  " + line)
		}
	}
	return b.String()
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.autocrlf=false", "-c", "user.name=ada", "-c", "user.email=ada@example.com"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

var (
	commitID = regexp.MustCompile(`\b(?:[0-9a-f]{40}|[0-9a-f]{12})\b`)
	onWorker = regexp.MustCompile(` on worker [^\s"]+`)
)

// Masked replaces the ids of commits in a trace, which differ from run to run, and removes on which worker something has landed.
func Masked(trace string) string {
	return onWorker.ReplaceAllString(commitID.ReplaceAllString(trace, "COMMIT"), "")
}
