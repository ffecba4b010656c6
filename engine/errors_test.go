package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// What cannot be evaluated fails the step, and says where the mistake is. The input n is text.
func TestFailingExpressions(t *testing.T) {
	const wrong = "inputs.n < 1"
	text := workflow.Template{Text: "${" + wrong + "}"}
	binding := []workflow.Binding{{Name: "i", Value: text.Text}}
	read := &workflow.Combine{Strategy: workflow.Array, Inputs: []workflow.Expr{{Text: "inputs.n"}}}
	nothing := &workflow.Combine{Strategy: workflow.Array, Inputs: []workflow.Expr{{Text: "inputs.missing"}}}
	when := func(text string) []workflow.Edge {
		return []workflow.Edge{{From: "a", To: workflow.End, On: workflow.OnWhen, When: workflow.Expr{Text: text}}}
	}
	const order = `expr: cannot order the text "text" and 1`
	again := &workflow.Workflow{Name: "again", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "b", Step: &workflow.Call{Workflow: "again"}}}}}
	inputs := map[string]any{
		"n": "text", "six": "6", "listed": "[7]", "none": []any{},
		"o": map[string]any{"a": nil, "b": json.Number("1"), "c": map[string]any{"d": []any{json.Number("1")}}},
		"p": map[string]any{"a": json.Number("2"), "b": nil, "c": map[string]any{"d": []any{json.Number("2")}, "e": "x"}},
	}
	for _, test := range []struct {
		node   workflow.Node
		edges  []workflow.Edge
		output string
		want   string
	}{
		{node: workflow.Node{Step: &workflow.Task{Prompt: text}}, want: "error a: prompt: " + order},
		{node: workflow.Node{Step: &workflow.Task{Inputs: binding}}, want: `error a: input "i": ` + order},
		{node: workflow.Node{Step: &workflow.Task{Settings: map[string]any{"k": text.Text}}}, want: "error a: config: " + order},
		{node: workflow.Node{Step: &workflow.Human{Question: text}}, want: "error a: question: " + order},
		{node: workflow.Node{Step: &workflow.Call{Workflow: "called", Inputs: binding}}, want: `error a: input "i": ` + order},
		{node: workflow.Node{Step: &workflow.Call{Workflow: "other"}}, want: `error a: there is no workflow "other"`},
		{node: workflow.Node{Step: &workflow.Call{Workflow: "called"}}, want: `error a: workflow "called" needs the input "i"`},
		{node: workflow.Node{Step: &workflow.Combine{Strategy: workflow.Array, Inputs: []workflow.Expr{{Text: wrong}}}}, want: "error a: " + order},
		{node: workflow.Node{Step: &workflow.Combine{Strategy: "other", Inputs: read.Inputs}}, want: `error a: unknown combine strategy "other"`},
		{node: workflow.Node{Step: nothing}, want: "error a: there is nothing to combine: every input failed, was skipped or is missing"},
		{node: workflow.Node{Step: each(wrong)}, want: "error a: for_each: " + order},
		{node: workflow.Node{Step: each("inputs.n")}, want: "error a: for_each needs a list, and inputs.n is text"},
		{node: workflow.Node{Step: each("inputs.n == 1")}, want: "error a: for_each needs a list, and inputs.n == 1 is a boolean"},
		{node: workflow.Node{Step: each("inputs.o")}, want: "error a: for_each needs a list, and inputs.o is an object"},
		{node: workflow.Node{Step: each("inputs.o.b")}, want: "error a: for_each needs a list, and inputs.o.b is a number"},
		{node: workflow.Node{Step: each("inputs.missing")}, want: "error a: for_each needs a list, and inputs.missing is null"},
		{node: workflow.Node{Step: each("inputs.none"), Output: workflow.Output{Schema: map[string]any{"type": "string"}}}, want: "error a: the output does not match its schema:\n- /: expected string, found a list of length 0"},
		{node: workflow.Node{Step: &workflow.Choice{On: workflow.Expr{Text: wrong}}}, edges: []workflow.Edge{{From: "a", To: workflow.End, On: workflow.OnLabel, Label: "x"}}, want: "error a: " + order},
		{node: workflow.Node{Step: read}, edges: when(wrong), want: `error a: condition "inputs.n < 1": ` + order},
		{node: workflow.Node{Step: read}, edges: when("inputs.n == 1"), want: "error a: no condition holds, and there is no else"},
		{node: workflow.Node{Step: read}, output: text.Text, want: `error the output of workflow "w": ` + order},
		{node: workflow.Node{Step: read}, want: `success ["text"]`},
		{node: workflow.Node{Step: merged("inputs.o", "inputs.p")}, want: `success {"a":2,"b":1,"c":{"d":[1,2],"e":"x"}}`},
		{node: workflow.Node{Step: merged("inputs.n", "inputs.six")}, want: `success "6"`},
		{node: workflow.Node{Step: merged("inputs.none", "inputs.listed")}, want: `success [7]`},
		{node: workflow.Node{Step: merged("inputs.o", "inputs.none")}, want: `error a: cannot merge an object with a list at ""`},
		{node: workflow.Node{Step: &workflow.Call{Workflow: "again"}}, want: "error a: a/b: a/b/b: workflow depth limit exceeded (3)"},
		{node: workflow.Node{Step: nothing, OnError: workflow.Continue}, edges: when(wrong), want: "error a: there is nothing to combine: every input failed, was skipped or is missing; a: condition \"inputs.n < 1\": " + order},
	} {
		test.node.ID = "a"
		called := &workflow.Workflow{Name: "called", Inputs: []workflow.Param{{Name: "i", Required: true}}, Body: chain(1).Root.Body}
		w := &workflow.Workflow{Name: "w", Output: workflow.Template{Text: test.output}, Body: workflow.Graph{Nodes: []workflow.Node{test.node}, Edges: test.edges}}
		run, err := engine.New(&workflow.Bundle{Root: w, Called: map[string]*workflow.Workflow{"called": called, "again": again}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Step(engine.Envelope{Event: &engine.Started{Version: engine.Version, Inputs: inputs, Limits: workflow.Limits{Depth: 3}}}); err != nil {
			t.Fatal(err)
		}
		res := run.Result()
		got := strings.TrimSpace(fmt.Sprintf("%s %s", res.Status, res.Error))
		if res.Output != nil {
			got += " " + workflow.FormatJSON(res.Output)
		}
		for _, warning := range res.Warnings {
			if warning != "no task ran" {
				got += "; " + warning
			}
		}
		if got != test.want {
			t.Errorf("%s: %s\nwant %s", workflow.FormatJSON(test.node), got, test.want)
		}
	}
}

func merged(inputs ...string) *workflow.Combine {
	c := &workflow.Combine{Strategy: workflow.Merge}
	for _, text := range inputs {
		c.Inputs = append(c.Inputs, workflow.Expr{Text: text})
	}
	return c
}

// each repeats a task for items.
func each(items string) *workflow.Each {
	return &workflow.Each{Items: workflow.Expr{Text: items}, Body: workflow.Graph{Nodes: []workflow.Node{{ID: "a", Step: &workflow.Task{Agent: "x"}}}}}
}

// A definition that cannot run is an error, even if nothing has checked it.
func TestInvalidDefinitions(t *testing.T) {
	task := func(id string) workflow.Node { return workflow.Node{ID: id, Step: &workflow.Task{Agent: "x"}} }
	loop := func(id string, edges ...workflow.Edge) workflow.Node {
		return workflow.Node{ID: id, Step: &workflow.Loop{Body: workflow.Graph{Nodes: []workflow.Node{task("in " + id)}, Edges: edges}}}
	}
	items := func(id string, edges ...workflow.Edge) workflow.Node {
		return workflow.Node{ID: id, Step: &workflow.Each{Body: workflow.Graph{Nodes: []workflow.Node{task("in " + id)}, Edges: edges}}}
	}
	open := workflow.Template{Text: "${"}
	for _, test := range []struct {
		nodes []workflow.Node
		edges []workflow.Edge
		want  string
	}{
		{[]workflow.Node{task("a"), task("a")}, nil, `two nodes have the id "a"`},
		{[]workflow.Node{{ID: "a", Step: &workflow.Each{}}}, nil, `for_each "a" has no steps`},
		{[]workflow.Node{{ID: "a", Step: &workflow.Task{}, Output: workflow.Output{Mode: "other"}}}, nil, `node "a": extract: unknown output mode "other"`},
		{[]workflow.Node{{ID: "a", Step: &workflow.Task{Prompt: open}}}, nil, "expr: "},
		{[]workflow.Node{{ID: "a", Step: &workflow.Task{Inputs: []workflow.Binding{{Name: "i", Value: open.Text}}}}}, nil, "expr: "},
		{[]workflow.Node{{ID: "a", Step: &workflow.Choice{On: workflow.Expr{Text: "("}}}}, nil, "expr: "},
		{[]workflow.Node{task("a")}, []workflow.Edge{{From: "b", To: "a"}}, `an edge leaves "b", which is not a node of its graph`},
		{[]workflow.Node{task("a")}, []workflow.Edge{{From: "a", To: "b"}}, `the edge from "a" leads to "b", which does not exist`},
		{[]workflow.Node{task("a")}, []workflow.Edge{{From: "a", To: workflow.Again}}, `the edge from "a" leads back to the start of a loop, but is not in a loop`},
		{[]workflow.Node{items("a", workflow.Edge{From: "in a", To: "b"}), task("b")}, nil, `the edge from "in a" to "b" leaves the for_each "a"`},
		{[]workflow.Node{items("a", workflow.Edge{From: "in a", To: workflow.Again})}, nil, `the edge from "in a" to "@again" leaves the for_each "a"`},
		{[]workflow.Node{loop("a"), task("b")}, []workflow.Edge{{From: "b", To: "in a"}}, `the edge from "b" leads into the loop or for_each around "in a"`},
		{[]workflow.Node{task("a"), task("b")}, []workflow.Edge{{From: "a", To: "b"}, {From: "b", To: "a"}}, "the nodes wait for each other in a cycle"},
		{[]workflow.Node{task("a"), task("b"), task("c")}, []workflow.Edge{{From: "a", To: "b"}, {From: "b", To: "c"}, {From: "c", To: "b"}}, "the nodes wait for each other in a cycle"},
		{[]workflow.Node{loop("a", workflow.Edge{From: "in a", To: "b"}), task("b")}, []workflow.Edge{{From: "b", To: "a"}}, "the nodes wait for each other in a cycle"},
		{[]workflow.Node{task("a"), task("a")}, []workflow.Edge{{From: "c", To: "b"}}, `two nodes have the id "a"`}, // the first mistake
		{[]workflow.Node{loop("a", workflow.Edge{From: "in a", To: "b"}, workflow.Edge{From: "in a", To: workflow.Again}), items("b", workflow.Edge{From: "in b", To: workflow.End})}, nil, ""},
	} {
		w := &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: test.nodes, Edges: test.edges}}
		_, err := engine.New(&workflow.Bundle{Root: w})
		if test.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), `engine: workflow "w": `+test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
		if _, err := engine.Fork(&workflow.Bundle{Root: w}, nil, nil, "a", "fork", workflow.Limits{}, time.Time{}); err == nil {
			t.Errorf("a run of a workflow with this mistake is forked: %s", test.want)
		}
	}
}

