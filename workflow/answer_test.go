package workflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/growth"
)

// A question that only a person leads to is answered by that person.
func TestQuestionAfterAPerson(t *testing.T) {
	human := func() Node { return Node{ID: "h", Step: &Human{}} }
	choice := Node{ID: "c", Step: &Choice{Ask: &Task{Prompt: Template{Text: "Good?"}}}}
	label := func(from, text string) Edge { return Edge{From: from, To: End, On: OnLabel, Label: text} }
	leads := Edge{From: "h", To: "c"}
	inside := func(to string) Step {
		return &Loop{Body: Graph{Edges: []Edge{{From: "x", To: End}, {From: "x", To: to}}}}
	}
	for _, c := range []struct {
		name    string
		edges   []Edge
		beside  Step
		offered string
		agent   bool // may be asked
	}{
		{"a plain edge", []Edge{leads}, nil, "yes no", false},
		{"an error edge beside", []Edge{leads, {From: "h", To: "t", On: OnFailure}}, nil, "yes no", false},
		{"a timeout edge before", []Edge{{From: "h", To: "t", On: OnTimeout}, leads}, nil, "yes no", false},
		{"an edge of another before", []Edge{{From: "t", To: End}, leads}, nil, "yes no", false},
		{"an else edge behind", []Edge{leads, {From: "c", To: End, On: OnElse}}, nil, "yes no else (none of these)", false},
		{"a label twice behind", []Edge{leads, label("c", "no")}, nil, "no yes", false},
		{"a loop beside", []Edge{leads}, inside("t"), "yes no", false},
		{"left to from a loop", []Edge{leads}, inside("c"), "yes no", true},
		{"left to from a loop in a loop", []Edge{leads}, &Loop{Body: Graph{Nodes: []Node{{ID: "t"}, {ID: "l", Step: inside("c")}}}}, "yes no", true},
		{"a task leads there too", []Edge{leads, {From: "t", To: "c"}}, nil, "yes no", true},
		{"nobody known leads there too", []Edge{leads, {From: "nobody", To: "c"}}, nil, "yes no", true},
		{"their failure leads there too", []Edge{leads, {From: "h", To: "c", On: OnFailure}}, nil, "yes no", true},
		{"a label of their own", []Edge{{From: "h", To: "c", On: OnLabel, Label: "ok"}}, nil, "ok", true},
		{"labels of their own, one twice", []Edge{label("h", "a"), label("h", "b"), label("h", "a"), {From: "h", To: End, On: OnElse}}, nil, "a b", true},
		{"two ways", []Edge{leads, {From: "h", To: "t"}}, nil, "approve reject", true},
		{"a way to the end", []Edge{{From: "h", To: End}}, nil, "approve reject", true},
		{"a way to a task", []Edge{{From: "h", To: "t"}}, nil, "approve reject", true},
		{"nothing leads there", nil, nil, "approve reject", true},
	} {
		g := &Graph{Nodes: []Node{human(), choice, {ID: "t", Step: &Task{}}, {ID: "l", Step: c.beside}}, Edges: append(c.edges, label("c", "yes"), label("c", "no"))}
		var offered []string
		for _, o := range g.Offered(&g.Nodes[0]) {
			text := o.Value + o.Label
			if o.Description != "" {
				text += " (" + o.Description + ")"
			}
			offered = append(offered, text)
		}
		if agent := g.Tasks()[1] != nil; strings.Join(offered, " ") != c.offered || agent != c.agent {
			t.Errorf("%s: they are offered %v, and an agent may be asked: %t", c.name, offered, agent)
		}
	}
}

// Only people answer human nodes, and only tasks and questions are for agents.
func TestOnlyPeopleAnswer(t *testing.T) {
	task := &Task{}
	for _, step := range []Step{task, &Call{}, &Choice{}, &Combine{}, &Loop{}, &Each{}} {
		g := &Graph{Nodes: []Node{{ID: "a", Step: step}, {ID: "c", Step: &Choice{Ask: &Task{}}}}, Edges: []Edge{{From: "a", To: "c"}, {From: "c", To: End, On: OnLabel, Label: "x"}}}
		if offered := g.Offered(&g.Nodes[0]); offered != nil {
			t.Errorf("%T offers %v", step, offered)
		}
		if behind := g.AskedBehind(&g.Nodes[0]); behind != nil {
			t.Errorf("%T has the question %v", step, behind)
		}
		if got := g.Tasks()[0]; (got == task) != (step == Step(task)) {
			t.Errorf("%T is %v for an agent", step, got)
		}
	}
	g := &Graph{Nodes: []Node{{ID: "h", Step: &Human{Custom: true}}, {ID: "c", Step: &Choice{}}}, Edges: []Edge{{From: "h", To: "c"}}}
	if offered := g.Offered(&g.Nodes[0]); len(offered) > 0 || g.AskedBehind(&g.Nodes[0]) != nil {
		t.Errorf("to any text there are %v", offered)
	}
}

