package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// problems prints the problems, one per line.
func problems(w *workflow.Workflow) string {
	var lines []string
	for _, p := range expr.Problems(w) {
		lines = append(lines, fmt.Sprintf("%s %s: %s; %s", p.Severity(), p.Kind, p.Summary, p.Detail))
	}
	return strings.Join(lines, "\n")
}

func TestProblemsInALine(t *testing.T) {
	tests := []struct{ prompt, want string }{
		{`${nodes.a.output} ${vars.draft} ${vars.notes} ${inputs.topic} ${inputs}`, ``},
		{`${nodes.a.output`, `error syntax: ${ is never closed; close it, or write $${ for a literal ${`},
		{`${inputs.topc}`, `error unknown_name: unknown name "topc"; did you mean "topic"?`},
		{`${inputs.late}`, `error unknown_name: unknown name "late"; "d" writes it, but does not run before this step`},
		{`${inputs.b}`, `error unknown_name: unknown name "b"; to refer to the output of the node, write nodes.b.output`},
		{`${step.b.output}`, `error unknown_name: unknown name "step"; to refer to the output of the node, write nodes.b.output`},
		{`${Nodes.b.output}`, `error unknown_name: unknown name "Nodes"; to refer to the output of the node, write nodes.b.output`},
		{`${vars.b}`, `error unknown_name: no node writes the variable "b"; to refer to the output of the node, write nodes.b.output`},
		{`${inputs.zzzzzz}`, `error unknown_name: unknown name "zzzzzz"; there is no input and no variable with this name`},
		{`${vars.drft}`, `error unknown_name: no node writes the variable "drft"; did you mean "draft"?`},
		{`${vars}`, `error unknown_field: vars needs the name of a variable; write vars.NAME`},
		{`${nodes.bb.output}`, `error unknown_node: there is no node "bb"; did you mean "b"?`},
		{`${steps[9].output}`, `error unknown_node: there is no step 9; steps count from 0`},
		{`${nodes.a.ouput}`, `error unknown_field: a node has no field "ouput"; did you mean "output"?`},
		{`${nodes.a.result}`, `error unknown_field: a node has no field "result"; it has: output, status, error, duration_ms, attempts, workspace`},
		{`${nodes.d.output}`, `error forward: "d" is not known yet; "d" runs after this step`},
		{`${vars.late}`, `error forward: "late", written by "d", is not known yet; "d" runs after this step`},
		{`${nodes.c.output}`, `error self: "c" refers to its own result; a step has no result before it has finished`},
		{`${groups.g.outputs}`, `error unknown_group: there is no parallel group "g"; `},
		{`${item} ${index} ${iteration}`, "error bad_item: item is used outside for_each; only steps inside a for_each have an item\n" +
			"error bad_item: index is used outside for_each; only steps inside a for_each have an item\n" +
			"error bad_item: iteration is used outside a loop; only steps inside a loop have iterations"},
		{`${failure.error}`, `error bad_failure: failure is used without an error edge; only a step that an error edge leads to has a failure`},
		{`${failure.eror}`, `error unknown_field: a failure has no field "eror"; did you mean "error"?`},
		{`${nodes.d.output ?? "none"}`, `error forward: "d" is not known yet; "d" runs after this step`},
		{`${unresolved}`, `error unknown_name: unknown name "unresolved"; `},
	}
	for _, tt := range tests {
		w := line(tt.prompt)
		w.Inputs = []workflow.Param{{Name: "topic"}}
		if diff := cmp.Diff(tt.want, problems(w)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.prompt, diff)
		}
	}
}

