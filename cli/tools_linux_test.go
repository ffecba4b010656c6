package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tool that needs approval asks for it in the terminal.
func TestToolAsksInTheTerminal(t *testing.T) {
	for answer, want := range map[string]struct {
		code   int
		called bool
	}{
		"approve\n": {0, true}, "reject\n": {1, false}, "\x04": {1, false}, "\x03": {130, false},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, ".hocket", "tools", "deploy", "tool.yml")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "description: Deploys.\nkind: command\napproval: true\ninputs: {to: string}\npermissions: {fs: {write: [out/]}}\ncommand: [touch, out/deployed]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := startConsole(t, dir, 24, 80, "tools", "run", "deploy", "-i", "to=staging")
		if seen := c.until("Answer with a number or a name."); !strings.Contains(seen, "Call deploy with these inputs?\n\n│ {\"to\":\"staging\"}\n") {
			t.Errorf("the screen:\n%s", seen)
		}
		c.listens("--plain")
		c.press(answer)
		code := c.exit()
		_, err := os.Stat(filepath.Join(dir, "out", "deployed"))
		if code != want.code || (err == nil) != want.called {
			t.Errorf("%q: exit code %d, called %v, the screen:\n%s", answer, code, err == nil, c.see())
		}
	}
}
