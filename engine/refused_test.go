package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// refused returns events that cannot happen now, with the reason.
func (s *simulation) refused() map[string]engine.Envelope {
	allow := []workflow.Option{{Value: "allow"}}
	all := map[string]engine.Envelope{}
	add := func(why string, ev engine.Event) { all[why] = engine.Envelope{Time: s.now, Clock: s.clock, Event: ev} }
	add("a second start", &engine.Started{Run: "sim", Version: engine.Version})
	add("the end of an unknown step", &engine.TaskEnded{Address: "nowhere", Attempt: 1})
	add("a question of an unknown step", &engine.Asked{Address: "nowhere", Attempt: 1, Options: allow})
	add("an unknown timer", &engine.TimerFired{ID: "nowhere"})
	add("an answer to nothing", &engine.Answered{ID: "nowhere", Value: "yes"})
	add("a cancel instead of an answer to nothing", &engine.CancelAsked{Question: "nowhere"})
	add("the withdrawal of nothing", &engine.Withdrawn{ID: "nowhere"})
	add("no plan", &engine.Replanned{})
	add("a plan that needs another input", &engine.Replanned{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Inputs: []workflow.Param{{Name: "other", Required: true}}}}})
	add("a broken plan", &engine.Replanned{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Body: workflow.Graph{Edges: []workflow.Edge{{From: "a", To: "b"}}}}}})
	for _, step := range s.run.Result().Steps {
		add("an answer to no question of "+step.Address, &engine.Answered{ID: step.Address + "@0", Value: "yes"})
	}
	if s.bundle == s.first && slices.ContainsFunc(s.events, func(e engine.Envelope) bool { _, ok := e.Event.(*engine.CancelAsked); return ok }) {
		add("a second cancel", &engine.CancelAsked{})
	}
	if l := s.limits; l.Steps > 1 {
		add("a lower limit", &engine.LimitRaised{Limits: workflow.Limits{Steps: 1}})
	}
	if s.limits.CostUSD == 0 {
		add("a new limit", &engine.LimitRaised{Limits: workflow.Limits{CostUSD: 1}})
	}
	for _, address := range slices.Sorted(maps.Keys(s.Tasks)) {
		c := s.Tasks[address]
		for _, attempt := range []int{c.Attempt - 1, c.Attempt + 1} {
			add(fmt.Sprintf("the end of attempt %d of %s", attempt, address), &engine.TaskEnded{Address: address, Attempt: attempt})
			add(fmt.Sprintf("a question of attempt %d of %s", attempt, address), &engine.Asked{Address: address, Attempt: attempt, Options: allow})
		}
		two := workflow.Graph{Nodes: []workflow.Node{{ID: "a", Step: &workflow.Task{Agent: "y"}}, {ID: "b", Step: &workflow.Task{Agent: "y"}}}}
		broken := workflow.Graph{Nodes: []workflow.Node{{ID: "a", Step: &workflow.Task{Agent: "y", Prompt: workflow.Template{Text: "${"}}}}}
		for what, given := range map[string]*workflow.Workflow{"nothing": nil, "two tasks": {Body: two}, "a person": {Body: workflow.Graph{Nodes: []workflow.Node{{ID: "a", Step: &workflow.Human{}}}}}, "a broken task": {Body: broken}} {
			add("a handoff of "+what+" by "+address, &engine.HandoffAsked{Address: address, Attempt: c.Attempt, Definition: given})
		}
		add("a handoff of the next attempt of "+address, &engine.HandoffAsked{Address: address, Attempt: c.Attempt + 1, Definition: &workflow.Workflow{Body: workflow.Graph{Nodes: two.Nodes[:1]}}})
		if s.Stopped[address] || c.Handoffs == nil {
			add("a handoff by "+address+", which may not hand work off", &engine.HandoffAsked{Address: address, Attempt: c.Attempt, Definition: &workflow.Workflow{Body: workflow.Graph{Nodes: two.Nodes[:1]}}})
		}
		add("a question of "+address+" without answers", &engine.Asked{Address: address, Attempt: c.Attempt})
		if s.Stopped[address] {
			add("a question of "+address+", which was told to stop", &engine.Asked{Address: address, Attempt: c.Attempt, Options: allow})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Questions)) {
		q := s.Questions[id]
		add("an answer to another text of "+id, &engine.Answered{ID: id, Value: "a", Digest: "other"})
		add("a cancel instead of an answer to another text of "+id, &engine.CancelAsked{Question: id, Digest: "other"})
		if !q.Custom {
			add("an answer that "+id+" does not offer", &engine.Answered{ID: id, Value: "something else"})
		}
		if (q.Kind != engine.PermissionQuestion || q.Orphaned) && !strings.Contains(id, "/handoff-") { // what was handed off has the same id
			add("the withdrawal of "+id+", for which no attempt waits", &engine.Withdrawn{ID: id})
		}
		if !q.Deadline.IsZero() {
			late := engine.Envelope{Time: q.Deadline.Add(time.Second), Clock: s.clock, Event: &engine.Answered{ID: id, Value: "a"}}
			all["an answer to "+id+" after its deadline"] = late
		}
	}
	for _, seq := range []int{len(s.events), len(s.events) + 2} {
		all[fmt.Sprintf("event %d as number %d", len(s.events)+1, seq)] = engine.Envelope{Seq: seq, Time: s.now, Clock: s.clock, Event: &engine.Recovered{}}
	}
	return all
}

