package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// A run that cannot load a required output reports it and stops. Its events can be replayed when
// the output can be loaded again.
func TestLoadError(t *testing.T) {
	b := chain(3)
	b.Root.Body.Nodes[2].Step.(*workflow.Task).Prompt.Text = "of ${nodes.n0.output}"
	damage := errors.New("damage")
	events := []engine.Event{
		&engine.Started{Run: "r", Version: engine.Version},
		&engine.TaskEnded{Address: "n0", Attempt: 1, Output: "long"},
		&engine.TaskEnded{Address: "n1", Attempt: 1, Output: "long too"},
	}
	step := func(load func(int) (string, error)) (cmds []engine.Command, err error) {
		run, err := engine.New(b)
		if err != nil {
			t.Fatal(err)
		}
		run.Offload(3, load)
		for i, ev := range events {
			if cmds, err = run.Step(engine.Envelope{Seq: i + 1, Time: time.Unix(1, 0), Event: ev}); err != nil {
				break
			}
		}
		if _, again := run.Step(engine.Envelope{Event: &engine.CancelAsked{}}); err != nil && !errors.Is(again, err) {
			t.Errorf("the run continues: %v", again)
		}
		return cmds, err
	}
	_, err := step(func(int) (string, error) { return "", damage })
	var unread *engine.LoadError
	if !errors.As(err, &unread) || unread.Seq != 2 || unread.Node != "n0" || !errors.Is(err, damage) {
		t.Errorf("Step returns %v", err)
	}
	cmds, err := step(func(seq int) (string, error) { return events[seq-1].(*engine.TaskEnded).Output, nil })
	if err != nil || len(cmds) != 1 || cmds[0].(*engine.StartTask).Prompt != "of long" {
		t.Errorf("Step returns %s, %v", workflow.FormatJSON(cmds), err)
	}
}

// The status of a group does not depend on the outputs.
func TestStatusLoadsNothing(t *testing.T) {
	b := chain(3)
	b.Root.Body.Nodes[0].Group, b.Root.Body.Nodes[1].Group = "g", "g"
	b.Root.Body.Nodes[2].Step.(*workflow.Task).Prompt.Text = "${groups.g.status} ${groups.g.failed}"
	run, err := engine.New(b)
	if err != nil {
		t.Fatal(err)
	}
	run.Offload(3, func(int) (string, error) { return "", errors.New("damage") })
	var cmds []engine.Command
	for i, ev := range []engine.Event{
		&engine.Started{Run: "r", Version: engine.Version},
		&engine.TaskEnded{Address: "n0", Attempt: 1, Output: "long"},
		&engine.TaskEnded{Address: "n1", Attempt: 1, Output: "long too"},
	} {
		if cmds, err = run.Step(engine.Envelope{Seq: i + 1, Time: time.Unix(1, 0), Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	if len(cmds) != 1 || cmds[0].(*engine.StartTask).Prompt != "success []" {
		t.Errorf("Step returns %s", workflow.FormatJSON(cmds))
	}
}

// An output that was returned can be read while the run is being saved.
func TestSnapshotBesideReader(t *testing.T) {
	called := &workflow.Workflow{Name: "called", Body: chain(2).Root.Body}
	called.Body.Edges = nil // both are the output
	b := chain(2)
	b.Root.Body.Nodes[0].Step = &workflow.Call{Workflow: "called"}
	b.Called = map[string]*workflow.Workflow{"called": called}
	run, err := engine.New(b)
	if err != nil {
		t.Fatal(err)
	}
	run.Offload(3, func(int) (string, error) { return "long", nil })
	for i, ev := range []engine.Event{
		&engine.Started{Run: "r", Version: engine.Version},
		&engine.TaskEnded{Address: "n0/n0", Attempt: 1, Output: "long"},
		&engine.TaskEnded{Address: "n0/n1", Attempt: 1, Output: "long"},
	} {
		if _, err := run.Step(engine.Envelope{Seq: i + 1, Time: time.Unix(1, 0), Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	output := run.Result().Steps[0].Output.(*engine.Long)
	saved := make(chan bool)
	go func() {
		defer close(saved)
		for range 1000 {
			run.Snapshot()
		}
	}()
	for reading := true; reading; {
		if got := output.String(); got != `{"n0":"long","n1":"long"}` {
			t.Fatalf("the output is %s", got)
		}
		select {
		case <-saved:
			reading = false
		default:
		}
	}
}
