package workflow_test

import (
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestFixesThatMeetWaitForEachOther(t *testing.T) {
	fix := func(edits ...workflow.Edit) workflow.Diagnostic {
		return workflow.Diagnostic{Fix: &workflow.Fix{Edits: edits}}
	}
	found := workflow.Diagnostics{
		fix(workflow.Edit{From: 4, To: 5, Text: "E"}),
		fix(workflow.Edit{From: 0, To: 2, Text: "x"}, workflow.Edit{From: 7, To: 7, Text: "!"}),
		fix(workflow.Edit{From: 1, To: 3, Text: "y"}), // overlaps the one before
		fix(workflow.Edit{From: 4, To: 5, Text: "E"}), // the same again
		{},
	}
	got, count := found.Fixed([]byte("abcdefg"))
	if string(got) != "xcdEfg!" || count != 2 {
		t.Errorf("got %q with %d fixes", got, count)
	}
}

func TestApplyIgnoresWhatIsOutside(t *testing.T) {
	got := workflow.Apply([]byte("abc"), []workflow.Edit{{From: 2, To: 9}, {From: 1, To: 2, Text: "B"}, {From: 3, To: 3, Text: "d"}})
	if string(got) != "aBcd" {
		t.Errorf("got %q", got)
	}
}
