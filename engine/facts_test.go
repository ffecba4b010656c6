package engine_test

import (
	"encoding/json"
	"testing"

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
