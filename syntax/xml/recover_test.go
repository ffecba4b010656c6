package xml_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/workflow"
)

// An answer that is no XML gives the workflow that was meant, and says what was
// repaired.
func TestAnswers(t *testing.T) {
	fixtures(t, "testdata/answer/*.txt", func(t *testing.T, file string, text []byte) {
		w, found := xml.Recover(file, text)
		golden(t, strings.TrimSuffix(file, ".txt")+".print", workflow.Print(w)+"\n"+found.String()+"\n")
		if found.Errors() {
			t.Error("an error is left")
		}
	})
}

// A plan that is still being written is read after every byte: there is always a
// workflow, it never loses a step, and at the end it is that of the whole text.
func TestEveryPrefixIsAWorkflow(t *testing.T) {
	check := func(t *testing.T, file string, text []byte) {
		steps := 0
		for end := range len(text) + 1 {
			w, _ := xml.Recover(file, text[:end])
			if w == nil {
				t.Fatalf("no workflow after %d bytes", end)
			}
			n := 0
			w.Body.Walk(func(*workflow.Graph, *workflow.Node) { n++ })
			if n < steps {
				t.Fatalf("%d steps became %d after %q", steps, n, text[max(0, end-60):end])
			}
			steps = n
		}
		if steps == 0 {
			t.Error("no steps at all")
		}
	}
	fixtures(t, "testdata/answer/*.txt", check)
	fixtures(t, "testdata/ok/*.xml", check)
	fixtures(t, "testdata/fmt/*.xml", check)
	fixtures(t, "testdata/bad/*.xml", func(t *testing.T, file string, text []byte) {
		if !strings.HasSuffix(file, "root.xml") {
			check(t, file, text)
		}
	})
}

// What is well-formed is read alike by both readers.
func TestRecoverReadsWhatIsRight(t *testing.T) {
	fixtures(t, "testdata/ok/*.xml", func(t *testing.T, file string, text []byte) {
		strict, _ := xml.Parse(file, text)
		repaired, found := xml.Recover(file, text)
		if workflow.Digest(strict) != workflow.Digest(repaired) || len(found) > 0 {
			t.Errorf("%s\n%s", found, workflow.Print(repaired))
		}
	})
}

// Every repair is a warning with its place.
func TestRepairsAreWarnings(t *testing.T) {
	fixtures(t, "testdata/answer/*.txt", func(t *testing.T, file string, text []byte) {
		_, found := xml.Recover(file, text)
		if i := slices.IndexFunc(found, func(d workflow.Diagnostic) bool { return d.Severity != workflow.Warning || d.Line == 0 }); i >= 0 {
			t.Error(found[i])
		}
	})
}
