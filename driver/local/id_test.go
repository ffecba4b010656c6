package local

import (
	"context"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// An id that happens to be taken is no reason to refuse a fork.
func TestForkFindsAnotherID(t *testing.T) {
	s, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	task := workflow.Node{ID: "a", Step: &workflow.Task{Agent: "x"}}
	bundle := &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: workflow.Graph{Nodes: []workflow.Node{task}}}}
	w, _, err := create(s, driver.Spec{Run: "demo-1", Pin: &driver.Pin{Bundle: bundle}}, systemClock{})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	ids := []string{"demo-1", "demo-1", "demo-2"}
	next := func(string) string {
		id := ids[0]
		ids = ids[1:]
		return id
	}
	w, err = fork(context.Background(), s, &driver.Pin{Bundle: bundle}, driver.ForkSpec{From: "demo-1", Address: "a"}, next, moment(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for e, err := range s.Events(context.Background(), "demo-2", 0) {
		if started, ok := e.Event.(*engine.Started); err != nil || ok && started.Run != "demo-2" {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if w.Run() != "demo-2" {
		t.Errorf("the fork is %s", w.Run())
	}
}