// checkRefused offers what cannot happen now. The engine must refuse it and stay as it is.
func (s *simulation) checkRefused() error {
	before := string(s.run.Dump())
	for why, e := range s.refused() {
		if err := s.run.Admit(e); err == nil {
			return fmt.Errorf("%s is admitted", why)
		}
		if a, ok := e.Event.(*engine.Answered); ok && a.Digest != "" {
			continue // see TestAnswerToOtherWords
		}
		if c, ok := e.Event.(*engine.CancelAsked); ok && c.Question != "" {
			continue // what was recorded was right
		}
		if _, err := s.run.Step(e); err == nil {
			return fmt.Errorf("%s is accepted", why)
		}
	}
	if after := string(s.run.Dump()); after != before {
		return fmt.Errorf("a refused event changed the run\n--- before\n%s--- after\n%s", before, after)
	}
	return nil
}

// checkOver offers what can happen only while a run goes on.
func (s *simulation) checkOver() error {
	for _, ev := range []engine.Event{
		&engine.TaskEnded{Address: "a", Attempt: 1}, &engine.CancelAsked{}, &engine.Answered{ID: "a", Value: "yes"}, &engine.Recovered{},
		&engine.LimitRaised{Limits: workflow.Limits{Steps: 1000}},
	} {
		if err := s.run.Admit(engine.Envelope{Time: s.now, Clock: s.clock, Event: ev}); err == nil {
			return fmt.Errorf("%T is accepted after the end", ev)
		}
	}
	return nil
}

// A version that the engine does not know is refused, and so is anything before the start.
func TestRefusedAtTheStart(t *testing.T) {
	bundle := &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "a", Step: &workflow.Task{Agent: "x"}}}}}}
	run, err := engine.New(bundle)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []engine.Event{
		&engine.Started{Version: 0}, &engine.Started{Version: -1}, &engine.Started{Version: engine.Version + 1},
		&engine.CancelAsked{}, &engine.Recovered{}, &engine.TaskEnded{Address: "a", Attempt: 1},
	} {
		if _, err := run.Step(engine.Envelope{Event: ev}); err == nil {
			t.Errorf("%#v is accepted", ev)
		}
	}
	for version := 1; version <= engine.Version; version++ {
		if err := run.Admit(engine.Envelope{Event: &engine.Started{Version: version}}); err != nil {
			t.Errorf("version %d: %v", version, err)
		}
	}
	if _, err := run.Step(engine.Envelope{Event: &engine.Started{Run: "r", Version: engine.Version}}); err != nil {
		t.Fatal(err)
	}
	snapshot := run.Snapshot()
	broken := &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "a", Step: &workflow.Task{Agent: "x"}}}, Edges: []workflow.Edge{{From: "a", To: "b"}}}}}
	if r, err := engine.Restore(broken, snapshot); err == nil {
		t.Errorf("a snapshot is restored to a workflow with an edge to nowhere: %v", r)
	}
}

