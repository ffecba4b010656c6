package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The real Mermaid and PlantUML, in the versions in common use, accept the diagrams of
// the scenarios: both the handwritten ones and those converted from the other notations.
func TestRealToolsTakeTheDiagrams(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long to start the real tools")
	}
	tools := os.Getenv("HOCKET_ORACLES")
	if home, err := os.UserHomeDir(); tools == "" && err == nil {
		tools = filepath.Join(home, ".cache", "hocket-oracles")
	}
	if _, err := os.Stat(tools); err != nil {
		t.Skip("the real tools are not here")
	}
	flowcharts, activities := diagrams(t, "flow.md", "mermaid"), diagrams(t, "flow.puml", "plantuml")
	for _, version := range []string{"10", "11", "12"} {
		t.Run("Mermaid "+version, func(t *testing.T) {
			t.Parallel()
			ask(t, filepath.Join(tools, "mermaid-check"), "MERMAID_VERSION="+version, "flowchart-v2", flowcharts)
		})
	}
	for _, version := range []string{"1.2024.7", "1.2026.8"} {
		t.Run("PlantUML "+version, func(t *testing.T) {
			t.Parallel()
			ask(t, filepath.Join(tools, "puml-check"), "PUML_VERSION="+version, "ActivityDiagram3", activities)
		})
	}
}

// diagrams returns the files of all scenarios in one notation, without duplicates.
func diagrams(t *testing.T, own, notation string) []string {
	var files []string
	seen := map[string]bool{}
	for _, file := range scenarios(t) {
		s := newScenario(t, file)
		names := []string{own}
		for _, name := range written {
			to := converted(name, notation)
			if code, _, errs := s.hocket("convert", name, "--to", notation, "-o", to); code != 0 {
				t.Fatalf("%s: %s to %s: %s", file, name, notation, errs)
			}
			names = append(names, to)
		}
		for _, name := range names {
			path := filepath.Join(s.dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !seen[string(text)] {
				seen[string(text)] = true
				files = append(files, path)
			}
		}
	}
	return files
}

// ask runs a tool on all files at once, since it is slow to start.
func ask(t *testing.T, tool, version, kind string, files []string) {
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte(strings.Join(files, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "--json", "@"+list)
	cmd.Env = append(os.Environ(), version)
	out, err := cmd.Output()
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	taken := 0
	for lines.Scan() {
		var said struct {
			File, Type, Error string
			OK                bool
		}
		if err := json.Unmarshal(lines.Bytes(), &said); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if said.OK && said.Type == kind {
			taken++
			continue
		}
		text, _ := os.ReadFile(said.File)
		t.Errorf("%s: %s %s\n%s", said.File, said.Type, said.Error, text)
	}
	if taken != len(files) {
		t.Errorf("%d of %d files are taken: %v", taken, len(files), err)
	}
}
