package check_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/workflow"
)

// A definition that no notation can write may still come from a program. Each case breaks a valid
// definition in one place.
var storedCases = []struct {
	code, text string
	spoil      func(w *workflow.Workflow)
}{
	{"model-invalid", `node "a" does nothing`, func(w *workflow.Workflow) { w.Body.Nodes[0].Step = nil }},
	{"model-invalid", `unknown on_error "explode"`, func(w *workflow.Workflow) { w.Body.Nodes[0].OnError = "explode" }},
	{"model-invalid", `unknown backoff "wild"`, func(w *workflow.Workflow) { w.Body.Nodes[0].Retry.Backoff = "wild" }},
	{"model-invalid", `unknown output mode "xml"`, func(w *workflow.Workflow) { w.Body.Nodes[0].Output.Mode = "xml" }},
	{"model-invalid", `unknown strategy "average"`, func(w *workflow.Workflow) { w.Body.Nodes[2].Step.(*workflow.Combine).Strategy = "average" }},
	{"model-invalid", `loop "round" has an empty body`, func(w *workflow.Workflow) { round(w).Body = workflow.Graph{} }},
	{"model-invalid", `for_each "each" has an empty body`, func(w *workflow.Workflow) { each(w).Body = workflow.Graph{} }},
	{"model-invalid", `for_each "each" has no items`, func(w *workflow.Workflow) { each(w).Items.Text = "" }},
	{"model-invalid", `"call" calls no workflow`, func(w *workflow.Workflow) { w.Body.Nodes[4].Step.(*workflow.Call).Workflow = "" }},
	{"model-invalid", `unknown type "date"`, func(w *workflow.Workflow) { w.Inputs[0].Type = "date" }},
	{"model-invalid", `"a" has unknown context "all"`, func(w *workflow.Workflow) { w.Body.Nodes[0].Step.(*workflow.Task).Context = "all" }},
	{"model-invalid", `"a" has both a condition and a question`, func(w *workflow.Workflow) {
		w.Body.Nodes[0].Step = &workflow.Choice{On: workflow.Expr{Text: "true"}, Ask: &workflow.Task{}}
	}},
	{"model-invalid", `the question of "a" has inputs, a context, handoffs or branches`, func(w *workflow.Workflow) {
		w.Body.Nodes[0].Step = &workflow.Choice{Ask: &workflow.Task{Inputs: []workflow.Binding{{Name: "x", Value: "1"}}}}
	}},
	{"model-invalid", `the question of "a" has inputs, a context, handoffs or branches`, func(w *workflow.Workflow) {
		w.Body.Nodes[0].Step = &workflow.Choice{Ask: &workflow.Task{Context: workflow.NoContext}}
	}},
	{"model-invalid", `the question of "a" has inputs, a context, handoffs or branches`, func(w *workflow.Workflow) {
		w.Body.Nodes[0].Step = &workflow.Choice{Ask: &workflow.Task{Handoffs: &workflow.Handoffs{To: []string{"writer"}}}}
	}},
	{"limit-negative", `handoffs max of "a" is negative`, func(w *workflow.Workflow) {
		w.Body.Nodes[0].Step.(*workflow.Task).Handoffs = &workflow.Handoffs{To: []string{"writer"}, Max: -1}
	}},
	{"limit-negative", `handoffs depth of "a" is negative`, func(w *workflow.Workflow) {
		w.Body.Nodes[0].Step.(*workflow.Task).Handoffs = &workflow.Handoffs{To: []string{"writer"}, Depth: -1}
	}},
	{"model-invalid", `state "list" contains a Go int`, func(w *workflow.Workflow) { w.State["list"] = []any{map[string]any{"n": 1}} }},
	{"model-invalid", `the default of input "topic" contains a Go int`, func(w *workflow.Workflow) { w.Inputs[0].Default = 1 }},
	{"model-invalid", `leaves "nobody"`, func(w *workflow.Workflow) { w.Body.Edges[0].From = "nobody" }},
	{"model-invalid", `leaves "work", which is not in its graph`, func(w *workflow.Workflow) { w.Body.Edges[0].From = "work" }},
	{"model-invalid", `leaves the loop "round"`, func(w *workflow.Workflow) { w.Body.Edges[0].From = "round" }},
	{"model-invalid", `unknown kind "maybe"`, func(w *workflow.Workflow) { w.Body.Edges[0].On = "maybe" }},
	{"model-invalid", `must have a label`, func(w *workflow.Workflow) { w.Body.Edges[0].Label = "x" }},
	{"model-invalid", `must have a condition`, func(w *workflow.Workflow) { w.Body.Edges[0].On = workflow.OnWhen }},
	{"edge-target-unknown", `"a" leads to "b2", which does not exist`, func(w *workflow.Workflow) { w.Body.Edges[0].To = "b2" }},
	{"duplicate-id", `"a" is used twice`, func(w *workflow.Workflow) { w.Body.Nodes[2].ID = "a" }},
	{"duplicate-id", `"a" is used twice`, func(w *workflow.Workflow) { each(w).Body.Nodes[0].ID = "a" }},
	{"duplicate-id", `"round" is used twice`, func(w *workflow.Workflow) { round(w).Body.Nodes[0].ID = "round" }},
	{"id-invalid", `this task has no id`, func(w *workflow.Workflow) { w.Body.Nodes[0].ID = "" }},
	{"duplicate-input", `input "topic" is declared twice`, func(w *workflow.Workflow) { w.Inputs = append(w.Inputs, w.Inputs[0]) }},
	{"duplicate-input", `input "x" of "a" is given twice`, func(w *workflow.Workflow) {
		w.Body.Nodes[0].Step.(*workflow.Task).Inputs = []workflow.Binding{{Name: "x", Value: "1"}, {Name: "x", Value: "2"}}
	}},
	{"regex-invalid", `the pattern of "a"`, func(w *workflow.Workflow) {
		w.Body.Nodes[0].Output = workflow.Output{Mode: workflow.Regex, Pattern: "("}
	}},
	{"jsonpath-invalid", `the path of "a"`, func(w *workflow.Workflow) {
		w.Body.Nodes[0].Output = workflow.Output{Mode: workflow.JSONPath, Pattern: "["}
	}},
	{"schema-invalid", `the schema of "a"`, func(w *workflow.Workflow) {
		w.Body.Nodes[0].Output = workflow.Output{Mode: workflow.JSON, Schema: map[string]any{"type": "x"}}
	}},
	{"each-not-list", `for_each of "each"`, func(w *workflow.Workflow) { each(w).Items.Text = "3" }},
	{"limit-negative", `limit max_steps is negative`, func(w *workflow.Workflow) { w.Limits.Steps = -1 }},
	{"limit-negative", `limit max_cost_usd is negative`, func(w *workflow.Workflow) { w.Limits.CostUSD = -1 }},
	{"limit-negative", `timeout of "a" is negative`, func(w *workflow.Workflow) { w.Body.Nodes[0].Timeout = -1 }},
	{"limit-negative", `join of "a" is negative`, func(w *workflow.Workflow) { w.Body.Nodes[0].Join.Need = -1 }},
	{"limit-negative", `max of "round" is negative`, func(w *workflow.Workflow) { round(w).Max = -1 }},
	{"limit-negative", `max of "each" is negative`, func(w *workflow.Workflow) { each(w).Parallel = -1 }},
	{"limit-negative", `limit max_parallel is negative`, func(w *workflow.Workflow) { w.Limits.Parallel = -1 }},
	{"limit-negative", `limit max_depth is negative`, func(w *workflow.Workflow) { w.Limits.Depth = -1 }},
	{"limit-negative", `limit max_runtime is negative`, func(w *workflow.Workflow) { w.Limits.Runtime = -1 }},
	{"limit-negative", `limit max_tokens is negative`, func(w *workflow.Workflow) { w.Limits.Tokens = -1 }},
	{"limit-negative", `retry attempts of "a" is negative`, func(w *workflow.Workflow) { w.Body.Nodes[0].Retry.Attempts = -1 }},
	{"limit-negative", `retry delay of "a" is negative`, func(w *workflow.Workflow) { w.Body.Nodes[0].Retry.Delay = -1 }},
	{"limit-negative", `retry max_delay of "a" is negative`, func(w *workflow.Workflow) { w.Body.Nodes[0].Retry.MaxDelay = -1 }},
	{"output-pattern-missing", `output mode jsonpath of "a" has no pattern`, func(w *workflow.Workflow) { w.Body.Nodes[0].Output.Mode = workflow.JSONPath }},
}