// Variables written for an item are not visible in the output of the workflow.
func TestProblemsAtTheEnd(t *testing.T) {
	each := workflow.Node{ID: "each", Step: &workflow.Each{Items: workflow.Expr{Text: "inputs"}, As: "it", Body: workflow.Graph{Nodes: []workflow.Node{task("a", "", "x")}}}}
	w := &workflow.Workflow{Output: workflow.Template{Text: "${vars.x}"}, Body: workflow.Graph{Nodes: []workflow.Node{each}}}
	want := `error not_upstream: "x", written by "a", is not known here; results for one item of "each" are not visible outside of it`
	if diff := cmp.Diff(want, problems(w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestProblemsByGraph refers from the node r to the node w, which writes x.
func TestProblemsByGraph(t *testing.T) {
	n := func(id string) workflow.Node { return task(id, "", "") }
	w := task("w", "", "x")
	w2 := task("w2", "", "x")
	choice := workflow.Node{ID: "choice", Step: &workflow.Choice{}}
	r := n("r")
	anyJoin := r
	anyJoin.Join.Need = 1
	loop := func(body workflow.Graph) workflow.Node {
		return workflow.Node{ID: "loop", Step: &workflow.Loop{Body: body}}
	}
	each := func(id, as string, body ...workflow.Node) workflow.Node {
		return workflow.Node{ID: id, Step: &workflow.Each{As: as, Body: workflow.Graph{Nodes: body}}}
	}
	again := func(from string) workflow.Edge { return workflow.Edge{From: from, To: workflow.Again} }
	graph := func(nodes []workflow.Node, edges ...workflow.Edge) workflow.Graph {
		return workflow.Graph{Nodes: nodes, Edges: edges}
	}
	const maybe = "maybe_undefined"
	tests := []struct {
		name string
		body workflow.Graph
		text string
		want string // the kinds of problems
	}{
		{"parallel branches meet", graph([]workflow.Node{n("a"), w, n("b"), r}, edge("a", "w"), edge("a", "b"), edge("w", "r"), edge("b", "r")), "nodes.w.output", ""},
		{"parallel branches, variable", graph([]workflow.Node{n("a"), w, n("b"), r}, edge("a", "w"), edge("a", "b"), edge("w", "r"), edge("b", "r")), "vars.x", ""},
		{"beside", graph([]workflow.Node{n("a"), w, r}, edge("a", "w"), edge("a", "r")), "nodes.w.output", "not_upstream"},
		{"in one alternative", graph([]workflow.Node{choice, w, n("b"), r}, when("choice", "w", "inputs.i"), orElse("choice", "b"), edge("w", "r"), edge("b", "r")), "nodes.w.output", maybe},
		{"in one alternative, variable", graph([]workflow.Node{choice, w, n("b"), r}, when("choice", "w", "inputs.i"), orElse("choice", "b"), edge("w", "r"), edge("b", "r")), "vars.x", maybe},
		{"in one alternative, guarded", graph([]workflow.Node{choice, w, n("b"), r}, when("choice", "w", "inputs.i"), orElse("choice", "b"), edge("w", "r"), edge("b", "r")), `vars.x ?? "none"`, ""},
		{"in both alternatives", graph([]workflow.Node{choice, w, w2, r}, when("choice", "w", "inputs.i"), orElse("choice", "w2"), edge("w", "r"), edge("w2", "r")), "vars.x", ""},
		{"in the same alternative", graph([]workflow.Node{choice, w, n("b"), r}, when("choice", "w", "inputs.i"), orElse("choice", "b"), edge("w", "r")), "vars.x", ""},
		{"before alternatives that meet", graph([]workflow.Node{w, choice, n("a"), n("b"), r}, edge("w", "choice"), when("choice", "a", "inputs.i"), orElse("choice", "b"), edge("a", "r"), edge("b", "r")), "vars.x", ""},
		{"an alternative skips it", graph([]workflow.Node{choice, w, r}, when("choice", "w", "inputs.i"), orElse("choice", "r"), edge("w", "r")), "nodes.w.output", maybe},
		{"an alternative ends", graph([]workflow.Node{choice, w, r}, when("choice", "w", "inputs.i"), orElse("choice", workflow.End), edge("w", "r")), "nodes.w.output", ""},
		{"nested alternatives meet", graph([]workflow.Node{choice, {ID: "c2", Step: &workflow.Choice{}}, n("a"), n("b"), n("c"), w, r}, when("choice", "c2", "inputs.i"), orElse("choice", "c"), when("c2", "a", "inputs.i"), orElse("c2", "b"), edge("a", "w"), edge("b", "w"), edge("c", "w"), edge("w", "r")), "vars.x", ""},
		{"error edge", graph([]workflow.Node{w, r}, onError("w", "r")), "nodes.w.error", ""},
		{"error edge, variable", graph([]workflow.Node{w, r}, onError("w", "r")), "vars.x", "not_upstream"},
		{"error edge, failure", graph([]workflow.Node{w, r}, onError("w", "r")), "failure.error", ""},
		{"error edge, failure through a choice", graph([]workflow.Node{w, choice, r}, onError("w", "choice"), orElse("choice", "r")), "failure.error", ""},
		{"handler meets the others", graph([]workflow.Node{w, n("h"), r}, onError("w", "h"), edge("w", "r"), edge("h", "r")), "vars.x", maybe},
		{"handler meets the others, before", graph([]workflow.Node{w, n("a"), n("h"), r}, edge("w", "a"), onError("a", "h"), edge("a", "r"), edge("h", "r")), "vars.x", ""},
		{"first of two", graph([]workflow.Node{n("a"), w, n("b"), anyJoin}, edge("a", "w"), edge("a", "b"), edge("w", "r"), edge("b", "r")), "nodes.w.output", maybe},
		{"first of two, before them", graph([]workflow.Node{w, n("a"), n("b"), anyJoin}, edge("w", "a"), edge("w", "b"), edge("a", "r"), edge("b", "r")), "nodes.w.output", ""},
		{"first of two, written by both", graph([]workflow.Node{n("a"), w, w2, anyJoin}, edge("a", "w"), edge("a", "w2"), edge("w", "r"), edge("w2", "r")), "vars.x", ""},
		{"in one alternative, its status", graph([]workflow.Node{choice, w, n("b"), r}, when("choice", "w", "inputs.i"), orElse("choice", "b"), edge("w", "r"), edge("b", "r")), "nodes.w.status", ""},
		{"later in the loop", graph([]workflow.Node{loop(graph([]workflow.Node{r, w}, edge("r", "w"), again("w")))}), "nodes.w.output", ""},
		{"later in the loop, variable", graph([]workflow.Node{loop(graph([]workflow.Node{r, w}, edge("r", "w"), again("w")))}), "vars.x", ""},
		{"later in the loop, off its path", graph([]workflow.Node{loop(graph([]workflow.Node{r, w, choice}, edge("r", "w"), edge("r", "choice"), again("choice")))}), "nodes.w.output", ""},
		{"in the loop before", graph([]workflow.Node{loop(graph([]workflow.Node{w, choice}, edge("w", "choice"), when("choice", "r", "inputs.i"), orElse("choice", workflow.Again))), r}), "vars.x", ""},
		{"in the loop before, behind its exit", graph([]workflow.Node{loop(graph([]workflow.Node{choice, w}, when("choice", "r", "inputs.i"), orElse("choice", "w"), again("w"))), r}), "vars.x", maybe},
		{"_iteration_count", graph([]workflow.Node{loop(graph([]workflow.Node{r}, again("r")))}), "_iteration_count", ""},
		{"iteration", graph([]workflow.Node{loop(graph([]workflow.Node{r}, again("r")))}), "iteration", ""},
		{"in each", graph([]workflow.Node{each("e", "y", r)}), "item.z == vars.y && index == 0", ""},
		{"out of each", graph([]workflow.Node{each("e", "", w), r}, edge("e", "r")), "nodes.w.output", "not_upstream"},
		{"out of each, variable", graph([]workflow.Node{each("e", "", w), r}, edge("e", "r")), "vars.x", "not_upstream"},
		{"each under its own id", graph([]workflow.Node{each("w", "", n("w")), r}, edge("w", "r")), "nodes.w.output", ""},
		{"around", graph([]workflow.Node{each("w", "", r)}), "nodes.w.output", "self"},
		{"group", graph([]workflow.Node{{ID: "m", Group: "g", Step: &workflow.Task{}}, {ID: "n", Group: "g", Step: &workflow.Task{}}, r}, edge("m", "r"), edge("n", "r")), "groups.g.status", ""},
		{"half a group", graph([]workflow.Node{{ID: "m", Group: "g", Step: &workflow.Task{}}, {ID: "n", Group: "g", Step: &workflow.Task{}}, r}, edge("m", "r")), "groups.g.status", "not_upstream"},
		{"previous at the start", graph([]workflow.Node{r}), "previous.output", maybe},
		{"previous", graph([]workflow.Node{w, r}, edge("w", "r")), "previous.output", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			def := &workflow.Workflow{Body: tt.body}
			def.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
				if n.ID == "r" {
					n.Step = &workflow.Task{Prompt: workflow.Template{Text: "${" + tt.text + "}"}}
				}
			})
			var kinds []string
			for _, p := range expr.Problems(def) {
				kinds = append(kinds, string(p.Kind))
			}
			if got := strings.Join(kinds, " "); got != tt.want {
				t.Errorf("got %q, want %q\n%s", got, tt.want, problems(def))
			}
		})
	}
}

