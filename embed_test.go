package hocket_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program in docs/howto/embed.md builds, runs and stays short.
func TestEmbeddingProgram(t *testing.T) {
	page, err := os.ReadFile("docs/howto/embed.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```go\n")
	program, _, found := strings.Cut(rest, "```\n")
	_, body, ok := strings.Cut(program, "func main() {\n")
	if !found || !ok {
		t.Fatal("docs/howto/embed.md has no program")
	}
	body, _, _ = strings.Cut(body, "\n}\n")
	if n := strings.Count(body, "\n") + 1; n > 20 {
		t.Errorf("main has %d lines; embedding takes at most 20", n)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "main.go"), program)
	writeFile(t, filepath.Join(dir, "greet.yml"), "name: greet\nsteps:\n  - {id: hello, agent: shout, prompt: 'hello ${who}'}\n")
	binary := filepath.Join(dir, "embed")
	if out, err := exec.Command("go", "build", "-o", binary, filepath.Join(dir, "main.go")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(binary)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "step_ended hello HELLO WORLD") {
		t.Errorf("%v\n%s", err, out)
	}
}