func round(w *workflow.Workflow) *workflow.Loop { return w.Body.Nodes[1].Step.(*workflow.Loop) }
func each(w *workflow.Workflow) *workflow.Each  { return w.Body.Nodes[3].Step.(*workflow.Each) }

// sound returns a valid definition.
func sound() workflow.Bundle {
	task := func(id string) workflow.Node {
		return workflow.Node{ID: id, Step: &workflow.Task{Agent: "writer"}}
	}
	child := &workflow.Workflow{Name: "child", Body: workflow.Graph{Nodes: []workflow.Node{task("only")}}}
	return workflow.Bundle{Called: map[string]*workflow.Workflow{"child": child}, Root: &workflow.Workflow{
		Name:   "sound",
		Inputs: []workflow.Param{{Name: "topic", Required: true}},
		Limits: workflow.Limits{Steps: 1000},
		State:  map[string]any{"list": []any{json.Number("1")}},
		Body: workflow.Graph{
			Nodes: []workflow.Node{
				task("a"),
				{ID: "round", Step: &workflow.Loop{Max: 2, Body: workflow.Graph{
					Nodes: []workflow.Node{task("work")},
					Edges: []workflow.Edge{
						{From: "work", To: workflow.Again, On: workflow.OnLabel, Label: "more"},
						{From: "work", To: "sum", On: workflow.OnElse},
					},
				}}},
				{ID: "sum", Step: &workflow.Combine{Strategy: workflow.Array, Inputs: []workflow.Expr{{Text: "nodes.a.output"}}}},
				{ID: "each", Step: &workflow.Each{Items: workflow.Expr{Text: "vars.list"}, Body: workflow.Graph{Nodes: []workflow.Node{task("each")}}}},
				{ID: "call", Step: &workflow.Call{Workflow: "child"}},
			},
			Edges: []workflow.Edge{{From: "a", To: "round"}, {From: "sum", To: "each"}, {From: "each", To: "call"}},
		},
	}}
}