func TestProblemsAfterANode(t *testing.T) {
	w := line("")
	w.Body.Edges[2] = when("c", "d", `nodes.c.output == "ok" && previous.output && nodes.d.output`)
	w.Output.Text = "${vars.late} ${nodes.d.output} ${previous.output}"
	want := `error forward: "d" is not known yet; "d" runs after this step
error bad_item: previous is used in the output of the workflow; name the node whose output you mean`
	if diff := cmp.Diff(want, problems(w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCombineUsesAvailableInputs(t *testing.T) {
	w := &workflow.Workflow{Body: workflow.Graph{
		Nodes: []workflow.Node{{ID: "choice", Step: &workflow.Choice{}}, task("a", "", ""), task("b", "", ""),
			{ID: "c", Step: &workflow.Combine{Strategy: workflow.First, Inputs: []workflow.Expr{{Text: "nodes.a.output"}, {Text: "nodes.d.output"}}}}, task("d", "", "")},
		Edges: []workflow.Edge{when("choice", "a", "inputs.x"), orElse("choice", "b"), edge("a", "c"), edge("b", "c"), edge("c", "d")},
	}}
	if diff := cmp.Diff(`error forward: "d" is not known yet; "d" runs after this step`, problems(w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNameReadAsAnInput has no declared inputs, so that {{late}} before its writer can only be an
// input, which is seldom intended.
func TestNameReadAsAnInput(t *testing.T) {
	tests := []struct{ prompt, want string }{
		{"{{late}}", `warning maybe_undefined: "late" refers to an input here; "d" writes it, but does not run before this step`},
		{"{{inputs.late}}", ""},
		{"{{late ?? 1}}", ""},
		{"{{other}}", ""},
	}
	for _, tt := range tests {
		w := line(tt.prompt)
		expr.Resolve(w, expr.Mixed, nil)
		if diff := cmp.Diff(tt.want, problems(w)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.prompt, diff)
		}
	}
}

func TestProblemsAreAtTheReference(t *testing.T) {
	source := func(text string, line, column int) workflow.Source {
		return workflow.Source{Text: text, Pos: workflow.Pos{File: "f.yml", Line: line, Column: column}, Indent: 5}
	}
	nodePos, bindingPos := workflow.Pos{Line: 1, Column: 1}, workflow.Pos{Line: 9, Column: 9}
	const prompt = "Say\n  {{nodes.x.output}} to $HOME and {{topc}}"
	const status = `a.status  ==  'sucess' || (a.status != fine)`
	w := &workflow.Workflow{Inputs: []workflow.Param{{Name: "topic"}}, Body: workflow.Graph{Nodes: []workflow.Node{
		{ID: "a", Pos: nodePos, Step: &workflow.Task{
			Prompt: workflow.Template{Text: prompt, Src: source(prompt, 3, 10)},
			Inputs: []workflow.Binding{
				{Name: "i", Value: "{{topc", Src: source("{{topc", 7, 4), Pos: bindingPos},
				{Name: "j", Value: []any{"{{topc}}"}, Pos: bindingPos},
			},
			Settings: map[string]any{"s": "{{topc}}"},
		}},
		{ID: "b", Pos: nodePos, Step: &workflow.Choice{On: workflow.Expr{Text: `"${topc}" == topc`, Src: source(`"${topc}" == topc`, 8, 1)}}},
		{ID: "c", Pos: nodePos, Step: &workflow.Choice{On: workflow.Expr{Text: status, Src: source(status, 9, 1)}}},
	}, Edges: []workflow.Edge{{From: "a", To: "c"}}}}
	expr.Resolve(w, expr.Mixed, nil)
	var got []string
	for _, p := range expr.Problems(w) {
		got = append(got, fmt.Sprintf("%s-%d:%d %s %s", p.Pos, p.Pos.EndLine, p.Pos.EndColumn, p.Kind, p.Name))
	}
	want := []string{
		"f.yml:4:7-4:25 unknown_node x",
		"f.yml:4:39-4:47 unknown_name topc",
		"f.yml:7:4-7:6 syntax ",
		"9:9-0:0 unknown_name topc",
		"1:1-0:0 unknown_name topc",
		"f.yml:8:1-8:10 quoted_reference ${topc}",
		"f.yml:8:14-8:18 bare_word topc",
		"f.yml:9:15-9:23 unknown_status sucess",
		"f.yml:9:40-9:44 unknown_status fine",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLargeWorkflowsHaveNoProblems(t *testing.T) {
	w, ids := chain(3000)
	expr.Resolve(w, expr.Mixed, ids)
	if got := problems(w); got != "" {
		t.Error(got)
	}
}

func BenchmarkProblems(b *testing.B) {
	w, ids := chain(10_000)
	expr.Resolve(w, expr.Mixed, ids)
	for b.Loop() {
		expr.Problems(w)
	}
}

// TestManyProblems has thousands of references to different things that do not exist.
func TestManyProblems(t *testing.T) {
	w, ids := chain(5000)
	for i := range w.Body.Nodes {
		w.Body.Nodes[i].Step = &workflow.Task{Prompt: workflow.Template{Text: fmt.Sprintf("${nodes.t%d.output} ${vars.w%d}", i, i)}}
	}
	expr.Resolve(w, expr.Mixed, ids)
	if got := expr.Problems(w); len(got) != 10_000 || got[0].Detail != `did you mean "s0"?` || got[9_999].Detail != "" {
		t.Errorf("%d problems, the first %+v, the last %+v", len(got), got[0], got[len(got)-1])
	}
}

// A mistake in one expression of a text does not hide mistakes in the others.
func TestProblemsInBrokenTexts(t *testing.T) {
	tests := []struct{ prompt, want string }{
		{`a {{n`, `3-5 {{ is never closed; close it, or write ${"{{"} for a literal {{`},
		{`{{ n } }`, `6-7 {{ is closed by a single }; write }}`},
		{`{{ topic ?? }}`, `13-14 unexpected "}"; a value is missing here: a name, a number, or text in quotes`},
		{`${m} ${k.} ${q}`, `9-10 a name is missing after the dot; write [0] for an index and ["a b"] for a name with other characters
1-5 unknown name "m"; there is no input and no variable with this name
12-16 unknown name "q"; there is no input and no variable with this name`},
		{`${topic +} ${nodes.b} ${nodes.x}`, `9-10 unexpected "+"; arithmetic is not supported; let a step compute the value
23-33 there is no node "x"; available: a, b, c, d`},
		{`${topic} ${#a} ${HOME:-x} ${topic`, `12-13 unexpected "#"; write $${ for a ${ of the shell
22-23 unexpected ":"; write $${ for a ${ of the shell
27-29 ${ is never closed; close it, or write $${ for a literal ${`},
		{`${steps[0].output} ${`, `20-22 ${ is never closed; close it, or write $${ for a literal ${`},
	}
	for _, tt := range tests {
		w := line("")
		w.Inputs = []workflow.Param{{Name: "topic"}}
		src := workflow.Source{Text: tt.prompt, Pos: workflow.Pos{Line: 1, Column: 1, EndLine: 1, EndColumn: 1 + len(tt.prompt)}}
		w.Body.Nodes[2].Step = &workflow.Task{Prompt: workflow.Template{Text: tt.prompt, Src: src}}
		expr.Resolve(w, expr.Mixed, nil)
		expr.Resolve(w, expr.Canonical, nil)
		var lines []string
		for _, p := range expr.Problems(w) {
			lines = append(lines, fmt.Sprintf("%d-%d %s; %s", p.Pos.Column, p.Pos.EndColumn, p.Summary, p.Detail))
		}
		if diff := cmp.Diff(tt.want, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.prompt, diff)
		}
	}
}

// The output of a loop is known after the loop, but not inside it.
func TestProblemsOfLoops(t *testing.T) {
	for _, tt := range []struct{ inner, outer, group, want string }{
		{"", "${nodes.l.output}", "", ""},
		{"", "${groups.g.outputs}", "g", ""},
		{"${nodes.l.output}", "", "", `error self: loop "l" has no output while it is running; refer to a step of the loop instead; its output is null in the first iteration`},
	} {
		loop := &workflow.Loop{Body: workflow.Graph{
			Nodes: []workflow.Node{task("x", tt.inner, "")},
			Edges: []workflow.Edge{{From: "x", To: "b", On: workflow.OnLabel, Label: "ok"}, {From: "x", To: workflow.Again, On: workflow.OnElse}},
		}}
		w := &workflow.Workflow{Body: workflow.Graph{
			Nodes: []workflow.Node{task("a", "", ""), {ID: "l", Step: loop, Group: tt.group}, task("b", tt.outer, "")},
			Edges: []workflow.Edge{{From: "a", To: "l"}},
		}}
		if diff := cmp.Diff(tt.want, problems(w)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt, diff)
		}
	}
}

func TestConditionErrorsListOperators(t *testing.T) {
	for text, want := range map[string]string{
		"not n":     `expr: unexpected "not" at offset 0; write !`,
		"n + 1 > 3": `expr: unexpected "+" at offset 2; arithmetic is not supported; let a step compute the value`,
		"n -1":      `expr: unexpected "-1" at offset 2; arithmetic is not supported; let a step compute the value`,
		"len(n)":    `expr: unexpected "(" at offset 3; functions are not supported; the operators are ! == != < <= > >= contains in matches && || ??`,
		"n m":       `expr: unexpected "m" at offset 2; put an operator before it, such as == or &&; text is written in quotes`,
	} {
		if _, err := expr.ParseExpr(text, expr.Canonical); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Parsers report duplicate ids; resolving such a workflow must not fail.
func TestResolveWithDuplicateIDs(t *testing.T) {
	loop := &workflow.Loop{Body: workflow.Graph{Nodes: []workflow.Node{task("a", "${x}", "y")}}}
	w := &workflow.Workflow{Body: workflow.Graph{
		Nodes: []workflow.Node{task("a", "${y}", "x"), {ID: "a", Step: loop}, task("a", "${a.output}", "x"), task("b", "${x}", "")},
		Edges: []workflow.Edge{{From: "a", To: "b"}},
	}}
	expr.Resolve(w, expr.Mixed, []string{"a", "a", "a", "b"})
	expr.Problems(w)
	if got := w.Body.Nodes[3].Step.(*workflow.Task).Prompt.Text; got != "${vars.x}" {
		t.Errorf("got %s", got)
	}
}

// The number of a step that does not exist is not an input.
func TestProblemsOfNumberedSteps(t *testing.T) {
	w := line("{{agent_9_result}}")
	expr.Resolve(w, expr.Mixed, []string{"a", "b", "c"})
	if got, want := problems(w), `error unknown_node: there is no node "9"; available: a, b, c, d`; got != want {
		t.Errorf("got %s", got)
	}
}
