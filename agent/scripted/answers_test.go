package scripted_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/workflow"
)

// people returns a workflow that asks in every possible way, and calls another one.
func people() *workflow.Bundle {
	ask := func(id string, step *workflow.Human) workflow.Node { return workflow.Node{ID: id, Step: step} }
	inner := workflow.Graph{
		Nodes: []workflow.Node{ask("route", &workflow.Human{})},
		Edges: []workflow.Edge{{From: "route", To: workflow.Again, On: workflow.OnLabel, Label: "once more"}, {From: "route", To: workflow.End, On: workflow.OnLabel, Label: "done"}},
	}
	root := &workflow.Workflow{Name: "root", Body: workflow.Graph{
		Nodes: []workflow.Node{
			ask("plain", &workflow.Human{}),
			ask("size", &workflow.Human{Options: []workflow.Option{{Value: "s", Label: "Small"}, {Value: "l", Label: "Large"}}}),
			ask("open", &workflow.Human{Custom: true}),
			ask("both", &workflow.Human{}),
			{ID: "loop", Step: &workflow.Loop{Body: inner}},
			{ID: "work", Step: &workflow.Task{}},
			{ID: "call", Step: &workflow.Call{Workflow: "other"}},
		},
		Edges: []workflow.Edge{{From: "plain", To: "work", On: workflow.OnSuccess}},
	}}
	other := &workflow.Workflow{Name: "other", Body: workflow.Graph{Nodes: []workflow.Node{
		{ID: "both", Step: &workflow.Task{}},
		ask("size", &workflow.Human{Options: []workflow.Option{{Value: "xl"}}}),
	}}}
	return &workflow.Bundle{Root: root, Called: map[string]*workflow.Workflow{"other": other}}
}

func TestAnswersThatNobodyCanGive(t *testing.T) {
	for _, c := range []struct{ replies, want string }{
		{"plain: [yes, Y, ok., TRUE, approve, APPROVED, no, n, 'false', Reject!, rejected]", ""},
		{"plain: {output: approve, delay: 1s}", ""},
		{"size: [s, small, ' LARGE ', xl]", ""},
		{"open: [whatever, '', {delay: 1s}]", ""},
		{"route: [once more, Done.]", ""},
		{"both: [{error: boom}, anything]", ""},
		{"work: [{error: boom}, anything]\n\"*\": {error: x}\nnobody: {error: x}", ""},
		{"plain: {delay: 1s, error: boom}", `r.yml:1:20: error[replies]: "plain" asks a person, but its reply is an error; write an answer: people cannot fail`},
		{"plain:\n  - yes\n  - {output: aprove}", `r.yml:3:14: error[replies]: "plain" does not offer the answer "aprove"; it offers approve, reject`},
		{"plain#2: maybe", `r.yml:1:10: error[replies]: "plain" does not offer the answer "maybe"; it offers approve, reject`},
		{"size: yes", `r.yml:1:7: error[replies]: "size" does not offer the answer "yes"; it offers s, l, xl`},
		{"route: approve\nplain: ''", `r.yml:1:8: error[replies]: "route" does not offer the answer "approve"; it offers once more, done` + "\n" +
			`r.yml:2:8: error[replies]: "plain" does not offer the answer ""; it offers approve, reject`},
	} {
		r, wrong := scripted.Parse("r.yml", []byte(c.replies))
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		if diff := cmp.Diff(c.want, r.Problems(people()).String()); diff != "" {
			t.Errorf("%s\n%s", c.replies, diff)
		}
	}
}

func TestProblemsOfStoredReplies(t *testing.T) {
	r, err := scripted.Decode([]byte(`{"plain": [{"error": "boom"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if found := r.Problems(people()); len(found) != 1 || found[0].Line != 0 {
		t.Errorf("got %v", found)
	}
}