func TestBareLabel(t *testing.T) {
	for text, want := range map[string]string{" Yes ": "yes", "(Yes!)": "yes", "+yes=": "yes", "a b": "a b", "\tÜ\n": "ü", "...": ""} {
		if got := BareLabel(text); got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
}

// Who is asked depends on what the person may answer, and on what the question refers to.
func TestQuestionOfAPerson(t *testing.T) {
	for _, c := range []struct {
		human   Human
		asks    string
		offered string
		agent   bool // may be asked
	}{
		{Human{}, "Good?", "yes", false},
		{Human{Options: []Option{{Value: "red"}}}, "Good?", "red", true},
		{Human{Custom: true}, "Good?", "yes", true},
		{Human{}, "Is ${nodes.draft.output} by ${inputs.previous} good?", "yes", false},
		{Human{}, "Is ${nodes.h-2.output} or ${vars.said_before} better than the previous one?", "yes", false},
		{Human{}, "Is ${previous.output} good?", Approve, true},
		{Human{}, "Is ${nodes.draft.output ?? previous.output} good?", Approve, true},
		{Human{}, "Is ${nodes.h.output} good?", Approve, true},
		{Human{}, `Is ${nodes["h"].output} good?`, Approve, true},
		{Human{}, "Is ${vars.said} good?", Approve, true},
	} {
		g := &Graph{
			Nodes: []Node{
				{ID: "h", Step: &c.human, Output: Output{Var: "said"}},
				{ID: "c", Step: &Choice{Ask: &Task{Prompt: Template{Text: c.asks}}}},
			},
			Edges: []Edge{{From: "h", To: "c"}, {From: "c", To: End, On: OnLabel, Label: "yes"}},
		}
		offered, agent := g.Offered(&g.Nodes[0]), g.Tasks()[1] != nil
		if offered[0].Value != c.offered || agent != c.agent {
			t.Errorf("%+v, %q: they are offered %v, and an agent may be asked: %t", c.human, c.asks, offered, agent)
		}
	}
}

func TestQuestionsHaveDigests(t *testing.T) {
	digest := func(c *Choice) string {
		return Digest(&Workflow{Body: Graph{Nodes: []Node{{ID: "c", Step: c}}}})
	}
	ask := func(question, agent string) *Choice {
		return &Choice{Ask: &Task{Agent: agent, Prompt: Template{Text: question}}}
	}
	seen := map[string]bool{}
	for _, c := range []*Choice{{}, ask("Good?", ""), ask("Great?", ""), ask("Good?", "critic")} {
		if d := digest(c); seen[d] {
			t.Errorf("%+v has the digest of another", c.Ask)
		} else {
			seen[d] = true
		}
	}
	context := func(c Context) string {
		return Digest(&Workflow{Body: Graph{Nodes: []Node{{ID: "t", Step: &Task{Context: c}}}}})
	}
	if context(AutoContext) == context(NoContext) || context(NoContext) == context(PreviousContext) {
		t.Error("contexts have one digest")
	}
}

func TestChosen(t *testing.T) {
	plain := []Option{{Value: Approve}, {Value: Reject}}
	colours := []Option{{Value: "red", Label: "Bright red"}, {Value: "Red!", Label: "no"}, {Value: "blue"}}
	for _, c := range []struct {
		options []Option
		said    string
		want    string // "": none
	}{
		{plain, Approve, Approve}, {plain, Reject, Reject}, {plain, " Approve. ", Approve},
		{plain, "yes", Approve}, {plain, "Y", Approve}, {plain, "ok!", Approve}, {plain, "true", Approve}, {plain, "approved", Approve},
		{plain, "no", Reject}, {plain, "N", Reject}, {plain, "false", Reject}, {plain, "rejected", Reject},
		{plain, "maybe", ""}, {plain, "", ""}, {plain, "!?", ""},
		{colours, "red", "red"}, {colours, "Red!", "Red!"}, {colours, "RED", "red"}, {colours, "bright red", "red"}, {colours, "no", "Red!"}, {colours, "yes", ""},
		{append(plain, Option{Value: "later"}), "yes", ""},
		{[]Option{{Value: Reject}, {Value: Approve}}, "yes", ""},
		{[]Option{{Value: Approve}, {Value: "later"}}, "no", ""},
		{nil, "yes", ""},
	} {
		got, ok := Chosen(c.options, c.said)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q of %v: %q, %v", c.said, c.options, got, ok)
		}
	}
}

// Each elseif of a diagram is a question after another one.
func TestTasksOfManyQuestions(t *testing.T) {
	input := func(n int) *Graph {
		g := &Graph{}
		for i := range n {
			g.Nodes = append(g.Nodes, Node{ID: fmt.Sprint("c", i), Step: &Choice{Ask: &Task{}}})
			g.Edges = append(g.Edges, Edge{From: fmt.Sprint("c", i), To: fmt.Sprint("c", i+1), On: OnElse})
		}
		return g
	}
	growth.Linear(t, 1000, input, func(g *Graph) { g.WalkTasks(func(*Node, *Task) {}) })
}
