package engine_test

import (
	"errors"
	"reflect"
	"strings"
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

// A fork without an output that it needs would be another run, so there is none.
func TestForkLoadError(t *testing.T) {
	b := chain(4)
	b.Root.Body.Nodes[2].Step.(*workflow.Task).Prompt.Text = "of ${nodes.n0.output}"
	at := time.Unix(1, 0)
	events := []engine.Envelope{
		{Seq: 1, Time: at, Event: &engine.Started{Run: "r", Version: engine.Version}},
		{Seq: 2, Time: at, Event: &engine.TaskEnded{Address: "n0", Attempt: 1, Stored: 2}},
		{Seq: 3, Time: at, Event: &engine.TaskEnded{Address: "n1", Attempt: 1, Output: "short"}},
		{Seq: 4, Time: at, Event: &engine.TaskEnded{Address: "n2", Attempt: 1, Output: "short"}},
	}
	for readable := range 3 {
		loads := 0
		forked, err := engine.Fork(b, events, func(int) (string, error) {
			if loads++; loads > readable {
				return "", errors.New("damage")
			}
			return "long", nil
		}, "n3", "fork", workflow.Limits{}, at)
		if loads > readable {
			if forked != nil || !errors.As(err, new(*engine.LoadError)) {
				t.Errorf("the output can be read %d times, and Fork returns %d events, %v", readable, len(forked), err)
			}
		} else if err != nil || len(forked) != 5 {
			t.Errorf("Fork returns %d events, %v", len(forked), err)
		}
	}
}

// A long output is loaded when it is needed, whatever it is.
func TestLongOutputs(t *testing.T) {
	text := strings.Repeat("x", 100)
	for output, long := range map[string]bool{
		`"` + text + `"`: false, `"` + text + `y"`: true,
		`["` + text + `"]`: true, `{"k":"` + text + `"}`: true, `{"` + text + `":1}`: true, `[{"k":["` + text + `"]}]`: true,
		`[]`: false, `true`: false,
	} {
		b := chain(2)
		b.Root.Body.Nodes[0].Output.Mode = workflow.JSON
		run, err := engine.New(b)
		if err != nil {
			t.Fatal(err)
		}
		loads := 0
		run.Offload(100, func(int) (string, error) { loads++; return output, nil })
		for i, ev := range []engine.Event{
			&engine.Started{Run: "r", Version: engine.Version},
			&engine.TaskEnded{Address: "n0", Attempt: 1, Output: output},
		} {
			if _, err := run.Step(engine.Envelope{Seq: i + 1, Time: time.Unix(1, 0), Event: ev}); err != nil {
				t.Fatal(err)
			}
		}
		value, err := run.Result().Steps[0].Value()
		if got := workflow.FormatJSON(value); err != nil || got != output || (loads > 0) != long {
			t.Errorf("%s is read as %s, %v; loaded: %t", output, got, err, loads > 0)
		}
	}
}

// An object or a list of outputs is returned as it is, unless they are long: then it may not be
// possible to load it.
func TestShortOutputsAreValues(t *testing.T) {
	called := &workflow.Workflow{Name: "called", Body: chain(2).Root.Body}
	called.Body.Edges = nil // both are the output
	b := chain(3)
	b.Root.Body.Nodes[0].Step = &workflow.Call{Workflow: "called"}
	b.Root.Body.Nodes[1].Step = &workflow.Combine{Strategy: workflow.Array}
	b.Called = map[string]*workflow.Workflow{"called": called}
	run, err := engine.New(b)
	if err != nil {
		t.Fatal(err)
	}
	for over, long := range map[int]bool{100: false, 0: true} {
		run := run.Fresh()
		run.Offload(over, func(int) (string, error) { return "", errors.New("damage") })
		for i, ev := range []engine.Event{
			&engine.Started{Run: "r", Version: engine.Version},
			&engine.TaskEnded{Address: "n0/n0", Attempt: 1, Output: "a"},
			&engine.TaskEnded{Address: "n0/n1", Attempt: 1, Output: "b"},
		} {
			if _, err := run.Step(engine.Envelope{Seq: i + 1, Time: time.Unix(1, 0), Event: ev}); err != nil {
				t.Fatal(err)
			}
		}
		object := map[string]any{"n0": "a", "n1": "b"}
		for _, step := range run.Result().Steps {
			want := map[string]any{"n0": object, "n1": []any{object}}[step.Address]
			if want == nil {
				continue
			}
			if !long && !reflect.DeepEqual(step.Output, want) {
				t.Errorf("the output of %s is %#v", step.Address, step.Output)
			}
			if value, err := step.Value(); long && !errors.As(err, new(*engine.LoadError)) {
				t.Errorf("the output of %s is read as %v, %v", step.Address, value, err)
			}
		}
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
