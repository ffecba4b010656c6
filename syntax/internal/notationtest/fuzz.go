package notationtest

import (
	"os"
	"slices"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

// Seed adds texts to start from: the fixtures, the files next to them, and Seeds.
func (n *Notation) Seed(f *testing.F) {
	f.Helper()
	patterns := n.in("*")
	for _, ending := range []string{"format", "golden", "txt"} {
		patterns = append(patterns, "testdata/*/*."+ending)
	}
	for _, file := range glob(f, patterns...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range n.Seeds {
		f.Add([]byte(text))
	}
}

// FuzzParse parses any text. Parsing must terminate with a workflow, or with diagnostics that have
// positions, and a workflow without errors can be written.
func (n *Notation) FuzzParse(f *testing.F) {
	n.Seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		w, found := n.Parse(n.file(), text)
		if i := slices.IndexFunc(found, incomplete); i >= 0 {
			t.Errorf("incomplete: %+v", found[i])
		}
		if w == nil {
			if !found.Errors() {
				t.Error("neither a workflow nor an error")
			}
			return
		}
		workflow.Print(w)
		if !found.Errors() && len(text) <= 4000 {
			n.written(t, w)
		}
	})
}

func incomplete(d workflow.Diagnostic) bool { return d.Code == "" || d.Summary == "" || d.Line == 0 }

// FuzzFmt formats any text. That keeps the meaning, is idempotent, and leaves a file with errors
// unchanged.
func (n *Notation) FuzzFmt(f *testing.F) {
	n.Seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		once, found := n.Fmt(n.file(), text)
		if found.Errors() {
			if string(once) != string(text) {
				t.Error("a file with errors was changed")
			}
			return
		}
		w, _ := n.Parse(n.file(), text)
		n.means(t, n.file(), once, w)
		n.settled(t, n.file(), once)
	})
}
