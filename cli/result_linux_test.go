package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// In a terminal, the JSON of a run is indented as one object, although it is written step
// by step.
func TestRunAsJSONInATerminal(t *testing.T) {
	dir := t.TempDir()
	text := "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, one]}}\n  - {id: b, agent: shell, config: {command: [echo, two]}}\n"
	if err := os.WriteFile(filepath.Join(dir, "w.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startConsole(t, dir, 40, 200, "run", "w.yml", "--json", "-q")
	if code := c.exit(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, c.see())
	}
	printed := strings.TrimSpace(strings.ReplaceAll(c.raw.String(), "\r\n", "\n"))
	var want bytes.Buffer
	if err := json.Indent(&want, []byte(printed), "", "  "); err != nil || want.String() != printed || !strings.Contains(printed, `"two"`) {
		t.Errorf("it is not indented as JSON is: %v\n%s", err, printed)
	}
}
