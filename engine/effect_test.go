package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func lost(address string, attempt int) *engine.TaskEnded {
	return &engine.TaskEnded{Address: address, Attempt: attempt, Fault: &engine.Fault{Kind: engine.FaultLost, Message: "lost"}}
}

// What nobody knows about an attempt is still unknown after a person, or a deadline, has failed its step.
func TestReplanAsksAboutUnknownEffects(t *testing.T) {
	once1, twice := once("a", "1"), once("a", "1")
	twice.Retry = workflow.Retry{Attempts: 2}
	fault := func(kind engine.FaultKind) *engine.TaskEnded {
		return &engine.TaskEnded{Address: "a", Attempt: 1, Fault: &engine.Fault{Kind: kind, Message: "no"}}
	}
	json := once("a", "1")
	json.Output.Mode = workflow.JSON
	for what, c := range map[string]struct {
		is     workflow.Node
		events []engine.Event
		want   string
	}{
		"failed by a person":   {once1, []engine.Event{lost("a", 1), &engine.Answered{ID: "a", Value: engine.Fail}}, "ask a"},
		"not answered":         {once1, []engine.Event{lost("a", 1), &engine.TimerFired{ID: "answer a"}}, "ask a"},
		"recovered, and so":    {once1, []engine.Event{&engine.Recovered{}, &engine.TimerFired{ID: "answer a"}}, "ask a"},
		"timed out":            {once1, []engine.Event{fault(engine.FaultTimeout)}, "ask a"},
		"timed out, and again": {twice, []engine.Event{fault(engine.FaultTimeout), &engine.TaskEnded{Address: "a", Attempt: 2, Fault: &engine.Fault{Kind: engine.FaultError}}}, "ask a"},
		"without its output":   {json, []engine.Event{&engine.TaskEnded{Address: "a", Attempt: 1, Output: "no JSON"}}, "ask a"},
		"plainly failed":       {once1, []engine.Event{fault(engine.FaultError)}, "start a@2"},
		"it did not happen":    {once1, []engine.Event{lost("a", 1), &engine.Answered{ID: "a", Value: engine.Rerun}, fault(engine.FaultError)}, "start a@2"},
	} {
		r := beginPlan(t, inOrder(c.is), workflow.Limits{})
		for _, ev := range c.events {
			r.step(ev)
		}
		if known := r.run.Result().Steps[0].Effect; known != (c.want == "ask a") {
			t.Errorf("%s: an effect: %t", what, known)
		}
		r.want(what, r.plan(inOrder(c.is)), c.want)
	}
	r := beginPlan(t, inOrder(once1), workflow.Limits{})
	r.want("another plan cancels it", r.plan(inOrder(once("a", "2"))), "cancel a@1")
	r.want("it may have happened", r.ended("a", 1, ""), "ask a")
	r.want("a person fails it", r.step(&engine.Answered{ID: "a", Value: engine.Fail}), "finish error")
	r.want("which says nothing about it", r.plan(inOrder(once("a", "3"))), "ask a")
	r.want("it did happen", r.step(&engine.Answered{ID: "a", Value: engine.Done}), "finish success")
	if p := r.run.Pasts()["a"]; !p.Unsure {
		t.Errorf("%+v", p) // as of the newest plan's beginning
	}
	r.want("and that is known now", r.plan(inOrder(once("a", "3"), did("b", "1"))), "start b@1")
}

// That an effect has happened is known, even if its step fails because it has no output.
func TestReplanAsksAboutDoneWithoutOutput(t *testing.T) {
	json := once("a", "1")
	json.Output.Mode = workflow.JSON
	json.Retry = workflow.Retry{Attempts: 3}
	r := beginPlan(t, inOrder(json), workflow.Limits{})
	r.want("lost", r.step(lost("a", 1)), "ask a")
	r.want("a person says that it happened", r.step(&engine.Answered{ID: "a", Value: engine.Done}), "finish error")
	r.want("the same plan", r.plan(inOrder(json)), "ask a")
}

