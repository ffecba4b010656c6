package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// A fork may have a limit that the other run does not have.
func TestForkSetsRuntime(t *testing.T) {
	b, at := chain(2), time.Unix(1e9, 0).UTC()
	events := []engine.Envelope{
		{Seq: 1, Time: at, Event: &engine.Started{Run: "old", Version: engine.Version}},
		{Seq: 2, Time: at, Event: &engine.TaskEnded{Address: "n0", Attempt: 1, Output: "done"}},
	}
	forked, err := engine.Fork(b, events, nil, "n1", "new", workflow.Limits{Runtime: time.Minute}, at)
	if err != nil {
		t.Fatal(err)
	}
	run, err := engine.New(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range forked {
		if _, err := run.Step(e); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.ContainsFunc(run.Pending(), func(c engine.Command) bool {
		timer, ok := c.(*engine.SetTimer)
		return ok && timer.ID == "runtime" && timer.Clock == time.Minute
	}) {
		t.Errorf("no timer ends the fork; pending are %s", workflow.FormatJSON(run.Pending()))
	}
}
