// Package tooltest runs the real Mermaid and PlantUML on diagrams, for the tests of the notations.
// `make diagrams` installs both and sets HOCKET_DIAGRAMS. Without it, tests that need the tools are
// skipped, and the notations are compared with the recorded results for the project's own diagrams:
// see Agree.
package tooltest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Tool is one version of a program that draws diagrams.
type Tool struct {
	program string
	Version string
	ending  string // extension of a file with one diagram
	command func(t testing.TB, dir, version string) *exec.Cmd
}

// The versions to run, newest first.
var (
	Mermaid = []Tool{
		{"Mermaid", "12.3.0", ".mmd", mermaid},
		{"Mermaid", "11.12.2", ".mmd", mermaid},
		{"Mermaid", "10.9.1", ".mmd", mermaid},
	}
	PlantUML = []Tool{
		{"PlantUML", "1.2026.8", ".puml", plantuml},
		{"PlantUML", "1.2024.7", ".puml", plantuml},
	}
)

// Reading is the result of reading a diagram with a tool.
type Reading struct {
	File  string
	OK    bool
	Type  string // type of the diagram, as the tool calls it
	Error string

	// Of a flowchart.
	Direction string
	Vertices  []struct{ ID, Text, Shape string }
	Edges     []struct {
		ID, From, To, Text, Type, Stroke string
		UserID                           bool // the author gave the ID
		Length                           int
	}
	Subgraphs []Subgraph

	// Of an activity diagram.
	Title     string
	Swimlanes []map[string]any
	Body      map[string]any
	Unclosed  []string // the blocks that are open at the end
}

// Subgraph is a frame around nodes.
type Subgraph struct {
	ID, Title, Dir string
	Nodes          []string
}

// Accepted reports whether the tool read a flowchart or an activity diagram. A text can also be a
// diagram of another type.
func (r *Reading) Accepted() bool {
	return r.OK && (strings.HasPrefix(r.Type, "flowchart") || r.Type == "ActivityDiagram3")
}

// Read runs the tool on texts with one diagram each.
func (tl Tool) Read(t testing.TB, texts ...string) []Reading {
	t.Helper()
	all := make([]Reading, len(texts))
	for i, readings := range tl.ReadFiles(t, tl.ending, texts...) {
		if len(readings) != 1 {
			t.Fatalf("%s finds %d diagrams in\n%s", tl.Version, len(readings), texts[i])
		}
		all[i] = readings[0]
	}
	return all
}

// ReadFiles runs the tool on files with an extension and the given texts, and returns a reading of
// each diagram in each file. All files are read at once, because the tools are slow to start.
func (tl Tool) ReadFiles(t testing.TB, ending string, texts ...string) [][]Reading {
	t.Helper()
	tools := os.Getenv("HOCKET_DIAGRAMS")
	if tools == "" {
		t.Skip("HOCKET_DIAGRAMS is not set; `make diagrams` installs Mermaid and PlantUML and runs this test")
	}
	cmd, dir := tl.command(t, tools, tl.Version), t.TempDir()
	for i, text := range texts {
		name := filepath.Join(dir, strconv.Itoa(i)+ending)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd.Args = append(cmd.Args, name)
	}
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", tl.program, tl.Version, err, &errors)
	}
	all := make([][]Reading, len(texts))
	for line := range bytes.Lines(out) {
		var r Reading
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v: %s", tl.Version, err, line)
		}
		i, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(r.File), ending))
		if err != nil {
			t.Fatalf("%s reported the unexpected file %s", tl.Version, r.File)
		}
		r.File = ""
		all[i] = append(all[i], r)
	}
	return all
}

//go:embed mermaid.mjs
var readMermaid string

func mermaid(_ testing.TB, dir, version string) *exec.Cmd {
	cmd := exec.Command("node", "--no-warnings", "--input-type=module", "-", version)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(readMermaid) // it looks for its packages in its working directory
	return cmd
}

//go:embed ReadPlantUML.java
var readPlantUML []byte

func plantuml(t testing.TB, dir, version string) *exec.Cmd {
	t.Helper()
	jars, err := filepath.Glob(filepath.Join(dir, "node_modules", "plantuml-"+version, "*", `plantuml[.\-]*jar`))
	if err != nil || len(jars) != 1 {
		t.Fatalf("PlantUML %s is not installed in %s: run make diagrams", version, dir)
	}
	program := filepath.Join(t.TempDir(), "ReadPlantUML.java")
	if err := os.WriteFile(program, readPlantUML, 0o600); err != nil {
		t.Fatal(err)
	}
	// A diagram cannot include files or web pages.
	return exec.Command("java", "-Djava.awt.headless=true", "-DPLANTUML_SECURITY_PROFILE=SANDBOX", "-cp", jars[0], program)
}
