package syntax_test

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/workflow"
)

var models = flag.Int("models", 100, "how many workflows the real tools are asked about")

// drawn are the notations that real tools read, with these tools.
var drawn = []struct {
	notation string
	tools    []tool
}{
	{"mermaid", []tool{mermaid("10"), mermaid("11"), mermaid("12")}},
	{"plantuml", []tool{plantuml("1.2024.7"), plantuml("1.2026.8")}},
}

// Every random workflow is written in a way that the real tools accept, and means
// the same when it is read again.
func TestProofRandomWorkflows(t *testing.T) {
	for _, d := range drawn {
		n, _ := syntax.Named(d.notation)
		file := "f" + n.Endings[0]
		texts := make([][]byte, *models)
		for i := range texts {
			w := modelgen.Workflow().Example(i)
			texts[i] = write(t, w, n.Name)
			again, found := syntax.Parse(file, texts[i])
			if found.Errors() || workflow.Digest(again) != workflow.Digest(w) {
				t.Errorf("%s: model %d means something else: %v", n.Name, i, found)
			}
		}
		for _, judge := range d.tools {
			accepted(t, judge, n, texts)
		}
	}
}

// accepted has a real tool read texts that Hocket wrote, or some of them if they
// are many.
func accepted(t *testing.T, judge tool, n syntax.Notation, texts [][]byte) {
	t.Helper()
	if step := (len(texts) + *models - 1) / *models; step > 1 {
		var some [][]byte
		for i := 0; i < len(texts); i += step {
			some = append(some, texts[i])
		}
		texts = some
	}
	judge.ending = n.Endings[0]
	taken := 0
	for i, r := range judge.read(t, texts) {
		if !judge.takes(r) || len(r) != 1 {
			t.Errorf("%s refuses what was written: %s\n%s", judge.version, r[0].Error, texts[i])
			continue
		}
		taken++
	}
	t.Logf("%s takes %d of %d", judge.version, taken, len(texts))
}

func write(t *testing.T, w *workflow.Workflow, notation string) []byte {
	t.Helper()
	text, err := syntax.Format(w, notation)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What other people drew, where it is a workflow, becomes every other notation
// and comes back, and the real tools accept what it became.
func TestProofForeignWorkflows(t *testing.T) {
	workflows, valid := 0, 0
	reasons := map[string]int{}
	written := map[string][][]byte{}
	for _, f := range foreign(t) {
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
			written[name] = append(written[name], text)
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
		for _, judge := range d.tools {
			accepted(t, judge, n, written[n.Name])
		}
	}
}

// codesOf are the codes of the errors.
func codesOf(found workflow.Diagnostics) map[string]bool {
	codes := map[string]bool{}
	for _, d := range found {
		if d.Severity == workflow.Error {
			codes[d.Code] = true
		}
	}
	return codes
}