// An answer that was recorded stays valid, although this version words the question
// differently than the one that recorded it.
func TestAnswerToOtherWords(t *testing.T) {
	bundle := &workflow.Bundle{Root: &workflow.Workflow{Name: "w", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "a", Once: true, Step: &workflow.Task{Agent: "x"}}}}}}
	run, err := engine.New(bundle)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []engine.Event{&engine.Started{Run: "r", Version: engine.Version}, &engine.Recovered{}} {
		if _, err := run.Step(engine.Envelope{Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	recorded := engine.Envelope{Event: &engine.Answered{ID: "a", Value: engine.Done, Digest: "of other words"}}
	if run.Admit(recorded) == nil {
		t.Error("an answer to a question that has changed is admitted")
	}
	if _, err := run.Step(recorded); err != nil {
		t.Error(err)
	}
	if r := run.Result(); r.Status != engine.Success {
		t.Errorf("the run is %s", r.Status)
	}
}

// An answer may have a time that was rounded down to microseconds after its question was read. An
// answer that is older than the question belongs to another question.
func TestAnswerInTheSameMicrosecond(t *testing.T) {
	asked := time.Unix(1, 1500)
	for ago, want := range map[time.Duration]bool{0: true, 500: true, 1000: true, 1001: false, 2000: false} {
		run, err := engine.New(chain(2))
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range []engine.Event{
			&engine.Started{Run: "r", Version: engine.Version},
			&engine.Asked{Address: "n0", Attempt: 1, Text: "may I?", Options: []workflow.Option{{Value: "yes"}}},
		} {
			if _, err := run.Step(engine.Envelope{Time: asked, Event: ev}); err != nil {
				t.Fatal(err)
			}
		}
		err = run.Admit(engine.Envelope{Time: asked.Add(-ago), Event: &engine.Answered{ID: "n0", Value: "yes"}})
		if (err == nil) != want {
			t.Errorf("an answer %s before the question gives %v", ago, err)
		}
	}
}

// However small a limit is, it can be raised. Raising never lowers a limit, and never sets one that did not exist.
func TestRaisedLimits(t *testing.T) {
	for _, c := range []struct {
		limit, to float64
		want      bool
	}{
		{1, 2, true}, {1, 1, true}, {1, 0.5, false}, {0.5, 0.7, true}, {0.5, 0.2, false}, {0, 0.5, false}, {0, 2, false},
	} {
		run, err := engine.New(chain(2))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Step(engine.Envelope{Event: &engine.Started{Run: "r", Version: engine.Version, Limits: workflow.Limits{CostUSD: c.limit}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Step(engine.Envelope{Event: &engine.LimitRaised{Limits: workflow.Limits{CostUSD: c.to}}}); (err == nil) != c.want {
			t.Errorf("%g is raised to %g: %v", c.limit, c.to, err)
		}
		if got := run.Result().Limits.CostUSD; c.want && got != c.to || !c.want && got != c.limit {
			t.Errorf("%g is raised to %g, and is %g", c.limit, c.to, got)
		}
	}
}

// A depth of one allows no calls.
func TestSmallestDepth(t *testing.T) {
	for depth, want := range map[int]engine.Status{1: engine.Failed, 2: engine.Running, 0: engine.Running} {
		b := chain(2)
		b.Root.Body.Nodes[0].Step = &workflow.Call{Workflow: "called"}
		b.Called = map[string]*workflow.Workflow{"called": chain(1).Root}
		run, err := engine.New(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Step(engine.Envelope{Event: &engine.Started{Run: "r", Version: engine.Version, Limits: workflow.Limits{Depth: depth}}}); err != nil || run.Status() != want {
			t.Errorf("a depth of %d: %s, %v", depth, run.Status(), err)
		}
	}
}

// A clock that goes back does not take the run back.
func TestClocksThatGoBack(t *testing.T) {
	run, err := engine.New(chain(2))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(100, 0)
	for _, e := range []engine.Envelope{
		{Time: now, Clock: 10 * time.Second, Event: &engine.Started{Run: "r", Version: engine.Version}},
		{Time: now, Clock: 5 * time.Second, Event: &engine.Asked{Address: "n0", Attempt: 1, Text: "may I?", Options: []workflow.Option{{Value: "yes"}}}},
		{Time: now.Add(-time.Hour), Event: &engine.Withdrawn{ID: "n0@1"}},
	} {
		if _, err := run.Step(e); err != nil {
			t.Fatal(err)
		}
		if got := run.ClockAt(now); got != 10*time.Second || !run.Time().Equal(now) {
			t.Errorf("after %T, the clock is %s at %s", e.Event, got, run.Time())
		}
	}
}

// An input that is not required may be missing.
func TestOptionalInput(t *testing.T) {
	for _, required := range []bool{false, true} {
		b := chain(1)
		b.Root.Inputs = []workflow.Param{{Name: "topic", Required: required}}
		run, err := engine.New(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Step(engine.Envelope{Seq: 1, Time: time.Unix(1, 0), Event: &engine.Started{Run: "r", Version: engine.Version}}); err != nil || run.Status().Done() != required {
			t.Errorf("required %t: %s, %v", required, run.Status(), err)
		}
	}
}
