package markdown_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/syntax/markdown"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

var models = flag.Int("models", 60, "how many random models Mermaid is asked about")

// oracle is the real Mermaid, where it is installed.
func oracle(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HOCKET_ORACLES")
	if home, err := os.UserHomeDir(); dir == "" && err == nil {
		dir = filepath.Join(home, ".cache", "hocket-oracles")
	}
	tool := filepath.Join(dir, "mermaid-check")
	if _, err := os.Stat(tool); err != nil {
		t.Skip("Mermaid is not installed here")
	}
	return tool
}

// Every version of Mermaid reads what Format writes: random models, and the
// examples.
func TestMermaidReadsWhatIsWritten(t *testing.T) {
	tool, dir := oracle(t), t.TempDir()
	var files []string
	add := func(name string, w *workflow.Workflow) {
		text, err := markdown.Format(w)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		file := filepath.Join(dir, name+".md")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for i := range *models {
		add(fmt.Sprintf("model-%d", i), modelgen.Workflow().Example(i))
	}
	examples, err := filepath.Glob("../../examples/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range examples {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, found := yaml.Parse(file, text)
		if found.Errors() {
			t.Fatal(found)
		}
		add(strings.TrimSuffix(filepath.Base(file), ".yml"), w)
	}
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte(strings.Join(files, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"10", "11", "12"} {
		askMermaid(t, tool, version, list, len(files))
	}
}

func askMermaid(t *testing.T, tool, version, list string, count int) {
	t.Helper()
	cmd := exec.Command(tool, "--json", "@"+list)
	cmd.Env = append(os.Environ(), "MERMAID_VERSION="+version)
	out, err := cmd.Output()
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var got struct {
			File, Type, Error string
			Ok                bool
		}
		if json.Unmarshal(lines.Bytes(), &got) != nil {
			t.Fatalf("Mermaid %s says %s", version, lines.Bytes())
		}
		if count--; !got.Ok || got.Type != "flowchart-v2" {
			t.Errorf("Mermaid %s refuses %s: %s %s", version, got.File, got.Type, got.Error)
		}
	}
	if count != 0 {
		t.Errorf("Mermaid %s said nothing about %d files: %v", version, count, err)
	}
}
