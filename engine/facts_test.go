package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Facts recorded by version 1 keep their meaning: a zero meant free unless something else was
// recorded, unknown if that was recorded, and unlimited for what a limit leaves.
func TestFactsOfOldRuns(t *testing.T) {
	half, many, unknown, nothing := workflow.AtMost(0.5), workflow.AtMost(9), workflow.Bound{}, workflow.AtMost(0)
	for text, want := range map[string]engine.TaskFacts{
		`{}`:                    {May: workflow.Free},
		`{"max_cost_usd":0.5}`:  {May: workflow.Budget{CostUSD: half, Tokens: nothing}},
		`{"unknown_cost":true}`: {},
		`{"rest":true}`:         {Keeps: true},
		`{"may":{"tokens":9}}`:  {May: workflow.Budget{Tokens: many}},
		`{"may":{}}`:            {},
		`{"unknown_cost":true,"max_cost_usd":0.5}`: {May: workflow.Budget{CostUSD: half, Tokens: unknown}},
		`{"rest":true,"max_tokens":9}`:             {May: workflow.Budget{CostUSD: unknown, Tokens: many}, Keeps: true},
	} {
		var got, again engine.TaskFacts
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is decoded as %+v (%v), want %+v", text, got, err, want)
		}
		data, err := json.Marshal(got)
		if err != nil || json.Unmarshal(data, &again) != nil || again != got {
			t.Errorf("%+v is encoded as %s and decoded as %+v (%v)", got, data, again, err)
		}
	}
}

// The start of a for_each says how many items it has.
func TestItemsInFacts(t *testing.T) {
	b := chain(2)
	b.Root.Body.Nodes[0].Step = &workflow.Each{Items: workflow.Expr{Text: "inputs.items"}, Body: workflow.Graph{Nodes: []workflow.Node{{ID: "work", Step: &workflow.Task{Agent: "x"}}}}}
	run, err := engine.New(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Step(engine.Envelope{Time: time.Unix(1, 0), Event: &engine.Started{Run: "r", Version: engine.Version, Inputs: map[string]any{"items": []any{"a", "b", "c"}}}}); err != nil {
		t.Fatal(err)
	}
	for _, f := range run.Facts() {
		want := 0
		if f.Address == "n0" && f.Kind == engine.StepStarted {
			want = 3
		}
		if f.Items != want {
			t.Errorf("%+v has %d items, want %d", f, f.Items, want)
		}
	}
}
