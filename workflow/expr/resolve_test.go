package expr_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// task returns a node with a prompt that writes a variable.
func task(id, prompt, variable string) workflow.Node {
	return workflow.Node{ID: id, Step: &workflow.Task{Prompt: workflow.Template{Text: prompt, Src: workflow.Source{Text: prompt}}}, Output: workflow.Output{Var: variable}}
}

func edge(from, to string) workflow.Edge { return workflow.Edge{From: from, To: to} }

func when(from, to, condition string) workflow.Edge {
	return workflow.Edge{From: from, To: to, On: workflow.OnWhen, When: workflow.Expr{Text: condition, Src: workflow.Source{Text: condition}}}
}

func orElse(from, to string) workflow.Edge {
	return workflow.Edge{From: from, To: to, On: workflow.OnElse}
}

func onError(from, to string) workflow.Edge {
	return workflow.Edge{From: from, To: to, On: workflow.OnFailure}
}

func prompt(w *workflow.Workflow, id string) string {
	text := ""
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if t, ok := n.Step.(*workflow.Task); ok && n.ID == id {
			text = t.Prompt.Text
		}
	})
	return text
}

// line returns a → b → c → d, where b writes draft; p is the prompt of c.
func line(p string) *workflow.Workflow {
	return &workflow.Workflow{
		State: map[string]any{"notes": nil},
		Body: workflow.Graph{
			Nodes: []workflow.Node{task("a", "", ""), task("b", "", "draft"), task("c", p, ""), task("d", "", "late")},
			Edges: []workflow.Edge{edge("a", "b"), edge("b", "c"), edge("c", "d")},
		},
	}
}

func TestResolveWrittenForms(t *testing.T) {
	tests := []struct{ written, canonical string }{
		{`${target}`, `${inputs.target}`},
		{`{{target}}`, `${inputs.target}`},
		{`$target`, `${inputs.target}`},
		{`{{context.user_input}}`, `${inputs.user_input}`},
		{`{{draft}} {{draft.title}}`, `${vars.draft} ${vars.draft.title}`},
		{`{{notes}}`, `${vars.notes}`},
		{`{{state.a.b}}`, `${vars.a.b}`},
		{`{{late}}`, `${inputs.late}`},
		{`${steps[0].output}`, `${nodes.a.output}`},
		{`${steps[1]}`, `${nodes.b.output}`},
		{`${steps[1].output.issues[0]}`, `${nodes.b.output.issues[0]}`},
		{`${steps.a.status}`, `${nodes.a.status}`},
		{`${steps[9].output}`, `${steps[9].output}`},
		{`${steps.none.output}`, `${nodes.none.output}`},
		{`{{nodes.b.output}}`, `${nodes.b.output}`},
		{`{{nodes.b}}`, `${nodes.b.output}`},
		{`{{agent_1_result}}`, `${nodes.a.output}`},
		{`{{agent_9_result}}`, `${nodes["9"].output}`},
		{`{{agent_x_result}}`, `${inputs.agent_x_result}`},
		{`{{b.draft}}`, `${nodes.b.output}`},
		{`{{b.draft.title}}`, `${nodes.b.output.title}`},
		{`{{b.error}}`, `${nodes.b.error}`},
		{`{{b.score}}`, `${nodes.b.output.score}`},
		{`{{b}}`, `${inputs.b}`},
		{`{{B.score}}`, `${inputs.B.score}`},
		{`${parallel_group.g.outputs}`, `${groups.g.outputs}`},
		{`${parallel_group.g}`, `${groups.g.outputs}`},
		{`{{output}}`, `${previous.output}`},
		{`{{output.x}}`, `${previous.output.x}`},
		{`{{failure.error}} {{item.x}} {{index}} {{iteration}}`, `${failure.error} ${item.x} ${index} ${iteration}`},
		{`{{_iteration_count}} {{state._iteration_count}} ${vars._iteration_count}`, `${_iteration_count} ${_iteration_count} ${vars._iteration_count}`},
		{`${inputs.x} ${vars.y} ${previous.output}`, `${inputs.x} ${vars.y} ${previous.output}`},
		{`{{input}}`, `${inputs.input}`},
		{`{{input}} {{target}}`, `${inputs} ${inputs.target}`},
		{`{{input.x}} {{target}}`, `${inputs.x} ${inputs.target}`},
		{`{{draft ?? target ?? "none"}}`, `${vars.draft ?? inputs.target ?? "none"}`},
		{`$${draft} ${"{{"}draft}}`, `$${draft} {{draft}}`},
		{`{{draft`, `${?{{draft`},
	}
	for _, tt := range tests {
		w := line(tt.written)
		expr.Resolve(w, expr.PlantUML, []string{"a", "b", "c", "d"})
		if got := prompt(w, "c"); got != tt.canonical {
			t.Errorf("%s became %s, want %s", tt.written, got, tt.canonical)
		}
		once := workflow.Digest(w)
		expr.Resolve(w, expr.Canonical, nil)
		if workflow.Digest(w) != once {
			t.Errorf("%s: resolved again it became %s", tt.written, prompt(w, "c"))
		}
	}
}

