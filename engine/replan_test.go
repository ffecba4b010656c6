package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// replanned is a run whose plan is changed by hand.
type replanned struct {
	*testing.T
	run *engine.Run
	now time.Time
}

func did(id, prompt string) workflow.Node {
	return workflow.Node{ID: id, Step: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: prompt}, Context: workflow.NoContext}}
}

// inOrder returns a plan whose nodes follow each other.
func inOrder(nodes ...workflow.Node) *workflow.Bundle {
	g := workflow.Graph{Nodes: nodes}
	for i := range nodes[1:] {
		g.Edges = append(g.Edges, workflow.Edge{From: nodes[i].ID, To: nodes[i+1].ID})
	}
	return &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: g}}
}

func beginPlan(t *testing.T, b *workflow.Bundle, limits workflow.Limits) *replanned {
	t.Helper()
	run, err := engine.New(b)
	if err != nil {
		t.Fatal(err)
	}
	r := &replanned{t, run, time.Unix(1e9, 0).UTC()}
	r.step(&engine.Started{Run: "r", Version: engine.Version, Limits: limits})
	return r
}

// step steps an event and returns its commands as text.
func (r *replanned) step(ev engine.Event) string {
	r.Helper()
	return r.apply(engine.Envelope{Event: ev})
}

// idle does that while no driver is there.
func (r *replanned) idle(ev engine.Event) string {
	r.Helper()
	return r.apply(engine.Envelope{Event: ev, Unattended: true})
}

func (r *replanned) apply(e engine.Envelope) string {
	r.Helper()
	r.now = r.now.Add(time.Second)
	e.Time, e.Clock = r.now, r.now.Sub(time.Unix(1e9, 0))
	if err := r.run.Admit(e); err != nil {
		r.Fatalf("%T: %v", e.Event, err)
	}
	cmds, err := r.run.Step(e)
	if err != nil {
		r.Fatal(err)
	}
	var list []string
	for _, c := range cmds {
		switch c := c.(type) {
		case *engine.StartTask:
			list = append(list, fmt.Sprintf("start %s@%d", c.Address, c.Attempt))
		case *engine.CancelTask:
			list = append(list, fmt.Sprintf("cancel %s@%d", c.Address, c.Attempt))
		case *engine.Ask:
			list = append(list, "ask "+c.ID)
		case *engine.Withdraw:
			list = append(list, "withdraw "+c.ID)
		case *engine.Finish:
			list = append(list, "finish "+string(c.Status))
		case *engine.SetTimer, *engine.CancelTimer, *engine.Reply, *engine.Return:
		}
	}
	return strings.Join(list, ", ")
}

func (r *replanned) ended(address string, attempt int, output string) string {
	r.Helper()
	return r.step(&engine.TaskEnded{Address: address, Attempt: attempt, Output: output, Usage: engine.Usage{CostUSD: 1}})
}

func (r *replanned) failed(address string, attempt int) string {
	r.Helper()
	return r.step(&engine.TaskEnded{Address: address, Attempt: attempt, Fault: &engine.Fault{Kind: engine.FaultError, Message: "boom"}})
}

func (r *replanned) plan(b *workflow.Bundle) string {
	r.Helper()
	return r.step(&engine.Replanned{Bundle: b, By: "ann"})
}

