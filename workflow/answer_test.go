package workflow

import (
	"slices"
	"testing"
)

// Behind a person, and nobody else, a question is theirs.
func TestQuestionBehindAPerson(t *testing.T) {
	human, choice := Node{ID: "h", Step: &Human{}}, Node{ID: "c", Step: &Choice{Ask: &Task{Prompt: Template{Text: "Good?"}}}}
	label := func(text string) Edge { return Edge{From: "c", To: End, On: OnLabel, Label: text} }
	for _, c := range []struct {
		name    string
		edges   []Edge
		offered []string
		agent   bool // may be asked
	}{
		{"a plain edge", []Edge{{From: "h", To: "c"}}, []string{"yes", "no"}, false},
		{"an error edge beside", []Edge{{From: "h", To: "c"}, {From: "h", To: "t", On: OnFailure}}, []string{"yes", "no"}, false},
		{"an else edge behind", []Edge{{From: "h", To: "c"}, {From: "c", To: End, On: OnElse}}, []string{"yes", "no", "else"}, false},
		{"a task leads there too", []Edge{{From: "h", To: "c"}, {From: "t", To: "c"}}, []string{"yes", "no"}, true},
		{"a label of their own", []Edge{{From: "h", To: "c", On: OnLabel, Label: "ok"}}, []string{"ok"}, true},
		{"two ways", []Edge{{From: "h", To: "c"}, {From: "h", To: "t"}}, []string{Approve, Reject}, true},
		{"nothing leads there", nil, []string{Approve, Reject}, true},
	} {
		g := &Graph{Nodes: []Node{human, choice, {ID: "t", Step: &Task{}}}, Edges: append(c.edges, label("yes"), label("no"))}
		var offered []string
		for _, o := range g.Offered(&g.Nodes[0]) {
			offered = append(offered, o.Value)
		}
		slices.Sort(offered)
		slices.Sort(c.offered)
		if agent := g.TaskOf(&g.Nodes[1]) != nil; !slices.Equal(offered, c.offered) || agent != c.agent {
			t.Errorf("%s: they are offered %v, and an agent may be asked: %t", c.name, offered, agent)
		}
	}
}

// Of what a person may answer, and of what a question refers to, it depends whose it is.
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
		offered, agent := g.Offered(&g.Nodes[0]), g.TaskOf(&g.Nodes[1]) != nil
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
