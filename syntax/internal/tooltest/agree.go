package tooltest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Diagram is one of the project's own diagrams, with the recorded results of the tools. In a file
// it has two parts: its text, named after what it shows, and a part named "read".
type Diagram struct {
	file string
	Name string
	Text string
	Read string
}

const (
	acceptedBy = "accepted by"
	open       = "open at the end:"
)

// record describes the results of the tools, newest first, for a diagram: the versions that accept
// it, the blocks that are open at its end, and what the newest version read.
func record(tools []Tool, readings []Reading, structure func(*Reading) string) string {
	var versions []string
	for i := range tools {
		if readings[i].Accepted() {
			versions = append(versions, tools[i].Version)
		}
	}
	if len(versions) == 0 {
		return "refused\n"
	}
	text := acceptedBy + " " + strings.Join(versions, " ") + "\n"
	newest := &readings[0]
	if !newest.Accepted() {
		return text
	}
	if len(newest.Unclosed) > 0 {
		text += open + " " + strings.Join(newest.Unclosed, " ") + "\n"
	}
	return text + structure(newest)
}

// Accepts reports whether a tool reads the text as a flowchart or an activity diagram.
func (d *Diagram) Accepts(tl Tool) bool {
	line, _, _ := strings.Cut(d.Read, "\n")
	versions, ok := strings.CutPrefix(line, acceptedBy)
	return ok && slices.Contains(strings.Fields(versions), tl.Version)
}

// Open reports whether blocks are open at the end, which PlantUML allows.
func (d *Diagram) Open() bool { return strings.Contains(d.Read, "\n"+open) }

// structure returns what the newest version read.
func (d *Diagram) structure() string {
	_, text, _ := strings.Cut(d.Read, "\n")
	if d.Open() {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// Diagrams returns the diagrams in the files that match a pattern.
func Diagrams(t testing.TB, pattern string) (all []Diagram) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no diagrams at %s (%v)", pattern, err)
	}
	for _, name := range names {
		f, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range f.Files {
			if part.Name == "read" && len(all) > 0 {
				all[len(all)-1].Read = string(part.Data)
			} else {
				all = append(all, Diagram{file: name, Name: part.Name, Text: string(part.Data)})
			}
		}
	}
	return all
}

// save writes diagrams to their files.
func save(t testing.TB, all []Diagram) {
	t.Helper()
	files := map[string]*txtar.Archive{}
	for _, d := range all {
		if files[d.file] == nil {
			files[d.file] = &txtar.Archive{}
		}
		f := files[d.file]
		f.Files = append(f.Files, txtar.File{Name: d.Name, Data: []byte(d.Text)}, txtar.File{Name: "read", Data: []byte(d.Read)})
	}
	for name, f := range files {
		if err := os.WriteFile(name, txtar.Format(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Agree fails for each diagram in the files that match a pattern that Hocket does not read as
// recorded. If the tools are installed, it also fails for each diagram that they do not read as
// recorded; with update, it records what they read instead. Structures are compared as text:
// structure returns that of a reading, and hocket that of Hocket, or false if Hocket refuses the
// diagram.
func Agree(t *testing.T, pattern string, tools []Tool, update bool, structure func(*Reading) string, hocket func(text string) (string, bool)) {
	t.Helper()
	all := Diagrams(t, pattern)
	t.Run("tools", func(t *testing.T) {
		for i, real := range records(t, tools, all, structure) {
			if update {
				all[i].Read = real
			} else if diff := cmp.Diff(all[i].Read, real); diff != "" {
				t.Errorf("%s: the tools (+) do not match the recording (-):\n%s\n%s", all[i].Name, diff, all[i].Text)
			}
		}
		if update {
			save(t, all)
		}
		for _, tl := range tools {
			proven(t, "%s %s reads %d diagrams as recorded", tl.program, tl.Version, len(all))
		}
	})
	for _, d := range all {
		got, accepted := hocket(d.Text)
		if want := d.Accepts(tools[0]); want != accepted {
			t.Errorf("%s: accepted by the tool: %v, by Hocket: %v\n%s", d.Name, want, accepted, d.Text)
		} else if diff := cmp.Diff(d.structure(), got); want && diff != "" {
			t.Errorf("%s: Hocket (+) does not read it as the tool does (-):\n%s\n%s", d.Name, diff, d.Text)
		}
	}
	proven(t, "Hocket reads %d diagrams as recorded of %s", len(all), tools[0].program)
}

// proven has internal/testreport print what a test that has not failed proves.
func proven(t *testing.T, format string, args ...any) {
	t.Helper()
	if !t.Failed() {
		t.Attr("proof", fmt.Sprintf(format, args...))
	}
}

// records returns the current results of the tools for diagrams.
func records(t *testing.T, tools []Tool, all []Diagram, structure func(*Reading) string) []string {
	t.Helper()
	var texts []string
	for _, d := range all {
		texts = append(texts, d.Text)
	}
	readings := make([][]Reading, len(all))
	for _, tl := range tools {
		for i, r := range tl.Read(t, texts...) {
			readings[i] = append(readings[i], r)
		}
	}
	made := make([]string, len(all))
	for i := range all {
		made[i] = record(tools, readings[i], structure)
	}
	return made
}
