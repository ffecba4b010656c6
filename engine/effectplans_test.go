package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func eachOf(items string, n workflow.Node) *workflow.Bundle {
	return inOrder(workflow.Node{ID: "mail", Step: &workflow.Each{Items: workflow.Expr{Text: items}, As: "to", Body: workflow.Graph{Nodes: []workflow.Node{n}}}})
}

// Consent to repeat one form of a step does not undo that another form of it is done.
func TestEffectOfAnotherForm(t *testing.T) {
	r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r.ended("a", 1, "sent")
	r.want("form 2", r.plan(inOrder(once("a", "2"))), "ask a")
	r.want("agree", r.step(&engine.Answered{ID: "a", Value: engine.Rerun}), "start a@2")
	r.want("lost", r.step(lost("a", 2)), "ask a")
	r.want("form 1", r.plan(inOrder(did("a", "1"))), "withdraw a, ask a")
	if q := r.run.Questions()[0]; !strings.Contains(q.Text, "did exactly this") {
		t.Errorf("the question is %s", q.Text)
	}
	r.want("rerun", r.step(&engine.Answered{ID: "a", Value: engine.Rerun}), "start a@3")
	r.want("fails", r.failed("a", 3), "finish error")
	r.want("form 1 again", r.plan(inOrder(did("a", "1"))), "ask a")
}

// A result that leads nowhere in the new plan fails the step, and the run does not wait for ever.
func TestDoneThatLeadsNowhere(t *testing.T) {
	r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r.ended("a", 1, "x")
	r.want("form 2", r.plan(inOrder(once("a", "2"))), "ask a")
	r.want("agree", r.step(&engine.Answered{ID: "a", Value: engine.Rerun}), "start a@2")
	routed := inOrder(did("a", "1"), did("b", "2"))
	routed.Root.Body.Edges = []workflow.Edge{{From: "a", To: "b", On: workflow.OnLabel, Label: "no"}}
	r.want("routed", r.plan(routed), "cancel a@2")
	r.want("ended", r.ended("a", 2, ""), "ask a")
	r.want("done", r.step(&engine.Answered{ID: "a", Value: engine.Done}), "finish error")
}

func callMail(both bool) *workflow.Bundle {
	mail := once("mail", "send")
	b := inOrder(workflow.Node{ID: "send", Step: &workflow.Call{Workflow: "sub"}})
	if both {
		b = inOrder(mail, workflow.Node{ID: "send", Step: &workflow.Call{Workflow: "sub"}})
	}
	b.Called = map[string]*workflow.Workflow{"sub": inOrder(mail).Root}
	b.Called["sub"].Name = "sub"
	return b
}

// A step that was additional in a plan that nobody carried out is a moved one in the next plan.
func TestAdditionalEffectThatNobodySent(t *testing.T) {
	r := beginPlan(t, inOrder(once("mail", "send")), workflow.Limits{})
	r.want("sent", r.ended("mail", 1, "sent"), "finish success")
	r.want("one more", r.idle(&engine.Replanned{Bundle: callMail(true)}), "start send/mail@1")
	r.want("only that one", r.idle(&engine.Replanned{Bundle: callMail(false)}), "")
	r.want("driven", r.step(&engine.Recovered{}), "ask send/mail")
}

// Consent to a fork is for the values that the step had then.
func TestConsentIsForTheValues(t *testing.T) {
	first := eachOf(`["ann", "bob"]`, once("mail", "send ${vars.to}"))
	facts := map[string]engine.TaskFacts{"w/mail": {May: workflow.Budget{CostUSD: workflow.AtMost(2.0)}}}
	var events []engine.Envelope
	run, err := engine.New(first)
	if err != nil {
		t.Fatal(err)
	}
	for i, ev := range []engine.Event{
		&engine.Started{Run: "r", Version: engine.Version, Tasks: facts}, &engine.TaskEnded{Address: "mail[0]", Attempt: 1, Output: "to ann"}, &engine.TaskEnded{Address: "mail[1]", Attempt: 1, Output: "to bob"},
	} {
		events = append(events, engine.Envelope{Seq: i + 1, Time: time.Unix(1e9+int64(i), 0).UTC(), Event: ev})
		if _, err := run.Step(events[i]); err != nil {
			t.Fatal(err)
		}
	}
	events, err = engine.Fork(first, events, nil, "mail[0]", "new", workflow.Limits{CostUSD: 1}, time.Unix(1e9+10, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	r := &replanned{t, run.Fresh(), time.Unix(1e9+20, 0).UTC()}
	for _, e := range events {
		if _, err := r.run.Step(e); err != nil {
			t.Fatal(err)
		}
	}
	r.want("recovered", r.step(&engine.Recovered{}), "")
	r.want("bob only", r.step(&engine.Replanned{Tasks: facts, Bundle: eachOf(`["bob"]`, once("mail", "send ${vars.to}"))}), "withdraw mail[0], ask mail[0]")
	r.want("allowed", r.step(&engine.Answered{ID: "mail[0]", Value: "9"}), "ask mail[0]")
}
