package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// A run that cannot load what it needs says so and goes no further. Its events lead on
// when the output can be loaded.
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
			t.Errorf("it goes on: %v", again)
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
