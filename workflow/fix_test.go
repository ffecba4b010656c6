package workflow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestOverlappingFixesAreAppliedLater(t *testing.T) {
	fix := func(edits ...workflow.Edit) workflow.Diagnostic {
		return workflow.Diagnostic{Fix: &workflow.Fix{Edits: edits}}
	}
	found := workflow.Diagnostics{
		fix(workflow.Edit{From: 4, To: 5, Text: "E"}),
		fix(workflow.Edit{From: 0, To: 2, Text: "x"}, workflow.Edit{From: 7, To: 7, Text: "!"}),
		fix(workflow.Edit{From: 1, To: 3, Text: "y"}), // overlaps the one before
		fix(workflow.Edit{From: 4, To: 5, Text: "E"}), // the same again
		fix(workflow.Edit{From: 7, To: 7, Text: "!"}), // the same again, which replaces nothing
		{},
	}
	got, count := found.Fixed([]byte("abcdefg"))
	if string(got) != "xcdEfg!" || count != 2 {
		t.Errorf("got %q with %d fixes", got, count)
	}
}

func TestApplyIgnoresEditsOutsideTheText(t *testing.T) {
	got := workflow.Apply([]byte("abc"), []workflow.Edit{{From: 2, To: 9}, {From: 2, To: 1, Text: "x"}, {From: 1, To: 2, Text: "B"}, {From: 3, To: 3, Text: "d"}})
	if string(got) != "aBcd" {
		t.Errorf("got %q", got)
	}
}

// Applying random fixes gives the same result as applying them one after the other.
func TestRandomFixes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const text = "abcdefgh"
	for range 2000 {
		var found workflow.Diagnostics
		var kept []workflow.Edit
		for n := range random.IntN(7) {
			from := random.IntN(len(text) + 1)
			e := workflow.Edit{From: from, To: min(len(text), from+random.IntN(3)), Text: fmt.Sprint("<", n%3, ">")}
			found = append(found, workflow.Diagnostic{Fix: &workflow.Fix{Edits: []workflow.Edit{e}}})
			if !slices.ContainsFunc(kept, func(o workflow.Edit) bool { return e == o || e.From < o.To && o.From < e.To }) {
				kept = append(kept, e)
			}
		}
		var want strings.Builder
		for at := 0; at <= len(text); {
			next := at + 1
			for _, replaces := range []bool{false, true} { // what is inserted comes before what replaces
				for _, e := range kept {
					if e.From == at && (e.To > e.From) == replaces {
						want.WriteString(e.Text)
						next = max(next, e.To)
					}
				}
			}
			if !slices.ContainsFunc(kept, func(e workflow.Edit) bool { return e.From == at && e.To > at }) && at < len(text) {
				want.WriteByte(text[at])
			}
			at = next
		}
		if got, count := found.Fixed([]byte(text)); string(got) != want.String() || count != len(kept) {
			t.Fatalf("%v\ngot  %s, %d\nwant %s, %d", found, got, count, want.String(), len(kept))
		}
	}
}
