package workflow_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow"
)

// everything returns a workflow that uses every field of the model once.
func everything() *workflow.Workflow {
	return &workflow.Workflow{
		Name: "everything", Description: "Every field, once.",
		Inputs: []workflow.Param{{Name: "topic", Type: workflow.StringType, Required: true, Description: "what about"}, {Name: "n", HasDefault: true, Default: json.Number("12345678901234567890")}},
		State:  map[string]any{"notes": []any{}, "draft": nil},
		Agents: []workflow.AgentRef{{Name: "Writer", Role: "writer", Color: "LightBlue"}},
		Limits: workflow.Limits{Steps: 7, Parallel: 2, Depth: 3, Runtime: 90 * time.Second, CostUSD: 0.5, Tokens: 1000},
		Output: workflow.Template{Text: "${vars.draft}"},
		Body: workflow.Graph{
			Nodes: []workflow.Node{
				{ID: "loop", Step: &workflow.Loop{Max: 3, Body: workflow.Graph{
					Nodes: []workflow.Node{
						{ID: "write", Title: "Write it", Step: &workflow.Task{Agent: "Writer", Prompt: workflow.Template{Text: "Write about ${inputs.topic} <now>"}, Inputs: []workflow.Binding{{Name: "old", Value: "${vars.draft ?? \"none\"}"}}, Settings: map[string]any{"temperature": json.Number("0.2")}}, Output: workflow.Output{Var: "draft", Mode: workflow.JSON, Schema: map[string]any{"type": "object"}}, Retry: workflow.Retry{Attempts: 3, Backoff: workflow.Exponential, Delay: time.Second, MaxDelay: time.Minute}, Timeout: time.Minute, Once: true, Labels: map[string]string{"team": "docs"}},
						{ID: "choice", Step: &workflow.Choice{}},
					},
					Edges: []workflow.Edge{
						{From: "write", To: "choice"},
						{From: "choice", To: "gate", On: workflow.OnWhen, When: workflow.Expr{Text: "vars.draft.pass == true"}},
						{From: "choice", To: workflow.Again, On: workflow.OnElse},
					},
				}}},
				{ID: "gate", Step: &workflow.Human{Question: workflow.Template{Text: "Ship?"}, Options: []workflow.Option{{Value: "yes", Label: "Yes", Description: "ship it"}, {Value: "no"}}, Custom: true, Required: true}},
				{ID: "scan", Step: &workflow.Each{Items: workflow.Expr{Text: "vars.notes"}, As: "note", Parallel: 4, Body: workflow.Graph{Nodes: []workflow.Node{{ID: "scan", Step: &workflow.Call{Workflow: "child", Inputs: []workflow.Binding{{Name: "x", Value: map[string]any{"deep": "${item}"}}}}}}}}, OnError: workflow.Continue, Group: "g"},
				{ID: "sum", Step: &workflow.Combine{Strategy: workflow.Concatenate, Inputs: []workflow.Expr{{Text: "vars.draft"}}, Separator: "--"}, Join: workflow.Join{Need: 1, Keep: true}},
				{ID: "good?", Step: &workflow.Choice{Ask: &workflow.Task{Agent: "Writer", Prompt: workflow.Template{Text: "Is it good?"}, Context: workflow.NoContext}}, Output: workflow.Output{Mode: workflow.Regex, Pattern: "(yes|no)"}},
				{ID: "which", Step: &workflow.Choice{On: workflow.Expr{Text: "vars.draft"}}, Output: workflow.Output{Schema: true}, Retry: workflow.Retry{Attempts: 2}},
			},
			Edges: []workflow.Edge{
				{From: "gate", To: "scan", On: workflow.OnLabel, Label: "yes"},
				{From: "gate", To: workflow.End, On: workflow.OnTimeout},
				{From: "scan", To: "sum"},
				{From: "scan", To: "sum", On: workflow.OnFailure},
			},
		},
	}
}

func TestStoredWorkflowRoundTrip(t *testing.T) {
	want := everything()
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := workflow.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored and read again (-want +got):\n%s", diff)
	}
	if workflow.Digest(want) != workflow.Digest(got) {
		t.Error("the digest changed")
	}
}