// A person who agrees to repeat a step in another form does not agree to repeat the first one.
func TestReplanAsksAboutAnEarlierForm(t *testing.T) {
	failed := func(attempt int) *engine.TaskEnded {
		return &engine.TaskEnded{Address: "a", Attempt: attempt, Fault: &engine.Fault{Kind: engine.FaultError, Message: "no"}}
	}
	r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r.ended("a", 1, "sent")
	r.want("another form", r.plan(inOrder(once("a", "2"))), "ask a")
	r.want("a person agrees", r.step(&engine.Answered{ID: "a", Value: engine.Rerun}), "start a@2")
	r.want("which fails", r.step(failed(2)), "finish error")
	r.want("a third form, which nobody has sent", r.plan(inOrder(once("a", "3"))), "start a@3")
	r.want("which fails, too", r.step(failed(3)), "finish error")
	r.want("the first form again", r.plan(inOrder(once("a", "1"))), "ask a")
	r.want("it is done", r.step(&engine.Answered{ID: "a", Value: engine.Done}), "finish success")

	r = beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r.want("lost", r.step(lost("a", 1)), "ask a")
	r.want("it still asks", r.plan(inOrder(once("a", "1"), did("b", "1"))), "")
	r.want("it did not happen", r.step(&engine.Answered{ID: "a", Value: engine.Rerun}), "start a@1")
	r.want("and fails", r.step(failed(1)), "finish error")
	r.want("nothing is unknown", r.plan(inOrder(once("a", "1"))), "start a@2")
}

// Runs of version 5 forget it, as they did.
func TestReplanForgetsUnknownEffectsInVersion5(t *testing.T) {
	r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r = &replanned{t, r.run.Fresh(), r.now}
	r.step(&engine.Started{Run: "r", Version: 5})
	r.step(lost("a", 1))
	r.step(&engine.Answered{ID: "a", Value: engine.Fail})
	r.want("version 5", r.plan(inOrder(once("a", "1"))), "start a@2")
}

// An attempt whose effect must happen once according to an earlier plan only is not repeated after a crash.
func TestLostEffectOfAnEarlierDeclaration(t *testing.T) {
	r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r.ended("a", 1, "x")
	r.want("the declaration is gone", r.plan(inOrder(did("a", "2"))), "ask a")
	r.want("it runs again", r.step(&engine.Answered{ID: "a", Value: engine.Rerun}), "start a@2")
	r.want("and is lost", r.step(&engine.Recovered{}), "ask a")
}

