package trace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trace"
	"github.com/hocket-dev/hocket/workflow"
)

// What began or ended at the same time has the same order whenever a run is read.
func TestOrder(t *testing.T) {
	at := time.Date(2026, 11, 18, 20, 0, 0, 0, time.UTC)
	root := &workflow.Workflow{Name: "flow"}
	var began []engine.Fact
	var want []string
	for i := range 10 {
		id := fmt.Sprintf("ask%d", i)
		root.Body.Nodes = append(root.Body.Nodes, workflow.Node{ID: id, Step: &workflow.Human{}})
		began = append(began, engine.Fact{Kind: engine.StepStarted, Time: at, Address: id, Node: id})
		want = append(want, id)
	}
	for i := range 10 {
		address := fmt.Sprintf("work%d", i)
		began = append(began, engine.Fact{Kind: engine.AttemptStarted, Time: at, Address: address, Node: address, Attempt: 1})
		want = append(want, address)
	}
	slices.Reverse(began)
	named := func(spans []trace.Span) string {
		var all []string
		for _, s := range spans {
			for _, a := range s.Attributes {
				if a.Key == "hocket.address" {
					all = append(all, fmt.Sprint(a.Value))
				}
			}
		}
		return strings.Join(all, " ")
	}
	for range 5 {
		b := trace.NewBuilder(trace.Options{Run: "run", Bundle: &workflow.Bundle{Root: root}})
		b.Event(engine.Envelope{Time: at, Event: &engine.Started{}}, began)
		if got := named(b.Open()); got != strings.Join(want, " ") {
			t.Fatalf("in progress: %s", got)
		}
		ended := b.Event(engine.Envelope{Time: at, Event: &engine.CancelAsked{}}, []engine.Fact{{Kind: engine.RunEnded, Time: at}})
		if got := named(ended); got != strings.Join(append(slices.Clone(want[10:]), want[:10]...), " ") {
			t.Fatalf("ended: %s", got)
		}
	}
}