func (r *replanned) want(what, got, want string) {
	r.Helper()
	if got != want {
		r.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestReplanKeepsWhatIsDone(t *testing.T) {
	r := beginPlan(t, inOrder(did("a", "1"), did("b", "2"), did("c", "3")), workflow.Limits{})
	r.ended("a", 1, "x")
	before := r.run.Result().Steps[0]
	r.want("c is changed", r.plan(inOrder(did("a", "1"), did("b", "2"), did("c", "other"), did("d", "new"))), "")
	if after := r.run.Result().Steps[0]; fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("a is %+v, want %+v", after, before)
	}
	r.want("b has ended", r.ended("b", 1, "y"), "start c@1")
	r.want("c has ended", r.ended("c", 1, "z"), "start d@1")
	r.want("d is gone", r.plan(inOrder(did("a", "1"), did("b", "2"), did("c", "other"))), "cancel d@1")
	r.want("d has ended", r.ended("d", 1, ""), "finish success")
	if used := r.run.Usage(); used.CostUSD != 4 || used.Steps != 4 {
		t.Errorf("%+v", used)
	}
	r.want("over, and the same again", r.plan(inOrder(did("a", "1"), did("b", "2"), did("c", "other"))), "finish success")
}

// What follows a step that runs again does so, too, unless it shows that nothing has changed, or must
// happen once.
func TestReplanDependents(t *testing.T) {
	once := did("once", "4")
	once.Once = true
	old := []workflow.Node{did("a", "1"), did("test", "make test"), did("shows", "see ${nodes.a.output}"), once}
	r := beginPlan(t, inOrder(old...), workflow.Limits{})
	for _, n := range old {
		r.ended(n.ID, 1, "x")
	}
	plan := slices.Clone(old)
	plan[0] = did("a", "changed")
	r.want("a is changed", r.plan(inOrder(plan...)), "start a@2")
	r.want("a gives the same", r.ended("a", 2, "x"), "start test@2")
	r.want("shows follows test, which ran again", r.ended("test", 2, "x"), "start shows@2")
	r.want("once is not repeated", r.ended("shows", 2, "x"), "finish success")

	old[1], old[3] = did("b", "b"), did("c", "c") // in other branches
	b := inOrder(old...)
	b.Root.Body.Edges = []workflow.Edge{{From: "a", To: "shows"}}
	r = beginPlan(t, b, workflow.Limits{})
	for _, n := range old {
		r.ended(n.ID, 1, "x")
	}
	again := *b.Root
	again.Body.Nodes = slices.Clone(old)
	again.Body.Nodes[0] = did("a", "changed")
	r.want("a is changed, alone", r.plan(&workflow.Bundle{Root: &again}), "start a@2")
	r.want("shows shows the same", r.ended("a", 2, "x"), "finish success")
}

func TestReplanWaitsForTheOldAttempt(t *testing.T) {
	r := beginPlan(t, inOrder(did("a", "1"), did("b", "2")), workflow.Limits{Parallel: 1})
	r.want("a is changed", r.plan(inOrder(did("a", "other"), did("b", "2"))), "cancel a@1")
	if err := r.run.Admit(engine.Envelope{Event: &engine.TaskEnded{Address: "a", Attempt: 2}}); err == nil {
		t.Error("attempt 2 runs beside attempt 1")
	}
	r.want("attempt 1 has ended", r.ended("a", 1, "late"), "start a@2")
	r.want("attempt 2 has ended", r.ended("a", 2, "x"), "start b@1")
}

func TestReplanFailures(t *testing.T) {
	a := did("a", "1")
	a.Retry = workflow.Retry{Attempts: 2}
	r := beginPlan(t, inOrder(a, did("b", "2")), workflow.Limits{})
	r.failed("a", 1)
	r.want("stop", r.failed("a", 2), "finish error")
	r.want("it is tried again", r.plan(inOrder(a, did("b", "2"))), "start a@3")
	r.want("with all its attempts", r.failed("a", 3), "start a@4")
	r.ended("a", 4, "x")

	a.Retry, a.OnError = workflow.Retry{}, workflow.Continue
	r = beginPlan(t, inOrder(a, did("b", "2")), workflow.Limits{})
	r.want("continue", r.failed("a", 1), "start b@1")
	r.want("the failure stays", r.plan(inOrder(a, did("b", "2"), did("c", "3"))), "")
	r.want("b has ended", r.ended("b", 1, "x"), "start c@1")
	r.want("c has ended", r.ended("c", 1, "x"), "finish partial")
}

func TestReplanGates(t *testing.T) {
	gate := func(id, text string) workflow.Node {
		return workflow.Node{ID: id, Step: &workflow.Human{Question: workflow.Template{Text: text}}}
	}
	r := beginPlan(t, inOrder(did("draft", "write"), gate("ok", "Good?"), gate("sure", "Sure?")), workflow.Limits{})
	r.ended("draft", 1, "x")
	r.step(&engine.Answered{ID: "ok", Value: "approve", By: "ann", Comment: "nice"})
	asked := r.run.Questions()[0].Asked
	r.want("an open question stays", r.plan(inOrder(did("draft", "write"), gate("ok", "Good?"), gate("sure", "Sure?"), did("more", "more"))), "")
	if q := r.run.Questions(); len(q) != 1 || !q[0].Asked.Equal(asked) {
		t.Errorf("%+v", q)
	}
	r.want("another text is asked", r.plan(inOrder(did("draft", "write"), gate("ok", "Good?"), gate("sure", "Really?"))), "withdraw sure, ask sure")
	late := engine.Envelope{Time: asked, Event: &engine.Answered{ID: "sure", Value: "approve"}}
	if err := r.run.Admit(late); err == nil || !strings.Contains(err.Error(), "new since the plan was changed") {
		t.Errorf("an answer to the old question: %v", err)
	}
	r.want("another draft is not approved", r.plan(inOrder(did("draft", "rewrite"), gate("ok", "Good?"), gate("sure", "Really?"))), "withdraw sure, start draft@2")
	r.want("so it is asked", r.ended("draft", 2, "y"), "ask ok")
	r.want("and again", r.step(&engine.Answered{ID: "ok", Value: "approve", By: "ann"}), "ask sure")
	r.want("until it ends", r.step(&engine.Answered{ID: "sure", Value: "approve", By: "ann"}), "finish success")
}

func TestOnErrorReplan(t *testing.T) {
	a := did("a", "1")
	a.OnError = workflow.Replan
	r := beginPlan(t, inOrder(a), workflow.Limits{Replans: 1})
	r.want("it asks", r.failed("a", 1), "ask a")
	q := r.run.Questions()[0]
	if q.Kind != engine.ReplanQuestion || !q.Required || q.Detail != "boom" || r.run.Status() != engine.Waiting {
		t.Errorf("%+v", q)
	}
	other := did("a", "other")
	other.OnError = workflow.Replan
	r.want("a new plan settles it", r.plan(inOrder(other)), "withdraw a, start a@2")
	r.want("none is left", r.failed("a", 2), "finish error")

	r = beginPlan(t, inOrder(a), workflow.Limits{})
	r.failed("a", 1)
	r.want("the same plan tries again", r.plan(inOrder(a)), "withdraw a, start a@2")
	r.want("it asks again", r.failed("a", 2), "ask a")

	r = beginPlan(t, inOrder(a), workflow.Limits{})
	r.failed("a", 1)
	r.want("a person stops it", r.step(&engine.Answered{ID: "a", Value: engine.Stop, By: "ann"}), "finish error")
	if res := r.run.Result(); res.Steps[0].Status != engine.Failed || res.Error != "a: boom" {
		t.Errorf("%+v", res)
	}
	r = beginPlan(t, inOrder(a), workflow.Limits{})
	r.failed("a", 1)
	r.want("a cancel ends it", r.step(&engine.CancelAsked{By: "ann"}), "withdraw a, finish cancelled")
}

// BenchmarkReplan gives a run with 1,000 finished steps a new plan.
func BenchmarkReplan(b *testing.B) {
	const steps = 1000
	var nodes []workflow.Node
	for i := range steps {
		nodes = append(nodes, did(fmt.Sprintf("s%d", i), "do ${inputs.x}"))
	}
	old := inOrder(nodes...)
	plan := inOrder(append(slices.Clone(nodes), did("new", "new"))...)
	first, err := engine.New(old)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		run := first.Fresh()
		now := time.Unix(1e9, 0).UTC()
		step := func(ev engine.Event) []engine.Command {
			now = now.Add(time.Millisecond)
			cmds, err := run.Step(engine.Envelope{Time: now, Event: ev})
			if err != nil {
				b.Fatal(err)
			}
			return cmds
		}
		step(&engine.Started{Run: "r", Version: engine.Version, Inputs: map[string]any{"x": "y"}})
		for i := range steps {
			step(&engine.TaskEnded{Address: fmt.Sprintf("s%d", i), Attempt: 1, Output: "done"})
		}
		b.StartTimer()
		if cmds := step(&engine.Replanned{Bundle: plan}); len(cmds) != 1 {
			b.Fatalf("%d commands", len(cmds))
		}
	}
}