// A digest identifies what was approved and what a run was started with. If a property is not
// printed, or printed differently, the digest is that of another workflow.
func TestPrint(t *testing.T) {
	const want = `workflow everything
  description "Every field, once."
  input topic string required description="what about"
  input n default=12345678901234567890
  state draft = null
  state notes = []
  lane Writer role=writer
  limits steps=7 parallel=2 depth=3 runtime=1m30s cost_usd=0.5 tokens=1000
  output "${vars.draft}"
  node loop loop
    max 3
    node write task
      agent Writer
      prompt "Write about ${inputs.topic} <now>"
      with old = "${vars.draft ?? \"none\"}"
      setting temperature = 0.2
      output var=draft mode=json schema={"type":"object"}
      retry attempts=3 backoff=exponential delay=1s max_delay=1m0s
      timeout 1m0s
      effect once
      label team = docs
    node choice choice
    edge write -> choice
    edge choice -> gate when "vars.draft.pass == true"
    edge choice -> @again else
  node gate human
    question "Ship?"
    option yes label=Yes description="ship it"
    option no
    custom
    required
  node scan each
    items vars.notes
    as note
    parallel 4
    node scan call
      workflow child
      with x = {"deep":"${item}"}
    group g
    on_error continue
  node sum combine
    strategy concatenate
    from vars.draft
    separator --
    join need=1 keep=true
  node "good?" choice
    agent Writer
    ask "Is it good?"
    context none
    output mode=regex pattern="(yes|no)"
  node which choice
    on vars.draft
    output schema=true
    retry attempts=2 backoff=fixed delay=0s max_delay=0s
  edge gate -> scan label yes
  edge gate -> @end timeout
  edge scan -> sum
  edge scan -> sum error
`
	if diff := cmp.Diff(want, workflow.Print(everything())); diff != "" {
		t.Errorf("printed otherwise (-want +got):\n%s", diff)
	}
	nothing := &workflow.Workflow{Agents: []workflow.AgentRef{{Name: "a"}}, Body: workflow.Graph{Nodes: []workflow.Node{
		{ID: "a b", Retry: workflow.Retry{Attempts: 1, Delay: time.Second}, Step: &workflow.Loop{Max: workflow.DefaultMaxIterations}}, {ID: "AZ-az_09.@"}, {ID: "["}, {ID: "`"}, {ID: "{"}, {ID: "/"}, {ID: ":"},
	}}}
	const short = "workflow \"\"\n  node \"a b\" loop\n  node AZ-az_09.@ none\n  node \"[\" none\n  node \"`\" none\n  node \"{\" none\n  node \"/\" none\n  node \":\" none\n"
	if diff := cmp.Diff(short, workflow.Print(nothing)); diff != "" {
		t.Errorf("printed otherwise (-want +got):\n%s", diff)
	}
}

// Journals contain definitions stored by older versions: a step with its kind next to it, a
// position as an object.
func TestDefinitionsOfOlderVersions(t *testing.T) {
	const old = `{"Name":"w","Body":{"Nodes":[
		{"Kind":"loop","Step":{"Body":{"Nodes":[{"Kind":"task","Step":{"Agent":"x","Inputs":null},"ID":"a","Timeout":0,"OnError":"",
			"Pos":{"file":"a \"b\".yml","line":4,"column":10,"end_line":5,"end_column":12}}],"Edges":null},"Max":2},"ID":"l"}],"Edges":null}}`
	got, err := workflow.Decode([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	pos := workflow.Pos{File: `a "b".yml`, Line: 4, Column: 10, EndLine: 5, EndColumn: 12}
	body := workflow.Graph{Nodes: []workflow.Node{{ID: "a", Step: &workflow.Task{Agent: "x"}, Pos: pos}}}
	want := &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "l", Step: &workflow.Loop{Max: 2, Body: body}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	for bad, want := range map[string]string{
		`{"Body":{"Nodes":[{"Kind":"dance","Step":{},"ID":"a"}]}}`: `unknown kind "dance"`, `{"Body":{"Nodes":[{"ID":"a"}]}}`: "unknown kind", `{"Body":{"Nodes":5}}`: "number", `{"Body":5}`: "number",
		`{"Pos":"4:1-4"}`: "invalid syntax", `{"Pos":"x"}`: "invalid syntax", `{"Pos":4}`: "number", `{"Pos":"4:1-4:x f"}`: `"x"`,
	} {
		if _, err := workflow.Decode([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
}

// Every kind of step can still be read in the form in which older versions stored it.
func TestStepsOfOlderVersions(t *testing.T) {
	for _, kind := range []string{"task", "human", "call", "choice", "combine", "loop", "each"} {
		w, err := workflow.Decode([]byte(`{"Body":{"Nodes":[{"Kind":"` + kind + `","Step":{},"ID":"a"}]}}`))
		if err != nil {
			t.Error(err)
		} else if n := w.Body.Nodes[0]; n.Kind() != kind || n.ID != "a" {
			t.Errorf("a %s is read as a %s", kind, n.Kind())
		}
	}
	if _, err := workflow.Decode([]byte(`{"Body":{"Nodes":[{"Kind":"task","Step":{"Agent":7},"ID":"a"}]}}`)); err == nil {
		t.Error("a number is the name of an agent")
	}
}

func TestStoredBundle(t *testing.T) {
	called := everything()
	called.Name = "child"
	want := &workflow.Bundle{Root: everything(), Called: map[string]*workflow.Workflow{"child": called}}
	stored, err := workflow.Store(want)
	if err != nil {
		t.Fatal(err)
	}
	data, plain := []byte(workflow.FormatJSON(stored)), []byte(workflow.FormatJSON(want))
	for _, text := range [][]byte{data, plain} { // older versions wrote the second
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var read workflow.StoredBundle
		if err := dec.Decode(&read); err != nil {
			t.Fatal(err)
		}
		got, err := read.Bundle()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stored and read again (-want +got):\n%s", diff)
		}
	}
	good, bad := &workflow.Workflow{}, &workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{{ID: "a"}}}}
	for _, b := range []workflow.Bundle{{Root: bad}, {Root: good, Called: map[string]*workflow.Workflow{"x": bad}}} {
		if _, err := workflow.Store(&b); err == nil || err.Error() != `workflow: node "a" has no step` {
			t.Errorf("a node without a step was stored: %v", err)
		}
	}
	if _, err := json.Marshal(bad); err == nil || !strings.Contains(err.Error(), "has no step") {
		t.Errorf("a node without a step was written: %v", err)
	}
	if alone, err := workflow.Store(&workflow.Bundle{Root: good}); err != nil || alone.Root == nil {
		t.Errorf("a workflow that calls none is stored as %+v, %v", alone, err)
	} else if b, err := alone.Bundle(); err != nil || !cmp.Equal(good, b.Root) {
		t.Errorf("an empty workflow is read as %+v, %v", b.Root, err)
	}
	const step = `{"Body":{"Nodes":[{"ID":"a"}]}}`
	for _, text := range []string{`{"Root":` + step + `}`, `{"Root":{},"Called":{"x":` + step + `}}`} {
		var read workflow.StoredBundle
		if err := json.Unmarshal([]byte(text), &read); err != nil {
			t.Fatal(err)
		}
		if _, err := read.Bundle(); err == nil || err.Error() != `workflow: node "a" has a step of unknown kind` {
			t.Errorf("%s was read: %v", text, err)
		}
	}
	empty, err := workflow.Store(&workflow.Bundle{})
	if err != nil || empty.Root != nil || empty.Called != nil {
		t.Errorf("nothing is stored as %+v, %v", empty, err)
	}
	if b, err := empty.Bundle(); err != nil || b.Root != nil || b.Called != nil {
		t.Errorf("nothing is read as %+v, %v", b, err)
	}
}

func TestStoredPositions(t *testing.T) {
	for _, want := range []workflow.Pos{
		{},
		{File: "flow.yml", Line: 4, Column: 10, EndLine: 5, EndColumn: 12},
		{File: "a b\t\"ü\" \\ <x>.yml", Line: 1, Column: 1, EndLine: 1, EndColumn: 1},
		{File: "=a =b.yml", Line: 1, Column: 1, EndLine: 1, EndColumn: 1},
		{Part: "step 3 of the builder", Line: 3, EndLine: 3},
	} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if file, part := strings.Contains(string(data), " "+want.File), strings.Contains(string(data), "="+want.Part); want.File == "flow.yml" && !file || want.Part != "" && !part {
			t.Errorf("%+v is stored as %s", want, data)
		}
		var got workflow.Pos
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Errorf("%+v is stored as %s and read as %+v, %v", want, data, got, err)
		}
	}
}

