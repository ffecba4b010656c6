package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func once(id, prompt string) workflow.Node {
	n := did(id, prompt)
	n.Once = true
	return n
}

// What must happen once and is done does not happen again without a question, if the new plan changes it
// or what it is given, and a person can leave it as it is, without the result of what was done.
func TestReplanAsksBeforeAnEffectIsRepeated(t *testing.T) {
	const text = `"mail" is done, and its effect must happen only once`
	mail := once("mail", "send ${nodes.draft.output}")
	begin := func() *replanned {
		r := beginPlan(t, inOrder(did("draft", "write"), mail, did("log", "${nodes.mail.output}")), workflow.Limits{})
		r.ended("draft", 1, "x")
		r.ended("mail", 1, "sent x")
		r.want("everything is done", r.ended("log", 1, "ok"), "finish success")
		r.want("the draft is changed", r.plan(inOrder(did("draft", "rewrite"), mail, did("log", "${nodes.mail.output}"))), "start draft@2")
		return r
	}
	r := begin()
	r.want("the mail is given something else", r.ended("draft", 2, "y"), "ask mail")
	q := r.run.Questions()[0]
	if q.Kind != engine.LostQuestion || !q.Required || !strings.Contains(q.Text, text) || !strings.Contains(q.Options[1].Description, "empty output") {
		t.Errorf("%+v", q)
	}
	r.want("it is left as it is", r.step(&engine.Answered{ID: "mail", Value: engine.Done}), "start log@2")
	if step := r.run.Result().Steps[1]; fmt.Sprint(step.Output) != "" || step.Attempts != 1 {
		t.Errorf("%+v", step)
	}
	r.ended("log", 2, "ok")
	r.want("that was decided", r.plan(inOrder(did("draft", "rewrite"), mail)), "finish success")

	r = begin()
	r.ended("draft", 2, "y")
	r.want("it is repeated", r.step(&engine.Answered{ID: "mail", Value: engine.Rerun}), "start mail@2")
	r.want("and what shows it follows", r.ended("mail", 2, "sent y"), "start log@2")

	r = begin()
	r.ended("draft", 2, "y")
	r.want("it fails", r.step(&engine.Answered{ID: "mail", Value: engine.Fail}), "finish error")
	r.want("which is no reason to repeat it", r.plan(inOrder(did("draft", "rewrite"), mail)), "ask mail")
	r.want("the first plan has its result", r.plan(inOrder(did("draft", "rewrite"), once("mail", "send ${nodes.draft.output}"), did("more", "more"))), "")
	r.want("which is still there", r.step(&engine.Answered{ID: "mail", Value: engine.Done}), "start more@1")

	r = begin()
	r.want("the same draft", r.ended("draft", 2, "x"), "finish success")
}

// A changed step, and one whose effect only the new plan declares, ask, too.
func TestReplanAsksAboutChangedEffects(t *testing.T) {
	for _, c := range []struct {
		was, is workflow.Node
		want    string
	}{
		{once("a", "1"), once("a", "2"), "ask a"},
		{did("a", "1"), once("a", "1"), "ask a"},
		{once("a", "1"), did("a", "2"), "ask a"},
		{once("a", "1"), did("a", "1"), "ask a"},
		{once("a", "1"), once("b", "1"), "start b@1"},
	} {
		r := beginPlan(t, inOrder(c.was), workflow.Limits{})
		r.ended("a", 1, "x")
		r.want(fmt.Sprint(c.was.Once, c.is.ID, c.is.Once), r.plan(inOrder(c.is)), c.want)
	}
	routed := inOrder(once("a", "1"), did("b", "2"))
	routed.Root.Body.Edges = []workflow.Edge{{From: "a", To: "b", On: workflow.OnLabel, Label: "no"}}
	r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r.ended("a", 1, "x")
	json := once("a", "1")
	json.Output.Mode = workflow.JSON
	r.want("its output is read in another way", r.plan(inOrder(json)), "ask a")
	if q := r.run.Questions()[0]; !strings.Contains(q.Options[1].Description, "empty output") {
		t.Errorf("%+v", q.Options)
	}
	r.want("its result leads nowhere", r.plan(routed), "withdraw a, ask a")
	r.want("so it fails", r.step(&engine.Answered{ID: "a", Value: engine.Done}), "finish error")
	r.want("and is not repeated then", r.plan(inOrder(once("a", "other"))), "ask a")
}

// What was declared to happen once when it was done asks, although no later plan declares it.
func TestReplanRemembersThatAnEffectHappensOnce(t *testing.T) {
	const text = `"a" is done, and its effect must happen only once`
	r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r.ended("a", 1, "x")
	r.want("it is not in this plan", r.plan(inOrder(did("b", "1"))), "start b@1")
	r.want("it is again", r.plan(inOrder(did("a", "2"))), "cancel b@1, ask a")
	if q := r.run.Questions()[0]; !strings.Contains(q.Text, text) {
		t.Errorf("%+v", q)
	}
	r.want("it waits", r.plan(inOrder(did("a", "3"))), "withdraw a, ask a")
	r.want("it is left as it is", r.step(&engine.Answered{ID: "a", Value: engine.Done}), "")
	r.want("b ends", r.ended("b", 1, ""), "finish success")
	r.want("nothing else has run", r.plan(inOrder(did("a", "4"))), "ask a")
	want := engine.Past{Done: true, Once: true, Again: true}
	if p := r.run.Pasts()["a"]; p != want {
		t.Errorf("%+v", p)
	}
	r.want("its result leads nowhere", r.plan(func() *workflow.Bundle {
		b := inOrder(did("a", "5"), did("b", "2"))
		b.Root.Body.Edges = []workflow.Edge{{From: "a", To: "b", On: workflow.OnLabel, Label: "no"}}
		return b
	}()), "withdraw a, ask a")
	r.want("so it fails", r.step(&engine.Answered{ID: "a", Value: engine.Done}), "finish error")

	r = beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r.want("it is in progress", r.plan(inOrder(did("a", "2"))), "cancel a@1")
	r.want("it may have happened", r.ended("a", 1, ""), "ask a")
	if p := r.run.Pasts()["a"]; !p.Unsure || !p.Once {
		t.Errorf("%+v", p)
	}
}