// Only plans that answer a failure count towards the limit.
func TestReplanByHandDoesNotCount(t *testing.T) {
	a := did("a", "1")
	a.OnError = workflow.Replan
	r := beginPlan(t, inOrder(a, did("b", "2")), workflow.Limits{Replans: 1})
	r.plan(inOrder(a, did("c", "3")))
	r.want("it asks", r.failed("a", 1), "ask a")
	r.plan(inOrder(a))
	r.want("none is left", r.failed("a", 2), "finish error")
}

// A new plan still asks about the task that a person is asked about, with the amounts that hold now, and about
// no other task that the same budget holds back.
func TestReplanAsksOnceAboutABudget(t *testing.T) {
	parallel := func(nodes ...workflow.Node) *workflow.Bundle {
		return &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: nodes}}}
	}
	dear := engine.TaskFacts{May: workflow.Budget{CostUSD: workflow.AtMost(2.0)}}
	tasks := map[string]engine.TaskFacts{"w/a": dear, "w/b": dear}
	run, err := engine.New(parallel(did("a", "1")))
	if err != nil {
		t.Fatal(err)
	}
	r := &replanned{t, run, time.Unix(1e9, 0).UTC()}
	r.want("it costs too much", r.step(&engine.Started{Run: "r", Version: engine.Version, Limits: workflow.Limits{CostUSD: 1}, Tasks: tasks}), "ask a")
	plan := &engine.Replanned{Bundle: parallel(did("b", "1"), did("a", "1")), Tasks: tasks, Planning: map[string]engine.Usage{"p": {CostUSD: 0.25}}}
	r.want("planning has cost something", r.step(plan), "withdraw a, ask a")
	if open := r.run.Questions(); len(open) != 1 || !strings.Contains(open[0].Text, "has used $0.25") {
		t.Errorf("%+v", open)
	}
}