// A person agrees to what a plan does. Another plan that comes before anything was sent asks again.
func TestReplanAsksAgainBeforeAnythingWasSent(t *testing.T) {
	begin := func() *replanned {
		r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
		r.ended("a", 1, "x")
		r.want("it is changed", r.idle(&engine.Replanned{Bundle: inOrder(once("a", "2"))}), "ask a")
		r.want("a person agrees", r.idle(&engine.Answered{ID: "a", Value: engine.Rerun}), "start a@2")
		return r
	}
	r := begin()
	r.want("it is changed again", r.idle(&engine.Replanned{Bundle: inOrder(once("a", "3"))}), "ask a")
	r.want("a person agrees", r.idle(&engine.Answered{ID: "a", Value: engine.Rerun}), "start a@2")
	r.want("it is sent", r.step(&engine.Recovered{}), "start a@2")
	r.want("and fails", r.failed("a", 2), "finish error")
	r.want("so it runs", r.plan(inOrder(once("a", "4"))), "start a@3")

	r = begin()
	restored, err := engine.Restore(inOrder(once("a", "2")), r.run.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	r.run = restored
	r.want("the same plan goes on", r.idle(&engine.Replanned{Bundle: inOrder(once("a", "2"))}), "")
	r.want("it is sent", r.step(&engine.Recovered{}), "start a@2")
}

// Steps of plans that were never driven do not count, are not numbered, and hold nothing up.
func TestReplanGivesBackStepsThatNeverRan(t *testing.T) {
	r := beginPlan(t, inOrder(did("a", "1")), workflow.Limits{Steps: 3})
	r.ended("a", 1, "x")
	for _, prompt := range []string{"2", "3", "4", "5"} {
		r.want("nobody drives it", r.idle(&engine.Replanned{Bundle: inOrder(did("a", prompt))}), "start a@2")
		if step := r.run.Result().Steps[0]; !step.Unsent || r.run.Usage().Steps != 2 {
			t.Errorf("%+v, used %+v", step, r.run.Usage())
		}
	}
	r.want("it goes on", r.idle(&engine.Replanned{Bundle: inOrder(did("a", "5"), did("b", "1"))}), "")
	r.want("a driver starts it", r.step(&engine.Recovered{}), "start a@2")
	r.want("it ends", r.ended("a", 2, "y"), "start b@1")
	if used := r.run.Usage().Steps; used != 3 {
		t.Errorf("%d steps", used)
	}
	r.want("these were sent", r.plan(inOrder(did("a", "6"))), "cancel b@1")
	r.want("so none is left", r.ended("b", 1, ""), "finish error")
}

// A step that does what another did in an earlier plan asks, wherever it is now, unless the other is there, too.
func TestReplanAsksAboutMovedEffects(t *testing.T) {
	mail := once("mail", "send ${inputs.x}")
	call := func(id string, n workflow.Node) *workflow.Bundle {
		b := inOrder(workflow.Node{ID: id, Step: &workflow.Call{Workflow: "sub", Inputs: []workflow.Binding{{Name: "x", Value: "${inputs.x}"}}}})
		b.Called = map[string]*workflow.Workflow{"sub": inOrder(n).Root}
		b.Called["sub"].Name = "sub"
		return b
	}
	often, changed, renamed := mail, once("mail", "send it to ${inputs.x}"), once("post", "send ${inputs.x}")
	often.Once = false
	for what, c := range map[string]struct {
		was, is *workflow.Bundle
		ended   string
		want    string
	}{
		"into a call":                {inOrder(mail), call("send", mail), "mail", "ask send/mail"},
		"out of it":                  {call("send", mail), inOrder(mail), "send/mail", "ask mail"},
		"below a renamed call":       {call("send", mail), call("deliver", mail), "send/mail", "ask deliver/mail"},
		"without the declaration":    {inOrder(mail), call("send", often), "mail", "ask send/mail"},
		"of a step that may repeat":  {inOrder(often), call("send", often), "mail", "start send/mail@1"},
		"another text":               {inOrder(mail), call("send", changed), "mail", "start send/mail@1"},
		"another id is another step": {inOrder(mail), call("send", renamed), "mail", "start send/post@1"},
		"as another one beside the old": {inOrder(mail), func() *workflow.Bundle {
			b := call("send", mail)
			b.Root.Body.Nodes = append(b.Root.Body.Nodes, mail)
			return b
		}(), "mail", "start send/mail@1"},
	} {
		run, err := engine.New(c.was)
		if err != nil {
			t.Fatal(err)
		}
		r := &replanned{t, run, time.Unix(1e9, 0).UTC()}
		r.step(&engine.Started{Run: "r", Version: engine.Version, Inputs: map[string]any{"x": "ann"}})
		r.ended(c.ended, 1, "sent")
		r.want(what, r.plan(c.is), c.want)
	}

	r := beginPlan(t, inOrder(once("mail", "send")), workflow.Limits{})
	r.want("it is in progress", r.plan(call("send", once("mail", "send"))), "cancel mail@1, ask send/mail")
	if q := r.run.Questions()[0]; !strings.Contains(q.Text, `"send/mail" would do what "mail" did in an earlier plan. That may have run already`) || q.Detail != "prompt: send" {
		t.Errorf("%+v", q)
	}
	r.ended("mail", 1, "")
	restored, err := engine.Restore(call("send", once("mail", "send")), r.run.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	r.run = restored
	r.want("the question stays", r.plan(call("send", once("mail", "send"))), "")
	r.want("a person fails it", r.step(&engine.Answered{ID: "send/mail", Value: engine.Fail}), "finish error")
	r.want("which says nothing about it", r.plan(call("send", once("mail", "send"))), "ask send/mail")
	r.want("it did happen", r.step(&engine.Answered{ID: "send/mail", Value: engine.Done}), "finish success")
	r.want("that was decided", r.plan(call("send", once("mail", "send"))), "finish success")
	r.want("back to where it was", r.plan(inOrder(once("mail", "send"))), "ask mail")
	r.want("it runs", r.step(&engine.Answered{ID: "mail", Value: engine.Rerun}), "start mail@2")
	r.want("and is lost", r.step(&engine.Recovered{}), "ask mail")
}

// Items that get another position ask, and the questions say which items they are about.
func TestReplanAsksAboutMovedItems(t *testing.T) {
	mails := func(items string) *workflow.Bundle {
		return inOrder(workflow.Node{ID: "mail", Step: &workflow.Each{Items: workflow.Expr{Text: items}, As: "to", Body: workflow.Graph{Nodes: []workflow.Node{once("mail", "send ${vars.to}")}}}})
	}
	begin := func() *replanned {
		r := beginPlan(t, mails(`["ann", "bob"]`), workflow.Limits{})
		r.ended("mail[0]", 1, "")
		r.want("all are sent", r.ended("mail[1]", 1, ""), "finish success")
		return r
	}
	r := begin()
	r.want("one is added in front", r.plan(mails(`["zoe", "ann", "bob"]`)), "ask mail[0], ask mail[1], ask mail[2]")
	for i, want := range []string{"item 1: zoe\nprompt: send zoe", "item 2: ann\nprompt: send ann", "item 3: bob\nprompt: send bob"} {
		if q := r.run.Questions()[i]; q.Detail != want {
			t.Errorf("%q, want %q", q.Detail, want)
		}
	}
	if q := r.run.Questions()[2]; !strings.Contains(q.Text, `would do what "mail[1]" did in an earlier plan. That is done`) {
		t.Errorf("%s", q.Text)
	}
	r.want("she gets one", r.step(&engine.Answered{ID: "mail[0]", Value: engine.Rerun}), "start mail[0]@2")
	r.step(&engine.Answered{ID: "mail[1]", Value: engine.Done})
	r.want("the next plan knows who got none", r.plan(mails(`["zoe", "ann", "carl", "bob"]`)), "withdraw mail[2], start mail[2]@1, ask mail[3]")

	r = begin()
	r.want("one is added at the end", r.plan(mails(`["ann", "bob", "ann"]`)), "start mail[2]@1")
	r = begin()
	r.want("the list is cut", r.plan(mails(`["bob"]`)), "ask mail[0]")
	long := strings.Repeat("x", 1000)
	r = beginPlan(t, mails(`["`+long+`"]`), workflow.Limits{})
	r.step(lost("mail[0]", 1))
	if q := r.run.Questions()[0]; len(q.Detail) > 500 {
		t.Errorf("%d bytes", len(q.Detail))
	}
}

// Whoever says that the effect of an item has happened gets the result of that item, wherever it was, and not
// the result of another item that was at its place.
func TestReplanLeavesTheResultOfTheItem(t *testing.T) {
	mails := func(items string) *workflow.Bundle {
		return inOrder(workflow.Node{ID: "mail", Step: &workflow.Each{Items: workflow.Expr{Text: items}, As: "to", Body: workflow.Graph{Nodes: []workflow.Node{once("mail", "send ${vars.to}")}}}})
	}
	result, empty := "continue with the result that it has", "continue with an empty output"
	for version, want := range map[int][]string{6: {"to ann", "to bob", ""}, engine.Version: {"", "to ann", "to bob"}} {
		r := beginPlan(t, mails(`["ann", "bob"]`), workflow.Limits{})
		r = &replanned{t, r.run.Fresh(), r.now}
		r.step(&engine.Started{Run: "r", Version: version})
		r.ended("mail[0]", 1, "to ann")
		r.ended("mail[1]", 1, "to bob")
		r.want("one is added in front", r.plan(mails(`["zoe", "ann", "bob"]`)), "ask mail[0], ask mail[1], ask mail[2]")
		for i, q := range r.run.Questions() {
			offered := empty
			if want[i] != "" {
				offered = result
			}
			if got := q.Options[1].Description; !strings.Contains(got, offered) {
				t.Errorf("version %d: %s offers %q", version, q.ID, got)
			}
		}
		if version == engine.Version {
			restored, err := engine.Restore(mails(`["zoe", "ann", "bob"]`), r.run.Snapshot())
			if err != nil {
				t.Fatal(err)
			}
			r.run = restored
		}
		for _, id := range []string{"mail[2]", "mail[0]", "mail[1]"} {
			r.step(&engine.Answered{ID: id, Value: engine.Done})
		}
		if got, want := workflow.FormatJSON(r.run.Result().Output), workflow.FormatJSON(want); got != want {
			t.Errorf("version %d: %s, want %s", version, got, want)
		}
	}

	r := beginPlan(t, inOrder(once("a", "1")), workflow.Limits{})
	r.ended("a", 1, "first")
	r.plan(inOrder(once("a", "2")))
	r.step(&engine.Answered{ID: "a", Value: engine.Rerun})
	r.ended("a", 2, "second")
	r.want("the first form again", r.plan(inOrder(once("a", "1"))), "ask a")
	r.step(&engine.Answered{ID: "a", Value: engine.Done})
	if got := r.run.Result().Steps[0].Output; got != "first" {
		t.Errorf("%q", got)
	}
	r.want("it may happen again", r.plan(inOrder(once("a", "3"))), "ask a")
	r.step(&engine.Answered{ID: "a", Value: engine.Rerun})
	r.want("but is lost", r.step(&engine.Recovered{}), "ask a")
	r.step(&engine.Answered{ID: "a", Value: engine.Done})
	if step := r.run.Result().Steps[0]; step.Output != "" || step.Attempts != 3 {
		t.Errorf("%+v", step)
	}
}

// A fork repeats the answer about an effect also if a budget held the step back before a person raised it.
func TestForkAfterABudgetAndAnEffect(t *testing.T) {
	plan := func(prompt string) string {
		return "  - {id: a, agent: x, effect: once, prompt: " + prompt + "}\n  - {id: b, agent: x}\n"
	}
	s := planned(t, plan("one"), "")
	s.load("plan/two.yml", []byte("name: main\nsteps:\n"+plan("two")))
	s.limits.CostUSD = 1
	s.does("cost a 1", "cost b 0", "start", "ok a A", "ok b B", "replan two", "answer a 9", "answer a rerun", "ok a A2")
	if said := s.does("fork b"); !strings.HasPrefix(said, "  ask b \"Raise the budget") {
		t.Errorf("%s", said)
	}
}

// A fork from a step that a failure would end before it says so. There, nobody can be asked for a new plan.
func TestForkBeforeAFailureThatAskedForAPlan(t *testing.T) {
	pick := workflow.Node{ID: "pick", OnError: workflow.Replan, Step: &workflow.Choice{On: workflow.Expr{Text: `"z"`}}}
	b := &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{
		Nodes: []workflow.Node{pick, did("a", "1"), did("b", "1")}, Edges: []workflow.Edge{{From: "pick", To: "b", On: workflow.OnLabel, Label: "x"}},
	}}}
	run, err := engine.New(inOrder(did("a", "1")))
	if err != nil {
		t.Fatal(err)
	}
	var events []engine.Envelope
	for i, ev := range []engine.Event{
		&engine.Started{Run: "r", Version: engine.Version}, &engine.TaskEnded{Address: "a", Attempt: 1, Output: "x"}, &engine.Replanned{Bundle: b},
		&engine.Answered{ID: "pick", Value: engine.Stop},
	} {
		events = append(events, engine.Envelope{Seq: i + 1, Time: time.Unix(1e9+int64(i), 0).UTC(), Event: ev})
		if _, err := run.Step(events[i]); err != nil {
			t.Fatal(err)
		}
	}
	_, err = engine.Fork(inOrder(did("a", "1")), events, nil, "a", "new", workflow.Limits{}, time.Unix(2e9, 0))
	if err == nil || !strings.Contains(err.Error(), `"a" would be cancelled again: pick: `) {
		t.Error(err)
	}
}
