package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// twoCalls is a task whose model wants to run two commands at once.
const twoCalls = `Do both. FAKE{"steps":[{"tool":"$shell","cmd":"touch one","calls":[{"tool":"$shell","cmd":"touch two"}]},{"text":"done"}]}`

// birdsDir creates a project whose agent asks before it runs a command.
func birdsDir(t *testing.T) string {
	t.Helper()
	t.Setenv("OWL_KEY", "sk-owl-0123456789")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config.yml":       "providers:\n  birds: {api: anthropic, base_url: \"" + fakemodel.Start(t).URL + "\", key: {env: OWL_KEY}}\n",
		"agents/fixer.yml": "agent: shell\nmodel: birds/owl-1\ndescription: Fixes things.\n",
	} {
		path := filepath.Join(dir, ".hocket", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, ".state"))
	trustDir(t, dir)
	return dir
}

// Two questions of one attempt appear one after the other in the terminal. When the first
// is answered elsewhere, the second appears and takes its own answer.
func TestAgentsAskInATerminal(t *testing.T) {
	for _, mode := range []struct {
		flag          string
		first, second string // how the questions are shown
	}{
		{"--plain=false", "? task@1  (1 more question after this one)", "? task@2"},
		{"--plain", "task@1: May the agent fixer run this command?", "task@2: May the agent fixer run this command?"},
	} {
		dir := birdsDir(t)
		c := startConsole(t, dir, 30, 80, "task", twoCalls, "--agent", "fixer", mode.flag)
		c.until(mode.first)
		other := startConsole(t, dir, 30, 80, "answer", "task-", "task@1", "allow")
		if code := other.exit(); code != 0 {
			t.Fatalf("%s: answer from elsewhere: exit code %d\n%s", mode.flag, code, other.see())
		}
		seen := c.until(mode.second)
		if mode.flag == "--plain" && !strings.Contains(seen, "(no longer open)") {
			t.Errorf("%s: the screen:\n%s", mode.flag, seen)
		}
		c.listens(mode.flag)
		c.press("deny\n")
		if code := c.exit(); code != 0 || !strings.Contains(c.see(), "\ndone\n") {
			t.Errorf("%s: exit code %d, the screen:\n%s", mode.flag, code, c.see())
		}
		made, err := filepath.Glob(filepath.Join(dir, "[ot][nw]*"))
		if err != nil || len(made) != 1 {
			t.Errorf("%s: made %q, %v", mode.flag, made, err)
		}
	}
}

// A command whose question is left unanswered does not run, and the agent continues
// without it.
func TestAgentsAskSomebodyWhoLeaves(t *testing.T) {
	dir := birdsDir(t)
	c := startConsole(t, dir, 30, 80, "task", twoCalls, "--agent", "fixer")
	for _, name := range []string{"? task@1", "? task@2"} {
		c.until(name)
		c.listens("")
		c.press("\x04")
	}
	if code := c.exit(); code != 0 || !strings.Contains(c.see(), "\ndone\n") {
		t.Errorf("exit code %d, the screen:\n%s", code, c.see())
	}
	if made, err := filepath.Glob(filepath.Join(dir, "[ot][nw]*")); err != nil || len(made) != 0 {
		t.Errorf("made %q, %v", made, err)
	}
}

// A command is shown completely before it can be approved, in a terminal of any size.
func TestPermissionsShowAllOfACommand(t *testing.T) {
	dir := birdsDir(t)
	hidden := "git status --short && echo all of this is fine and harmless" + strings.Repeat(" ", 260) + "; touch hidden # and this is the end"
	prompt := `FAKE{"steps":[{"tool":"$shell","cmd":"` + hidden + `"},{"text":"done"}]}`
	for _, mode := range []struct {
		flag       string
		rows, cols int
		more, key  string // the prompt before everything has been shown, and the key that continues
	}{
		{"--plain=false", 24, 80, "", ""},
		{"--plain", 24, 80, "", ""},
		{"--plain=false", 12, 30, "press space for more", " "},
		{"--plain", 8, 30, "press enter for more", "\n"},
	} {
		c := startConsole(t, dir, mode.rows, mode.cols, "task", prompt, "--agent", "fixer", mode.flag)
		if mode.more != "" {
			c.until(mode.more)
			if mode.key == " " {
				c.press("1")
				c.until("read it to the end first")
			}
		}
		for mode.more != "" && !strings.Contains(c.see(), "2 deny") && !strings.Contains(c.see(), "2) deny") {
			c.press(mode.key)
			time.Sleep(50 * time.Millisecond)
		}
		seen := strings.ReplaceAll(c.until("deny"), "│", "")
		all := strings.Join(strings.Fields(seen), "") // a row may end inside of a word, and the next one is indented
		if !strings.Contains(all, "harmless<260spaces>;") || !strings.Contains(all, "touchhidden#andthisistheend") {
			t.Errorf("%s, %d columns: the screen:\n%s", mode.flag, mode.cols, seen)
		}
		if mode.cols == 80 || mode.flag == "--plain" {
			c.listens(mode.flag)
		}
		c.press("deny\n")
		if code := c.exit(); code != 0 {
			t.Errorf("%s, %d columns: exit code %d, the screen:\n%s", mode.flag, mode.cols, code, c.see())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "hidden")); err == nil {
		t.Error("the command was run")
	}
}
