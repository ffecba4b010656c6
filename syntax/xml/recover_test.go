package xml_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/notationtest"
	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/workflow"
)

// An answer that is not valid XML results in the intended workflow, and the repairs are reported.
func TestAnswers(t *testing.T) {
	notationtest.Fixtures(t, func(t *testing.T, file string, text []byte) {
		w, found := xml.Recover(file, text)
		notationtest.Golden(t, strings.TrimSuffix(file, ".txt")+".print", workflow.Print(w)+"\n"+found.String()+"\n")
		if found.Errors() {
			t.Error("an error is left")
		}
	}, "testdata/answer/*.txt")
}

// A plan that is still being written is parsed after every byte: there is always a workflow, it
// never loses a step, and in the end it is that of the whole text.
func TestEveryPrefixIsAWorkflow(t *testing.T) {
	check := func(t *testing.T, file string, text []byte) {
		steps := 0
		for end := range len(text) + 1 {
			w, _ := xml.Recover(file, text[:end])
			if w == nil {
				t.Fatalf("no workflow after %d bytes", end)
			}
			n := countSteps(w)
			if n < steps {
				t.Fatalf("%d steps became %d after %q", steps, n, text[max(0, end-60):end])
			}
			steps = n
		}
		if steps == 0 {
			t.Error("no steps at all")
		}
	}
	notationtest.Fixtures(t, check, "testdata/answer/*.txt", "testdata/ok/*.xml", "testdata/fmt/*.xml")
	notationtest.Fixtures(t, func(t *testing.T, file string, text []byte) {
		if !strings.HasSuffix(file, "root.xml") {
			check(t, file, text)
		}
	}, "testdata/bad/*.xml")
}

// countSteps counts the steps that are written. A repeated step counts as one, because the next
// entry may be the one that ends the repetition.
func countSteps(w *workflow.Workflow) int {
	ids := map[string]bool{}
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { ids[n.ID] = true })
	return len(ids)
}

// Both parsers read well-formed XML in the same way.
func TestRecoverReadsWellFormedXML(t *testing.T) {
	notationtest.Fixtures(t, func(t *testing.T, file string, text []byte) {
		strict, want := xml.Parse(file, text)
		repaired, found := xml.Recover(file, text)
		if workflow.Digest(strict) != workflow.Digest(repaired) || len(found) > len(want) {
			t.Errorf("%s\n%s", found, workflow.Print(repaired))
		}
	}, "testdata/ok/*.xml")
}

// Every repair is a warning with its position.
func TestRepairsAreWarnings(t *testing.T) {
	notationtest.Fixtures(t, func(t *testing.T, file string, text []byte) {
		_, found := xml.Recover(file, text)
		if i := slices.IndexFunc(found, func(d workflow.Diagnostic) bool { return d.Severity != workflow.Warning || d.Line == 0 }); i >= 0 {
			t.Error(found[i])
		}
	}, "testdata/answer/*.txt")
}

// FuzzRecover repairs anything. The resulting model is valid: it can be written, and it never loses
// steps when the answer continues.
func FuzzRecover(f *testing.F) {
	notation.Seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		half, _ := xml.Recover("f.xml", text[:len(text)/2])
		w, _ := xml.Recover("f.xml", text)
		if before, n := countSteps(half), countSteps(w); n < before {
			t.Errorf("%d steps became %d", before, n)
		}
		workflow.Print(w)
	})
}
