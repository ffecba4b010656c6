package plantuml_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/syntax/plantuml"
)

// verdict is what the real PlantUML says about a file.
type verdict struct {
	File  string `json:"file"`
	OK    bool   `json:"ok"`
	Type  string `json:"type"`
	Line  int    `json:"line"`
	Error string `json:"error"`
}

// ask has the real PlantUML read files, in one of its versions.
func ask(t *testing.T, version string, files []string) []verdict {
	t.Helper()
	home := os.Getenv("HOCKET_ORACLES")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			t.Skip(err)
		}
		home = filepath.Join(user, ".cache", "hocket-oracles")
	}
	tool := filepath.Join(home, "puml-check")
	if _, err := os.Stat(tool); err != nil {
		t.Skip("the real PlantUML is not here")
	}
	list := filepath.Join(t.TempDir(), "list")
	var names bytes.Buffer
	for _, f := range files {
		fmt.Fprintln(&names, f)
	}
	if err := os.WriteFile(list, names.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "--json", "@"+list)
	cmd.Env = append(os.Environ(), "PUML_VERSION="+version)
	out, err := cmd.Output()
	if len(out) == 0 {
		t.Fatalf("PlantUML said nothing: %v", err)
	}
	var verdicts []verdict
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v verdict
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

var versions = []string{"1.2024.7", "1.2026.8"}

// The real PlantUML takes whatever is written, as an activity diagram.
func TestPlantUMLTakesWhatIsWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PlantUML")
	}
	dir := t.TempDir()
	var files []string
	for i := range 40 {
		text, err := plantuml.Format(modelgen.Workflow().Example(i))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, fmt.Sprintf("%d.puml", i))
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for _, version := range versions {
		verdicts := ask(t, version, files)
		if len(verdicts) != len(files) {
			t.Errorf("%s: %d verdicts about %d files", version, len(verdicts), len(files))
		}
		for _, v := range verdicts {
			if !v.OK || v.Type != "ActivityDiagram3" {
				t.Errorf("%s refuses %s: line %d: %s", version, v.File, v.Line, v.Error)
			}
		}
	}
}