// A snapshot that is damaged, or belongs to something else, is refused: the events are replayed.
func TestDamagedSnapshots(t *testing.T) {
	bundle := chain(3)
	run, err := engine.New(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Step(engine.Envelope{Event: &engine.Started{Run: "r", Version: engine.Version}}); err != nil {
		t.Fatal(err)
	}
	head, state, _ := strings.Cut(string(run.Snapshot()), "\n")
	with := func(state string, changed map[string]any) []byte {
		h := map[string]any{}
		if err := json.Unmarshal([]byte(head), &h); err != nil {
			t.Fatal(err)
		}
		h["sum"] = crc32.ChecksumIEEE([]byte(state))
		for name, value := range changed {
			h[name] = value
		}
		return []byte(workflow.FormatJSON(h) + "\n" + state)
	}
	for _, test := range []struct {
		snapshot []byte
		want     string
	}{
		{[]byte("nonsense"), "engine: not a snapshot: "},
		{with(state, map[string]any{"layout": 0}), "engine: the snapshot has another version"},
		{with(state, map[string]any{"version": engine.Version + 1}), "engine: the snapshot has another version"},
		{with(state, map[string]any{"sum": 7}), "engine: the snapshot is damaged"},
		{with(state, map[string]any{"digest": "other"}), "engine: the snapshot belongs to another definition"},
		{with(state, map[string]any{"seq": 2}), "engine: the snapshot is incomplete"},
		{with(state+"x", nil), "engine: the snapshot is incomplete"},
		{with(state[:len(state)/2], nil), "engine: the snapshot cannot be read: "},
	} {
		if _, err := engine.Restore(bundle, test.snapshot); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	if _, err := engine.Restore(bundle, with(state, nil)); err != nil {
		t.Error(err)
	}
	other := &workflow.Bundle{Root: bundle.Root, Called: map[string]*workflow.Workflow{"c": chain(1).Root}}
	if _, err := engine.Restore(other, run.Snapshot()); err == nil {
		t.Error("a snapshot is restored to a bundle that calls another workflow")
	}
	broken := chain(2)
	broken.Root.Body.Edges[0].To = "nowhere"
	if restored, err := engine.Restore(broken, run.Snapshot()); restored != nil || err == nil {
		t.Error("a snapshot is restored to a bundle that cannot run")
	}
}

// What cannot be stored, or read, is an error.
func TestEventsThatCannotBeStored(t *testing.T) {
	for _, e := range []engine.Envelope{
		{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), Event: &engine.Recovered{}},
		{Event: &engine.TaskEnded{Usage: engine.Usage{CostUSD: math.NaN()}}},
	} {
		if line, err := engine.Encode(e); err == nil {
			t.Errorf("it is encoded as %s", line)
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if line, err := engine.Encode(engine.Envelope{Time: at, Event: &engine.Withdrawn{ID: "<"}}); string(line) != `{"type":"Withdrawn","time":"2026-01-02T03:04:05Z","id":"<"}` {
		t.Errorf("it is encoded as %s (%v)", line, err)
	}
	for text, want := range map[string]string{
		`nonsense`:                          "engine: not an event: ",
		`{"type":"Recovered`:                "engine: not an event: ",
		`{"type":"Exploded"}`:               `engine: unknown event "Exploded"; update hocket`,
		`{"type":"Recovered","time":5}`:     "engine: decode Recovered: ",
		`{"type":"TaskEnded","attempt":"1"`: "engine: decode TaskEnded: ",
		`{"type":"TaskEnded","attempt":{}}`: "engine: decode TaskEnded: ",
	} {
		if e, err := engine.Decode([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s is decoded as %v, %v, want %q", text, e, err, want)
		}
	}
}

// Outputs that cannot be loaded are reported wherever they are needed.
func TestOutputsThatCannotBeLoaded(t *testing.T) {
	b := chain(3)
	last := b.Root.Body.Nodes[2].Step.(*workflow.Task)
	last.Context, last.Inputs = workflow.PreviousContext, []workflow.Binding{{Name: "i", Value: "${nodes.n0.output}"}}
	run, err := engine.New(b)
	if err != nil {
		t.Fatal(err)
	}
	broken := map[int]bool{}
	run.Offload(3, func(seq int) (string, error) {
		if broken[seq] {
			return "", errors.New("damage")
		}
		return "long", nil
	})
	var cmds []engine.Command
	for i, ev := range []engine.Event{
		&engine.Started{Run: "r", Version: engine.Version},
		&engine.TaskEnded{Address: "n0", Attempt: 1, Output: "long"},
		&engine.TaskEnded{Address: "n1", Attempt: 1, Output: "long"},
	} {
		if cmds, err = run.Step(engine.Envelope{Seq: i + 1, Time: time.Unix(1, 0), Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	start := cmds[0].(*engine.StartTask)
	whole, err := start.Whole()
	if want := []engine.Input{{Name: "i", Value: "long"}}; err != nil || !cmp.Equal(whole.Inputs, want) {
		t.Errorf("the inputs are %v (%v), want %v", whole.Inputs, err, want)
	}
	if want := []engine.Received{{Step: "n1", Output: "long"}}; !cmp.Equal(whole.Received, want) {
		t.Errorf("%v is received, want %v", whole.Received, want)
	}
	long := start.Inputs[0].Value.(*engine.Long)
	if data, err := json.Marshal(long); string(data) != `"long"` || err != nil || long.String() != "long" {
		t.Errorf("the input is %s, %s (%v)", data, long, err)
	}
	for seq, node := range map[int]string{2: "n0", 3: "n1"} {
		clear(broken)
		broken[seq] = true
		want := fmt.Sprintf("cannot load the output of %q, event %d: damage", node, seq)
		if _, err := start.Whole(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	broken[2] = true
	want := `cannot load the output of "n0", event 2: damage`
	if _, err := json.Marshal(long); err == nil || !strings.HasSuffix(err.Error(), want) || long.String() != want {
		t.Errorf("%v and %s, want %s", err, long, want)
	}
	restored, err := engine.Restore(b, run.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	_, err = restored.Pending()[0].(*engine.StartTask).Whole()
	if err == nil || !strings.HasSuffix(err.Error(), "the run was restored without access to its outputs") {
		t.Errorf("without access to its outputs, a restored run returns %v", err)
	}
}

// A workflow without steps ends at once.
func TestNothingToDo(t *testing.T) {
	run, err := engine.New(&workflow.Bundle{Root: &workflow.Workflow{Name: "w", Inputs: []workflow.Param{{Name: "i", Required: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := run.Result(); got.Status != engine.Running || got.Usage.Steps != 0 || len(run.Pending()) > 0 || !run.Due().IsZero() {
		t.Errorf("before its start, the run is %+v", got)
	}
	for inputs, want := range map[*map[string]any]string{
		{}:             `error workflow "w" needs the input "i" [no task ran]`,
		{"i": "given"}: `success  [no task ran]`,
	} {
		run := run.Fresh()
		if _, err := run.Step(engine.Envelope{Event: &engine.Started{Version: engine.Version, Inputs: *inputs}}); err != nil {
			t.Fatal(err)
		}
		if res := run.Result(); fmt.Sprintf("%s %s %v", res.Status, res.Error, res.Warnings) != want {
			t.Errorf("with %v, the run is %+v, want %s", inputs, res, want)
		}
	}
}

// A run without inputs gets the defaults, and its own inputs are not changed.
func TestDefaultsWithoutInputs(t *testing.T) {
	w := &workflow.Workflow{Name: "w", Inputs: []workflow.Param{{Name: "x", HasDefault: true, Default: "cats"}}}
	w.Body.Nodes = []workflow.Node{{ID: "a", Step: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: "${inputs.x}"}}}}
	for _, given := range []map[string]any{nil, {}, {"x": "dogs"}} {
		run, err := engine.New(&workflow.Bundle{Root: w})
		if err != nil {
			t.Fatal(err)
		}
		size := len(given)
		commands, err := run.Step(engine.Envelope{Time: time.Unix(1e9, 0), Event: &engine.Started{Run: "r", Version: engine.Version, Inputs: given}})
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: "cats", true: "dogs"}[size > 0]
		if start, ok := commands[0].(*engine.StartTask); !ok || start.Prompt != want || len(given) != size {
			t.Errorf("%v: %+v", given, commands[0])
		}
	}
}

// A workflow that calls itself without a limit ends, however it was started.
func TestCallsWithoutEnd(t *testing.T) {
	again := workflow.Node{ID: "again", Step: &workflow.Call{Workflow: "self"}}
	w := &workflow.Workflow{Name: "self", Body: workflow.Graph{Nodes: []workflow.Node{again}}}
	r, err := engine.New(&workflow.Bundle{Root: w, Called: map[string]*workflow.Workflow{"self": w}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Step(engine.Envelope{Time: time.Now(), Event: &engine.Started{Run: "r", Version: engine.Version}}); err != nil || r.Status() != engine.Failed {
		t.Errorf("%s, %v", r.Status(), err)
	}
}
