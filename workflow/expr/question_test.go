package expr_test

import (
	"testing"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

func TestConditionsAndQuestionsAreDistinguished(t *testing.T) {
	for text, want := range map[string]expr.Test{
		"score >= 8?": expr.ConditionTest, "{{state.kind}}": expr.ConditionTest, "${ok}?": expr.ConditionTest, "!done": expr.ConditionTest,
		"true": expr.ConditionTest, "previous.output": expr.ConditionTest, "status == pending?": expr.ConditionTest,
		"a == ": expr.ConditionTest, "status = ok": expr.ConditionTest,
		"Good?": expr.NameTest, "verdict.pass": expr.NameTest, "Pending": expr.NameTest,
		"Is it Latin?": expr.QuestionTest, "Tests pass?": expr.QuestionTest, "42": expr.QuestionTest, "": expr.QuestionTest,
		"Does the log contain errors?": expr.QuestionTest, "Does it start with a?": expr.QuestionTest,
		`name startsWith "a"`: expr.ConditionTest, `endsWith(name, "a")`: expr.ConditionTest,
	} {
		if got := expr.TestOf(text, expr.Mixed); got != want {
			t.Errorf("%q is %d, not %d", text, got, want)
		}
	}
	if expr.TestOf("$SCORE", expr.PlantUML) != expr.ConditionTest {
		t.Error("a marked reference is no condition")
	}
}

// A name is a condition only if something defines it there.
func TestNamesAreConditionsWhereDefined(t *testing.T) {
	names := map[*workflow.Choice]string{}
	choice := func(text string) *workflow.Choice {
		c := &workflow.Choice{}
		names[c] = text
		return c
	}
	early, late := choice("verdict.pass"), choice("verdict.pass?")
	state, input, node, other, word := choice("kind"), choice("topic"), choice("judge.ok"), choice("Approved?"), choice("output")
	task := func(id, variable string) workflow.Node {
		return workflow.Node{ID: id, Step: &workflow.Task{}, Output: workflow.Output{Var: variable}}
	}
	w := &workflow.Workflow{
		Inputs: []workflow.Param{{Name: "topic"}}, State: map[string]any{"kind": "a"},
		Body: workflow.Graph{
			Nodes: []workflow.Node{
				{ID: "early", Step: early}, task("judge", "verdict"), {ID: "late", Step: late}, {ID: "state", Step: state},
				{ID: "input", Step: input}, {ID: "node", Step: node}, {ID: "other", Step: other}, {ID: "word", Step: word},
			},
			Edges: []workflow.Edge{{From: "early", To: "judge"}, {From: "judge", To: "late"}},
		},
	}
	got := expr.Questions(w, expr.Mixed, names)
	for c, want := range map[*workflow.Choice]bool{early: true, late: false, state: false, input: false, node: false, other: true, word: false} {
		if got[c] != want {
			t.Errorf("%q is a question: %t", names[c], got[c])
		}
	}
}

// On the right of a comparison, a bare name that nothing defines is a text.
func TestBareWordsAreText(t *testing.T) {
	for text, want := range map[string]string{
		"status == pending": `inputs.status == "pending"`,
		"status == state.x": `inputs.status == vars.x`,
		"status == kind":    `inputs.status == vars.kind`,
		"status == $kind":   `inputs.status == vars.kind`,
		"a == ${b}":         `inputs.a == inputs.b`,
		"a in b":            `inputs.a in inputs.b`,
		"a == b.c":          `inputs.a == inputs.b.c`,
	} {
		c := &workflow.Choice{On: workflow.Expr{Text: text}}
		w := &workflow.Workflow{State: map[string]any{"kind": "a"}, Body: workflow.Graph{Nodes: []workflow.Node{{ID: "c", Step: c}}}}
		expr.Resolve(w, expr.PlantUML, nil)
		if c.On.Text != want {
			t.Errorf("%s is %s, not %s", text, c.On.Text, want)
		}
	}
}