func TestDiagnosticsForPrograms(t *testing.T) {
	for _, want := range []workflow.Diagnostic{
		{Pos: workflow.Pos{File: "a.yml", Line: 1, Column: 2, EndLine: 3, EndColumn: 4}, Severity: workflow.Error, Code: "c", Summary: "<a> & b", Detail: "do it", Fix: &workflow.Fix{}},
		{Pos: workflow.Pos{Part: "step 1", Line: 1, EndLine: 1}, Severity: workflow.Note, Code: "c", Summary: "s"},
		{Severity: workflow.Warning, Code: "c", Summary: "s"},
	} {
		data := workflow.FormatJSON(want)
		var got workflow.Diagnostic
		if err := json.Unmarshal([]byte(data), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", data, diff)
		}
		if strings.Contains(data, `"file"`) == (want.Part != "") || !strings.Contains(data, `"detail"`) || strings.Contains(data, `\u003c`) {
			t.Errorf("written as %s", data)
		}
	}
}

func TestInvalidDiagnosticJSON(t *testing.T) {
	for _, text := range []string{`{"line":"x"}`, `[]`} {
		if err := json.Unmarshal([]byte(text), &workflow.Diagnostic{}); err == nil {
			t.Errorf("%s is a diagnostic", text)
		}
	}
}

func TestDigestLeavesOutDecoration(t *testing.T) {
	plain, decorated := everything(), everything()
	decorated.Body.Nodes[1].Title = "The gate"
	decorated.Body.Nodes[1].Pos = workflow.Pos{Line: 9, Column: 2}
	decorated.Agents[0].Color = "Red"
	if workflow.Digest(plain) != workflow.Digest(decorated) {
		t.Error("title, position or colour changed the digest")
	}
	decorated.Body.Nodes[1].Join.Need = 2
	if workflow.Digest(plain) == workflow.Digest(decorated) {
		t.Error("a changed join did not change the digest")
	}
}

func TestAt(t *testing.T) {
	v, err := workflow.ParseJSON([]byte(`{"a": [{"b": 1}, null], "": "x"}`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a/0/b": "1", "a/1": "", "a/2": "", "a/-1": "", "a/x": "", "a/0/b/c": "", "": "x", "missing/0": "",
	} {
		if got := workflow.FormatText(workflow.At(v, strings.Split(path, "/"))); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}