// A step that a person has marked as failed does not succeed again without a question.
func TestReplanAsksAboutWhatAPersonFailed(t *testing.T) {
	r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r.ended("a", 1, "x")
	r.plan(inOrder(once("a", "2")))
	r.want("it fails", r.step(&engine.Answered{ID: "a", Value: engine.Fail}), "finish error")
	if got, want := r.run.Result().Error, "a: is done, but a person marked it as failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	restored, err := engine.Restore(inOrder(once("a", "2")), r.run.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	r.run = restored
	r.want("the first plan", r.plan(inOrder(once("a", "1"))), "ask a")
	if q := r.run.Questions()[0]; !strings.Contains(q.Text, "a person has marked it as failed") || !strings.Contains(q.Options[1].Description, "the result that it has") {
		t.Errorf("%+v", q)
	}
	r.want("it is done after all", r.step(&engine.Answered{ID: "a", Value: engine.Done}), "finish success")
	r.want("that was decided", r.plan(inOrder(once("a", "1"), did("b", "1"))), "start b@1")
}

// Runs of version 4 repeat it, as they did.
func TestReplanRepeatsEffectsInVersion4(t *testing.T) {
	r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	run := r.run.Fresh()
	r = &replanned{t, run, r.now}
	r.step(&engine.Started{Run: "r", Version: 4})
	r.ended("a", 1, "x")
	r.want("version 4", r.plan(inOrder(once("a", "2"))), "start a@2")
}

// What it took to make a plan counts as used, and against the limits.
func TestReplanIsCharged(t *testing.T) {
	b := inOrder(did("a", "1"), did("b", "2"))
	r := beginPlan(t, b, workflow.Limits{CostUSD: 3})
	r.ended("a", 1, "x")
	tasks := map[string]engine.TaskFacts{"w/b": {May: workflow.Budget{CostUSD: workflow.AtMost(1.0)}}}
	used := engine.Usage{CostUSD: 1.5, TokensIn: 7}
	r.want("nothing is left for c", r.step(&engine.Replanned{Bundle: inOrder(did("a", "1"), did("c", "3")), Usage: used, Tasks: map[string]engine.TaskFacts{"w/c": tasks["w/b"]}}), "cancel b@1")
	r.want("b has cost something", r.ended("b", 1, ""), "ask c")
	res := r.run.Result()
	if res.Usage.CostUSD != 3.5 || res.Usage.TokensIn != 7 || res.Usage.Planning != used {
		t.Errorf("used %+v, for planning %+v", res.Usage, res.Usage.Planning)
	}
	r.step(&engine.Replanned{Bundle: b, Usage: used})
	if res := r.run.Result(); res.Usage.CostUSD != 5 || res.Usage.Planning.CostUSD != 3 {
		t.Errorf("used %+v, for planning %+v", res.Usage, res.Usage.Planning)
	}
}

// A run is charged once for each run in which a plan was made, whatever plans name it.
func TestReplanChargesPlanningOnce(t *testing.T) {
	r := beginPlan(t, inOrder(did("a", "1")), workflow.Limits{})
	cost := func(usd float64) engine.Usage { return engine.Usage{CostUSD: usd} }
	charged := func(want float64, planning map[string]engine.Usage) {
		t.Helper()
		r.step(&engine.Replanned{Bundle: inOrder(did("a", "1")), Planning: planning})
		if used := r.run.Usage(); used.CostUSD != want || used.Planning.CostUSD != want {
			t.Errorf("used %+v, for planning %+v, want %g", used.Usage, used.Planning, want)
		}
	}
	charged(0.5, map[string]engine.Usage{"p1": cost(0.5)})
	charged(0.5, map[string]engine.Usage{"p1": cost(0.5)})
	restored, err := engine.Restore(inOrder(did("a", "1")), r.run.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	r.run = restored
	charged(0.75, map[string]engine.Usage{"p1": cost(0.5), "p2": cost(0.25)})
	r.step(&engine.Replanned{Bundle: inOrder(did("a", "1")), Usage: cost(1), Planners: []string{"p3"}}) // as older programs recorded it
	charged(1.75, map[string]engine.Usage{"p3": cost(1)})
}

// A failure that no longer waits for a new plan says why.
func TestReplansAreUsedUp(t *testing.T) {
	a := did("a", "1")
	a.OnError = workflow.Replan
	r := beginPlan(t, inOrder(a), workflow.Limits{Replans: 2})
	for i, last := range []bool{false, true} {
		r.failed("a", i+1)
		if q := r.run.Questions()[0]; strings.Contains(q.Text, "Later failures will not wait for a new plan (replans: 2).") != last {
			t.Errorf("%s", q.Text)
		}
		r.plan(inOrder(a))
	}
	r.want("none is left", r.failed("a", 3), "finish error")
	if got, want := r.run.Result().Error, "a: boom (it did not wait for a new plan: replans: 2 is used up)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
