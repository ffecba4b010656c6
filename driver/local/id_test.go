package local

import (
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// A fork whose first id is taken gets another one.
func TestForkFindsAnotherID(t *testing.T) {
	d, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ids := []string{"demo-1", "demo-1", "demo-2"}
	d.newID = func(string) string {
		id := ids[0]
		ids = ids[1:]
		return id
	}
	task := workflow.Node{ID: "a", Step: &workflow.Task{Agent: "x"}}
	bundle := &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: workflow.Graph{Nodes: []workflow.Node{task}}}}
	if _, err := d.Start(t.Context(), driver.Spec{Pin: &driver.Pin{Bundle: bundle}}); err != nil {
		t.Fatal(err)
	}
	made, err := d.Fork(t.Context(), driver.ForkSpec{From: "demo-1", Address: "a"})
	if err != nil || made.Run != "demo-2" {
		t.Fatalf("the fork is %+v, %v", made, err)
	}
	for e, err := range d.store.Events(t.Context(), "demo-2", 0) {
		if started, ok := e.Event.(*engine.Started); err != nil || ok && started.Run != "demo-2" {
			t.Errorf("%+v, %v", e, err)
		}
	}
}
