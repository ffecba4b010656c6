package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What an agent wrote into a file cannot control the terminal in which its diff is shown. In a pipe, it is unchanged.
func TestDiffInATerminal(t *testing.T) {
	dir := t.TempDir()
	const evil = "\x1b]0;OWNED\a\x1b[2J\rhidden\u202etext\xc2\x9b31m caf\xe9"
	for name, text := range map[string]string{
		"evil.txt": evil + "\n", ".gitignore": ".state/\n",
		"w.yml": "name: w\nsteps:\n  - {id: a, agent: shell, workspace: own, config: {command: cp evil.txt copy.txt}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asHocket+"=1", "XDG_STATE_HOME="+dir+"/.state", "GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("git", "init", "-q")
	run("git", "add", "-A")
	run("git", "commit", "-qm", "first")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`w-[a-z0-9]{4}`).FindString(run(self, "run", "w.yml"))
	if got := run(self, "diff", id); !strings.Contains(got, "\n+"+evil+"\n") {
		t.Errorf("the diff in a pipe: %q", got)
	}
	c := startConsole(t, dir, 30, 200, "diff", id)
	const want = `+\x1b]0;OWNED\a\x1b[2J\rhidden\u202etext\u009b31m caf\xe9`
	if code := c.exit(); code != 0 || !strings.Contains(c.see(), want) || strings.Contains(c.see(), "strange sequence") {
		t.Errorf("exit code %d; the screen shows:\n%s", code, c.see())
	}
}
