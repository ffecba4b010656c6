package engine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/oracle"
	"github.com/hocket-dev/hocket/workflow"
)

// The feedback on an output with several mistakes is the same in every replay, although the schema
// validator visits properties in any order.
func TestFeedbackIsDeterministic(t *testing.T) {
	for _, schema := range []any{
		map[string]any{"type": "object", "additionalProperties": false},
		map[string]any{"type": "object", "unevaluatedProperties": false},
		map[string]any{"type": "object", "dependentRequired": map[string]any{"a": []any{"x"}, "b": []any{"y"}, "c": []any{"z"}}},
		map[string]any{"type": "object", "propertyNames": map[string]any{"minLength": json.Number("3")}},
		map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}},
		map[string]any{"type": "object", "required": []any{"x", "y"}, "patternProperties": map[string]any{"a": false, "[a-c]": map[string]any{"type": "string"}}},
		map[string]any{"type": "object", "anyOf": []any{map[string]any{"additionalProperties": false}, map[string]any{"maxProperties": json.Number("1")}}},
	} {
		seen := map[string]bool{}
		for range 40 {
			seen[feedback(t, schema)] = true
		}
		if len(seen) != 1 {
			t.Errorf("schema %v results in %d different texts: %v", schema, len(seen), seen)
		}
	}
}

func feedback(t *testing.T, schema any) string {
	t.Helper()
	run, err := engine.New(&workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{
		ID: "a", Retry: workflow.Retry{Attempts: 2}, Step: &workflow.Task{Agent: "x"}, Output: workflow.Output{Mode: workflow.JSON, Schema: schema},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	if _, err := run.Step(engine.Envelope{Time: now, Event: &engine.Started{Run: "r", Version: engine.Version}}); err != nil {
		t.Fatal(err)
	}
	commands, err := run.Step(engine.Envelope{Time: now, Event: &engine.TaskEnded{Address: "a", Attempt: 1, Output: `{"a":1,"b":2,"c":3,"d":4,"e":5}`}})
	if err != nil {
		t.Fatal(err)
	}
	return commands[0].(*engine.StartTask).Feedback
}

// TestCommandsAreDeterministic replays random runs many times. Maps are new each time, and Go iterates over
// them in a different order each time; the commands and the facts must be the same, byte for byte.
func TestCommandsAreDeterministic(t *testing.T) {
	runs := uint64(400)
	if testing.Short() {
		runs = 40
	}
	for seed := range runs {
		s, err := played(seed+1, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed+1, err)
		}
		want := commandsOf(t, s.bundle, s.events)
		for range 5 {
			if got := commandsOf(t, s.bundle, s.events); got != want {
				t.Fatalf("seed %d: the same events resulted in different commands\n%s", seed+1, firstDifference(want, got))
			}
		}
	}
}

// commandsOf returns everything that the engine returns for events, as JSON.
func commandsOf(t *testing.T, b *workflow.Bundle, events []engine.Envelope) string {
	t.Helper()
	run, err := engine.New(b)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, e := range events {
		line, err := engine.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if e, err = engine.Decode(line); err != nil {
			t.Fatal(err)
		}
		commands, err := run.Step(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			fmt.Fprintf(&out, "%T %s\n", c, workflow.FormatJSON(c))
		}
		for _, f := range run.Facts() {
			fmt.Fprintf(&out, "%s\n", workflow.FormatJSON(f))
		}
	}
	for _, c := range run.Pending() {
		fmt.Fprintf(&out, "pending %T %s\n", c, workflow.FormatJSON(c))
	}
	return out.String()
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return as[i] + "\n" + bs[i]
		}
	}
	return "one is longer"
}

// A refused event leaves the run unchanged, even while a fork rehearses.
func TestRefusedEventChangesNothing(t *testing.T) {
	run, err := engine.New(&workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "scan", Step: &workflow.Each{
		Items: workflow.Expr{Text: "inputs.items"}, Parallel: 1,
		Body: workflow.Graph{Nodes: []workflow.Node{{ID: "scan", Step: &workflow.Task{Agent: "x"}}}},
	}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(0, 0).UTC()
	step := func(ev engine.Event) error {
		_, err := run.Step(engine.Envelope{Time: at, Event: ev})
		return err
	}
	if err := step(&engine.Started{Run: "r", Version: 1, Rehearse: "scan[0]", Inputs: map[string]any{"items": []any{"a", "b", "c"}}}); err != nil {
		t.Fatal(err)
	}
	before := string(run.Dump())
	if err := step(&engine.TaskEnded{Address: "scan[1]", Attempt: 7}); err == nil {
		t.Error("the end of an attempt that never started is accepted")
	}
	if after := string(run.Dump()); after != before {
		t.Errorf("the refused event changed the run\n--- before\n%s--- after\n%s", before, after)
	}
	if err := step(&engine.TaskEnded{Address: "scan[1]", Attempt: 1, Output: "fine"}); err != nil {
		t.Error(err)
	}
}

// played returns a random run that was played to its end.
func played(seed uint64, logf func(string, ...any)) (*simulation, error) {
	s := newSimulation(seed, logf)
	g := &oracle.Generator{Rand: rand.New(rand.NewPCG(seed, 3))}
	s.bundle = g.Bundle()
	var err error
	if s.run, err = engine.New(s.bundle); err != nil {
		return nil, err
	}
	s.first, s.fresh = s.bundle, s.run.Fresh()
	s.chooseLimits()
	return s, s.play()
}
