package syntax_test

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
	"github.com/hocket-dev/hocket/workflow"
)

var models = flag.Int("models", 100, "how many workflows the real tools are asked about")

// drawn are the notations that real tools can read, with the tools.
var drawn = []struct {
	notation, diagram string
	tools             []tooltest.Tool
}{{"mermaid", flowchart, tooltest.Mermaid}, {"plantuml", activityDiagram, tooltest.PlantUML}}

// The tools' names for the diagrams of workflows.
const (
	flowchart       = "flowchart-v2"
	activityDiagram = "ActivityDiagram3"
)

// The real tools accept every random workflow that Hocket writes, and it means the same when it is
// read again.
func TestProofRandomWorkflows(t *testing.T) {
	for _, d := range drawn {
		n, _ := syntax.Named(d.notation)
		file := "f" + n.Endings[0]
		texts := make([]string, *models)
		for i := range texts {
			w := modelgen.Workflow().Example(i)
			texts[i] = string(write(t, w, n.Name))
			again, found := syntax.Parse(file, []byte(texts[i]))
			if found.Errors() || workflow.Digest(again) != workflow.Digest(w) {
				t.Errorf("%s: model %d means something else: %v", n.Name, i, found)
			}
		}
		t.Run(n.Name, func(t *testing.T) { accepted(t, d.tools, n.Endings[0], d.diagram, texts) })
	}
}

// The real tools accept what `hocket convert` and `hocket graph` write for the examples.
func TestProofExamples(t *testing.T) {
	var examples []string
	for _, pattern := range []string{"*.yml", "*.md", "*.puml", "notations/*"} {
		names, err := fs.Glob(os.DirFS("../examples"), pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("no examples at %s (%v)", pattern, err)
		}
		examples = append(examples, slices.DeleteFunc(names, func(name string) bool { return name == "README.md" })...)
	}
	for _, c := range []struct {
		command, notation, ending, diagram string
		tools                              []tooltest.Tool
	}{
		{"convert --to", "mermaid", ".md", flowchart, tooltest.Mermaid},
		{"graph --as", "mermaid", ".mmd", flowchart, tooltest.Mermaid},
		{"convert --to", "plantuml", ".puml", activityDiagram, tooltest.PlantUML},
		{"graph --as", "plantuml", ".puml", "StateDiagram", tooltest.PlantUML},
	} {
		t.Run(c.command+" "+c.notation, func(t *testing.T) {
			var texts []string
			for _, example := range examples {
				code, out := hocket("../examples", append(strings.Fields(c.command), c.notation, example)...)
				if code != 0 {
					t.Errorf("%s: exit code %d", example, code)
				}
				texts = append(texts, string(out))
			}
			accepted(t, c.tools, c.ending, c.diagram, texts)
		})
	}
}

// accepted runs real tools on texts that Hocket wrote, or on a sample if there are many, each with
// a diagram of this type.
func accepted(t *testing.T, tools []tooltest.Tool, ending, diagram string, texts []string) {
	t.Helper()
	if step := (len(texts) + *models - 1) / *models; step > 1 {
		var some []string
		for i := 0; i < len(texts); i += step {
			some = append(some, texts[i])
		}
		texts = some
	}
	for _, tool := range tools {
		for i, r := range tool.ReadFiles(t, ending, texts...) {
			if len(r) != 1 || !r[0].OK || r[0].Type != diagram {
				t.Errorf("%s refuses what was written: %v\n%s", tool.Version, r, texts[i])
			}
		}
		t.Logf("%s has read %d", tool.Version, len(texts))
	}
}

func write(t *testing.T, w *workflow.Workflow, notation string) []byte {
	t.Helper()
	text, err := syntax.Format(w, notation)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Every diagram that is a workflow, our own or other people's, can be converted to every other
// notation and back, and the real tools accept the result.
func TestProofDrawnWorkflows(t *testing.T) {
	workflows, valid := 0, 0
	reasons := map[string]int{}
	written := map[string][]string{}
	for _, f := range drawings(t) {
		if found, _ := syntax.Diagram(f.file, f.text); found.Errors() {
			continue
		}
		valid++
		w, found := syntax.Parse(f.file, f.text)
		if found.Errors() {
			for code := range codesOf(found) {
				reasons[code]++
			}
			continue
		}
		workflows++
		for _, name := range syntax.Notations() {
			n, _ := syntax.Named(name)
			text, err := syntax.Format(w, name)
			if err != nil {
				t.Errorf("%s: %v", f.name, err)
				continue
			}
			written[name] = append(written[name], string(text))
			again, found := syntax.Parse("again"+n.Endings[0], text)
			if found.Errors() || workflow.Digest(again) != workflow.Digest(w) {
				t.Errorf("%s as %s: %v\n%s\n%s", f.name, name, found, cmp.Diff(workflow.Print(w), workflow.Print(again)), text)
			}
		}
	}
	t.Logf("%d of %d valid files are workflows, the same in %s", workflows, valid, strings.Join(syntax.Notations(), ", "))
	for _, code := range slices.Sorted(maps.Keys(reasons)) {
		t.Logf("not: %3d %s", reasons[code], code)
	}
	for _, d := range drawn {
		n, _ := syntax.Named(d.notation)
		t.Run(n.Name, func(t *testing.T) { accepted(t, d.tools, n.Endings[0], d.diagram, written[n.Name]) })
	}
}

// codesOf returns the codes of the errors.
func codesOf(found workflow.Diagnostics) map[string]bool {
	codes := map[string]bool{}
	for _, d := range found {
		if d.Severity == workflow.Error {
			codes[d.Code] = true
		}
	}
	return codes
}