func TestResolveWithDeclaredInputs(t *testing.T) {
	tests := []struct {
		inputs             []string
		written, canonical string
	}{
		{[]string{"topic"}, `{{input}} {{input.x}}`, `${inputs.topic} ${inputs.topic.x}`},
		{[]string{"topic", "size"}, `{{input}} {{input.size}}`, `${inputs} ${inputs.size}`},
		{[]string{"input", "size"}, `{{input}}`, `${inputs.input}`},
		{[]string{"b"}, `{{b.draft}}`, `${inputs.b.draft}`},
		{[]string{"draft", "notes", "late"}, `{{draft}} {{notes}} {{late}}`, `${vars.draft} ${vars.notes} ${inputs.late}`},
		{[]string{"inputs", "context"}, `{{inputs.x}} {{context}}`, `${inputs.x} ${inputs.context}`},
	}
	for _, tt := range tests {
		w := line(tt.written)
		for _, name := range tt.inputs {
			w.Inputs = append(w.Inputs, workflow.Param{Name: name})
		}
		expr.Resolve(w, expr.Mixed, nil)
		if got := prompt(w, "c"); got != tt.canonical {
			t.Errorf("%v: %s became %s, want %s", tt.inputs, tt.written, got, tt.canonical)
		}
	}
}

// TestReachingDefinitions puts {{x}} at one place of a graph, and checks whether it means the
// variable that the node w writes.
func TestReachingDefinitions(t *testing.T) {
	writer, reader := task("w", "", "x"), task("r", "{{x}}", "")
	other := task("o", "", "")
	tests := []struct {
		name string
		body workflow.Graph
		seen bool
	}{
		{"upstream", workflow.Graph{Nodes: []workflow.Node{writer, reader}, Edges: []workflow.Edge{edge("w", "r")}}, true},
		{"downstream", workflow.Graph{Nodes: []workflow.Node{writer, reader}, Edges: []workflow.Edge{edge("r", "w")}}, false},
		{"parallel sibling", workflow.Graph{Nodes: []workflow.Node{other, writer, reader}, Edges: []workflow.Edge{edge("o", "w"), edge("o", "r")}}, false},
		{"through another", workflow.Graph{Nodes: []workflow.Node{reader, other, writer}, Edges: []workflow.Edge{edge("w", "o"), edge("o", "r")}}, true},
		{"its failure only", workflow.Graph{Nodes: []workflow.Node{writer, reader}, Edges: []workflow.Edge{onError("w", "r")}}, false},
		{"later in the loop", workflow.Graph{Nodes: []workflow.Node{{ID: "l", Step: &workflow.Loop{Body: workflow.Graph{
			Nodes: []workflow.Node{reader, writer}, Edges: []workflow.Edge{edge("r", "w"), {From: "w", To: workflow.Again, On: workflow.OnElse}},
		}}}}}, true},
		{"out of a loop", workflow.Graph{Nodes: []workflow.Node{{ID: "l", Step: &workflow.Loop{Body: workflow.Graph{
			Nodes: []workflow.Node{writer}, Edges: []workflow.Edge{edge("w", "r")},
		}}}, reader}}, true},
		{"beside the exit of a loop", workflow.Graph{Nodes: []workflow.Node{{ID: "l", Step: &workflow.Loop{Body: workflow.Graph{
			Nodes: []workflow.Node{writer, other}, Edges: []workflow.Edge{edge("o", "r")},
		}}}, reader}}, false},
		{"into an each", workflow.Graph{Nodes: []workflow.Node{writer, {ID: "e", Step: &workflow.Each{Body: workflow.Graph{Nodes: []workflow.Node{reader}}}}}, Edges: []workflow.Edge{edge("w", "e")}}, true},
		{"out of an each", workflow.Graph{Nodes: []workflow.Node{{ID: "e", Step: &workflow.Each{Body: workflow.Graph{Nodes: []workflow.Node{writer}}}}, reader}, Edges: []workflow.Edge{edge("e", "r")}}, false},
		{"as in an each", workflow.Graph{Nodes: []workflow.Node{{ID: "e", Step: &workflow.Each{As: "x", Body: workflow.Graph{Nodes: []workflow.Node{reader}}}}}}, true},
		{"as behind an each", workflow.Graph{Nodes: []workflow.Node{{ID: "e", Step: &workflow.Each{As: "x", Body: workflow.Graph{Nodes: []workflow.Node{other}}}}, reader}, Edges: []workflow.Edge{edge("e", "r")}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &workflow.Workflow{Body: tt.body}
			w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
				if n.ID == "r" {
					n.Step = &workflow.Task{Prompt: workflow.Template{Text: "{{x}}"}}
				}
			})
			expr.Resolve(w, expr.Mixed, nil)
			want := "${inputs.x}"
			if tt.seen {
				want = "${vars.x}"
			}
			if got := prompt(w, "r"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestResolveEveryText(t *testing.T) {
	shared := map[string]any{"deep": []any{"{{x}}"}}
	w := &workflow.Workflow{
		Output: workflow.Template{Text: "{{x}}"},
		Body: workflow.Graph{
			Nodes: []workflow.Node{
				{ID: "t", Step: &workflow.Task{Inputs: []workflow.Binding{{Name: "i", Value: shared}}, Settings: map[string]any{"s": shared}}, Output: workflow.Output{Var: "x"}},
				{ID: "h", Step: &workflow.Human{Question: workflow.Template{Text: "{{x}}?"}}},
				{ID: "c", Step: &workflow.Call{Inputs: []workflow.Binding{{Name: "i", Value: shared}}}},
				{ID: "m", Step: &workflow.Combine{Inputs: []workflow.Expr{{Text: "{{x}}"}}}},
				{ID: "s", Step: &workflow.Choice{On: workflow.Expr{Text: "$x"}}},
				{ID: "e", Step: &workflow.Each{Items: workflow.Expr{Text: "${x}"}, Body: workflow.Graph{Nodes: []workflow.Node{task("e", "{{x}}", "")}}}},
			},
			Edges: []workflow.Edge{when("t", "h", "x == 1?"), edge("h", "c"), edge("c", "m"), edge("m", "s"), edge("s", "e")},
		},
	}
	expr.Resolve(w, expr.PlantUML, nil)
	resolvedTree := func(name string) map[string]any {
		return map[string]any{"deep": []any{"${" + name + "}"}}
	}
	tsk, call := w.Body.Nodes[0].Step.(*workflow.Task), w.Body.Nodes[2].Step.(*workflow.Call)
	got := []any{
		tsk.Inputs[0].Value, tsk.Settings["s"], w.Body.Edges[0].When.Text, w.Body.Nodes[1].Step.(*workflow.Human).Question.Text,
		call.Inputs[0].Value, w.Body.Nodes[3].Step.(*workflow.Combine).Inputs[0].Text, w.Body.Nodes[4].Step.(*workflow.Choice).On.Text,
		w.Body.Nodes[5].Step.(*workflow.Each).Items.Text, prompt(w, "e"), w.Output.Text,
	}
	want := []any{
		resolvedTree("inputs.x"), resolvedTree("inputs.x"), "vars.x == 1", "${vars.x}?",
		resolvedTree("vars.x"), "vars.x", "vars.x",
		"vars.x", "${vars.x}", "${vars.x}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]workflow.Param{{Name: "x", Required: true}}, expr.FreeInputs(w)); diff != "" {
		t.Errorf("free inputs (-want +got):\n%s", diff)
	}
}

func TestMentions(t *testing.T) {
	const text = `${steps[2].output} ${steps.scan.output} {{nodes.b.status}} ${parallel_group.g.outputs} {{x.y ?? state.z}} {{output}} {{input}} {{context.c}} ${item}`
	want := []expr.Mention{
		{Kind: expr.MentionStep, Step: 2}, {Kind: expr.MentionNode, Name: "scan"}, {Kind: expr.MentionNode, Name: "b"},
		{Kind: expr.MentionGroup, Name: "g"}, {Kind: expr.MentionName, Name: "x"}, {Kind: expr.MentionName, Name: "z"},
	}
	parsed, err := expr.ParseTemplate(text, expr.Mixed)
	if err != nil {
		t.Fatal(err)
	}
	got := parsed.Mentions()
	for i := range got {
		got[i].From, got[i].To = 0, 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// chain returns a workflow of n steps, each of which refers to the one before, to
// the first, and to the variable before.
func chain(n int) (*workflow.Workflow, []string) {
	w := &workflow.Workflow{}
	var ids []string
	for i := range n {
		id := fmt.Sprintf("s%d", i)
		ids = append(ids, id)
		text := "begin"
		if i > 0 {
			text = fmt.Sprintf("after ${steps[%d].output} and ${steps[0].output} with {{v%d}}", i-1, i-1)
			w.Body.Edges = append(w.Body.Edges, edge(ids[i-1], id))
		}
		w.Body.Nodes = append(w.Body.Nodes, task(id, text, fmt.Sprintf("v%d", i)))
	}
	return w, ids
}

func BenchmarkResolve(b *testing.B) {
	for range b.N {
		b.StopTimer()
		w, ids := chain(10_000)
		b.StartTimer()
		expr.Resolve(w, expr.Mixed, ids)
	}
}
