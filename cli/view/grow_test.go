package view

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

// A line that arrives in many pieces is shown as it grows.
func TestALineGrows(t *testing.T) {
	tree := NewTree("r", &workflow.Bundle{Root: &workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{{ID: "a", Step: &workflow.Task{}}}}}})
	it := tree.find("a")
	it.state = running
	for _, c := range []struct{ piece, want string }{
		{"Let ", "Let"},
		{"me look", "Let me look"},
		{"\n", "Let me look"},
		{"> ls", "> ls"},
		{"\r\n\n  ", "> ls"},
		{"10%\r20%\r\x1b[32m30%\x1b[", "30%"},
		{"\r", "30%"},
		{strings.Repeat("long ", 30) + "end", "… " + strings.Repeat("long ", 11) + "end"},
		{"\xff\xfe!", "… " + strings.Repeat("long ", 11) + "end!"},
	} {
		tree.Log("a", []byte(c.piece))
		if it.note != c.want {
			t.Errorf("after %.20q it shows %q, want %q", c.piece, it.note, c.want)
		}
	}
	tree.Log("a", []byte(strings.Repeat("x", 1<<20)))
	if len(it.log) > 2*maxLog {
		t.Errorf("%d bytes are kept", len(it.log))
	}
}