// That a step has failed because its loop reached the limit is told at once, also if it waits for a new plan.
func TestReplanTellsTheLoopLimit(t *testing.T) {
	a := did("a", "1")
	a.OnError = workflow.Replan
	loop := workflow.Graph{Nodes: []workflow.Node{a}, Edges: []workflow.Edge{
		{From: "a", To: workflow.Again, On: workflow.OnLabel, Label: "more"}, {From: "a", To: "b", On: workflow.OnLabel, Label: "left"}, {From: "a", To: "c", On: workflow.OnLabel, Label: "right"},
	}}
	b := &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "l", Step: &workflow.Loop{Body: loop, Max: 1}}, did("b", ""), did("c", "")}}}}
	r := beginPlan(t, b, workflow.Limits{})
	told := func() (list []string) {
		for _, f := range r.run.Facts() {
			if f.Kind == engine.StepEnded {
				list = append(list, f.Address+" "+string(f.Status))
			}
		}
		return list
	}
	r.want("the limit is reached", r.ended("a", 1, "more"), "ask a")
	if got := told(); !slices.Equal(got, []string{"a success", "a error"}) {
		t.Errorf("%q", got)
	}
	r.want("it ends", r.step(&engine.Answered{ID: "a", Value: engine.Stop}), "finish error")
	if got := told(); len(got) > 0 {
		t.Errorf("told again: %q", got)
	}

	loop.Nodes[0] = once("a", "1")
	r = beginPlan(t, b, workflow.Limits{})
	r.want("the limit is reached", r.ended("a", 1, "more"), "finish error")
	for range 3 {
		r.want("it is done, and so is its loop", r.plan(b), "finish error")
	}
}
