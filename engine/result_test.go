package engine_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// A result is the same after it was sent from a server to a client.
func TestResultSurvivesJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	used := engine.Usage{CostUSD: 0.25, CostUnknown: true, TokensIn: 10, TokensOut: 20}
	want := engine.Result{
		Run: "demo-1", Status: engine.Partial, Error: "boom", Warnings: []string{"careful"}, Usage: engine.RunUsage{Steps: 2, Usage: used, Planning: used},
		Limits: workflow.Limits{Steps: 7, Parallel: 2, Depth: 3, Runtime: time.Minute, CostUSD: 1.5, Tokens: 1000, Replans: 1}, Active: 3 * time.Second,
		Output: map[string]any{"exact": json.Number("12345678901234567890"), "list": []any{"x", nil, true}},
		Steps: []engine.StepResult{
			{Address: "a#2", Node: "a", Agent: "shell", Status: engine.Success, Output: json.Number("1.10"), DurationMS: 5, Attempts: 2, Iteration: 2, StepIndex: 1,
				Started: at, Ended: at.Add(5 * time.Millisecond), Usage: used, Workspace: "w", Prompt: "Again.", Unsent: true, Effect: true, Error: "boom"},
			{Address: "b", Node: "b", Status: engine.Skipped},
		},
	}
	everySet(t, want)
	everySet(t, want.Steps[0])
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got engine.Result
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-sent +received):\n%s", diff)
	}
}

// everySet fails if a field is zero, so that a new field is tested, too.
func everySet(t *testing.T, of any) {
	t.Helper()
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%T.%s is not set", of, v.Type().Field(i).Name)
		}
	}
}
