package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// proposedProject returns a directory with a project in which a model wrote a workflow.
func proposedProject(t *testing.T) (dir, project string) {
	t.Helper()
	dir = t.TempDir()
	project = filepath.Join(dir, "project")
	for name, text := range map[string]string{
		"origin.yml": "kind: workflow\nname: hello\nby: a-model\nat: 2026-01-02T03:04:05Z\ngoal: Say hello\n",
		"hello.yml":  "name: hello\nsteps: [{id: greet, agent: shell, config: {command: echo hello}}]\n",
	} {
		file := filepath.Join(project, ".hocket", "generated", "hello", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, project
}

var typedDigest = regexp.MustCompile(`with the digest\s*sha256:[0-9a-f]{58}([0-9a-f]{6})`)

// approve answers the question about a definition with the end of its digest, as a function
// changes it.
func (c *console) approve(change func(end string) string) {
	c.t.Helper()
	seen := ""
	c.wait("the digest", func() bool {
		seen = strings.ReplaceAll(c.screen.String(), "\n", "")
		return typedDigest.MatchString(seen) && strings.HasSuffix(strings.TrimSpace(seen), ">")
	})
	c.press(change(typedDigest.FindStringSubmatch(seen)[1]) + "\r")
}

func same(end string) string { return end }

func TestApproveInATerminal(t *testing.T) {
	dir, project := proposedProject(t)
	c := startConsole(t, dir, 60, 120, "-C", project, "approve", "hello", "--diff")
	c.until("nobody has approved hello before")
	c.exit()
	c = startConsole(t, dir, 60, 120, "-C", project, "approve", "hello")
	c.until("echo hello")
	c.approve(func(end string) string { return "yes" })
	c.wait("the second try", func() bool {
		seen := c.screen.String()
		return strings.Contains(seen, "That is not the end of the digest") && strings.HasSuffix(strings.TrimSpace(seen), ">")
	})
	c.press("no\r")
	c.until("not approved; to do it later")
	if code := c.exit(); code != 1 {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	c = startConsole(t, dir, 60, 120, "-C", project, "run", "hello")
	c.until("echo hello") // the review
	c.approve(same)
	if code := c.exit(); code != 0 || !strings.Contains(c.see(), "hello") {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	c = startConsole(t, dir, 60, 120, "-C", project, "approve", "hello")
	c.until("was approved by tester")
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	c = startConsole(t, dir, 60, 120, "-C", project, "approve", "hello", "--diff")
	c.until("nothing has changed since tester approved it")
	c.exit()
	// What a person saw is what counts: the file changes while the question is open.
	file := filepath.Join(project, ".hocket/generated/hello/hello.yml")
	change := func(old, now string) {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte(strings.Replace(string(text), old, now, 1)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change("echo hello", "echo bye")
	c = startConsole(t, dir, 60, 120, "-C", project, "approve", "hello")
	c.until("All else")
	if changed, whole, _ := strings.Cut(c.see(), "All else"); !strings.Contains(changed, "+    setting command = \"echo bye\"") || whole == "" {
		t.Errorf("the differences are not first:\n%s", c.see())
	}
	change("echo bye", "touch stolen")
	c.approve(same)
	c.until("has changed")
	if code := c.exit(); code != 2 {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	// Who sees that it was rejected before can still promote it.
	if err := os.CopyFS(filepath.Join(dir, "before"), os.DirFS(filepath.Dir(file))); err != nil {
		t.Fatal(err)
	}
	c = startConsole(t, dir, 60, 120, "-C", project, "approve", "hello", "--reject", "--yes")
	c.until("rejected hello")
	c.exit()
	if err := os.CopyFS(filepath.Dir(file), os.DirFS(filepath.Join(dir, "before"))); err != nil {
		t.Fatal(err)
	}
	c = startConsole(t, dir, 60, 120, "-C", project, "approve", "hello", "--promote")
	c.approve(same)
	c.until("promoted to")
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	if text, err := os.ReadFile(filepath.Join(project, ".hocket/workflows/hello.yml")); err != nil || !strings.Contains(string(text), "touch stolen") {
		t.Errorf("%s %v", text, err)
	}
}

// Ctrl-C at the question whether to edit settings is an interruption, and changes nothing.
func TestInterruptedInstall(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	c := startConsole(t, dir, 40, 120, "mcp", "install", "--for", "cursor")
	c.until("Change ")
	c.press("\x03")
	if code := c.exit(); code != 130 {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	if _, err := os.Stat(filepath.Join(dir, ".cursor", "mcp.json")); err == nil {
		t.Error("the settings were edited")
	}
}