func TestSoundDefinition(t *testing.T) {
	if found := check.Run(check.Input{Bundle: sound(), Agents: cast{}}); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

func TestStoredDefinitions(t *testing.T) {
	for _, tc := range storedCases {
		t.Run(tc.code+" "+tc.text, func(t *testing.T) {
			b := sound()
			b.Root.Pos.Line = 1
			for i := range b.Root.Body.Nodes {
				b.Root.Body.Nodes[i].Pos.Line = i + 10
			}
			tc.spoil(b.Root)
			found := check.Run(check.Input{Bundle: b, Agents: cast{}})
			for _, d := range found {
				if d.Code == tc.code && strings.Contains(d.Summary, tc.text) {
					if strings.Contains(tc.text, `of "a"`) && d.Line != 10 || strings.Contains(tc.text, `of "each"`) && d.Line != 13 {
						t.Errorf("it is in line %d", d.Line)
					}
					return
				}
			}
			t.Errorf("found %v", found)
		})
	}
}

// No rule of the model rejects one of its own words.
func TestWordsOfTheModel(t *testing.T) {
	accepted := func(what any, set func(w *workflow.Workflow)) {
		b := sound()
		set(b.Root)
		for _, d := range check.Run(check.Input{Bundle: b, Agents: cast{}}) {
			if d.Code == "model-invalid" {
				t.Errorf("%v: %v", what, d)
			}
		}
	}
	for _, word := range []workflow.ParamType{workflow.AnyType, workflow.StringType, workflow.NumberType, workflow.IntegerType, workflow.BooleanType, workflow.ArrayType, workflow.ObjectType} {
		accepted(word, func(w *workflow.Workflow) { w.Inputs[0].Type = word })
	}
	for _, word := range []workflow.OnError{workflow.Stop, workflow.Continue, workflow.SkipDependents} {
		accepted(word, func(w *workflow.Workflow) { w.Body.Nodes[0].OnError = word })
	}
	for _, word := range []workflow.Backoff{workflow.Fixed, workflow.Linear, workflow.Exponential} {
		accepted(word, func(w *workflow.Workflow) { w.Body.Nodes[0].Retry.Backoff = word })
	}
	for _, word := range []workflow.OutputMode{workflow.Full, workflow.JSON, workflow.JSONPath, workflow.Regex, workflow.FirstLine} {
		accepted(word, func(w *workflow.Workflow) { w.Body.Nodes[0].Output.Mode = word })
	}
	for _, word := range []workflow.Context{workflow.AutoContext, workflow.PreviousContext, workflow.NoContext} {
		accepted(word, func(w *workflow.Workflow) { w.Body.Nodes[0].Step.(*workflow.Task).Context = word })
	}
	for _, word := range []workflow.Strategy{workflow.Concatenate, workflow.Merge, workflow.Array, workflow.First, workflow.Vote} {
		accepted(word, func(w *workflow.Workflow) { w.Body.Nodes[2].Step.(*workflow.Combine).Strategy = word })
	}
	for _, e := range []workflow.Edge{
		{On: workflow.OnSuccess}, {On: workflow.OnLabel, Label: "x"}, {On: workflow.OnWhen, When: workflow.Expr{Text: "true"}},
		{On: workflow.OnElse}, {On: workflow.OnFailure}, {On: workflow.OnTimeout},
	} {
		e.From, e.To = "a", "round"
		accepted(e.On, func(w *workflow.Workflow) { w.Body.Edges[0] = e })
	}
	accepted("values", func(w *workflow.Workflow) {
		w.State = map[string]any{"all": []any{nil, true, "x", json.Number("1"), map[string]any{"deep": []any{}}}}
	})
}

func TestCheckOfEmptyInput(t *testing.T) {
	if found := check.Run(check.Input{}); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// TestEveryRuleHasAFixture fails if a rule has no example of what it finds.
func TestEveryRuleHasAFixture(t *testing.T) {
	covered := make(map[string]bool)
	for _, root := range fixtures(t) {
		expected := make(wants)
		load(t, root, ".yml", expected)
		for _, list := range expected {
			for _, w := range list {
				covered[w.code] = true
			}
		}
	}
	for _, tc := range storedCases {
		covered[tc.code] = true
	}
	for _, tc := range builtCases {
		covered[tc.code] = true
	}
	for _, r := range check.Rules() {
		if !covered[r.Code] {
			t.Errorf("rule %s has no fixture", r.Code)
		}
	}
}
