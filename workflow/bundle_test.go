package workflow_test

import (
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

// A place leads through calls, also through those that a for_each repeats.
func TestBundleAt(t *testing.T) {
	call := workflow.Node{ID: "send", Step: &workflow.Call{Workflow: "sub"}}
	mail := workflow.Node{ID: "mail", Step: &workflow.Task{}, Once: true}
	graph := func(n workflow.Node) workflow.Graph { return workflow.Graph{Nodes: []workflow.Node{n}} }
	each := func(n workflow.Node) workflow.Node {
		return workflow.Node{ID: n.ID, Step: &workflow.Each{Body: graph(n)}}
	}
	loop := workflow.Node{ID: "again", Step: &workflow.Loop{Body: graph(each(call))}}
	b := &workflow.Bundle{
		Root:   &workflow.Workflow{Body: graph(loop)},
		Called: map[string]*workflow.Workflow{"sub": {Body: graph(each(mail))}},
	}
	for place, want := range map[string]string{
		"again": "again", "send": "send", "send/mail": "mail", "mail": "", "send/other": "", "again/mail": "", "send/mail/more": "",
	} {
		n := b.At(place)
		if n == nil && want != "" || n != nil && n.ID != want {
			t.Errorf("%s: %+v", place, n)
		}
	}
	if n := b.At("send/mail"); n.Once || !n.Repeats().Once {
		t.Errorf("the for_each repeats %+v", n.Repeats())
	}
}
