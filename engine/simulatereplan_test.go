package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/oracle"
	"github.com/hocket-dev/hocket/workflow"
)

// TestReplanSimulation changes the plans of random runs at random moments: steps are added, removed,
// changed, renamed and moved, and earlier plans come back. The model says what keeps its result, what
// goes on, what is cancelled and what runs. Whatever happens, nothing gets stuck, no limit is exceeded,
// and the events alone lead to the same state.
func TestReplanSimulation(t *testing.T) {
	first, runs := *simFirst, *simRuns/4
	if testing.Short() {
		runs /= 10
	}
	if *simSeed != 0 {
		first, runs = *simSeed, 1
	}
	for seed := first; seed < first+runs; seed++ {
		s := newSimulation(seed, nil)
		if *simSeed != 0 {
			s.logf = t.Logf
		}
		s.replans = true
		if err := s.simulate(); err != nil {
			t.Fatalf("seed %d: %v\nrepeat with: go test ./engine -run ReplanSimulation -simseed %d -v", seed, err, seed)
		}
	}
}

// replan changes the plan, or replaces it by itself or by an earlier one. If nothing is in progress, that
// may happen while no driver is there, also several times before there is one.
func (s *simulation) replan() error {
	if s.Ended != nil && s.IntN(2) == 0 {
		return nil
	}
	if s.away = len(s.Tasks) == 0 && s.IntN(3) == 0; !s.away {
		return s.changePlan()
	}
	for range 1 + s.IntN(3) {
		if err := s.changePlan(); err != nil {
			return err
		}
	}
	if s.away = false; s.Ended != nil {
		return nil
	}
	return s.crash()
}

func (s *simulation) changePlan() error {
	plan := s.otherPlan()
	if refersAside(s.bundle) || refersAside(plan) {
		s.model = nil
	}
	s.plans = append(s.plans, s.bundle)
	s.Ended, s.bundle = nil, plan
	s.pass(1)
	ev := &engine.Replanned{Plan: "new", Bundle: plan, Tasks: s.facts(plan), Planning: s.planning(), By: "sim"}
	if s.away { // nobody works on what an earlier plan has started, or cancelled, since
		clear(s.Tasks)
		clear(s.Stopped)
		clear(s.sent)
	}
	return s.step(ev)
}

// planning returns what it took to make a plan, and now and then what other plans took. A planner is held
// to what the limits leave.
func (s *simulation) planning() map[string]engine.Usage {
	if s.IntN(3) > 0 {
		return nil
	}
	cost := s.Float64() / 10
	if s.limits.CostUSD > 0 {
		cost = min(cost, max(0, s.limits.CostUSD-s.run.Usage().CostUSD-s.reserved()))
	}
	used := engine.Usage{CostUSD: cost, TokensIn: int64(s.IntN(5)), TokensOut: int64(s.IntN(5))}
	if s.planners = maps.Clone(s.planners); s.planners == nil {
		s.planners = map[string]engine.Usage{}
	}
	if len(s.planners) == 0 || used.TokensIn > 0 { // otherwise the plan was made before
		s.planners[fmt.Sprint("p", len(s.planners))] = used
	}
	return s.planners
}

// told returns what the run reports, for the model. A new plan reports only what has changed, so the
// errors of all steps are added.
func (s *simulation) told(e engine.Envelope) []engine.Fact {
	told := s.run.Facts()
	if _, ok := e.Event.(*engine.Replanned); ok {
		for _, step := range s.run.Result().Steps {
			if step.Error != "" {
				told = append(told, engine.Fact{Kind: engine.StepEnded, Address: step.Address, Text: step.Error})
			}
		}
	}
	return told
}

func workflowsOf(b *workflow.Bundle) []*workflow.Workflow {
	all := []*workflow.Workflow{b.Root, b.Called["child0"], b.Called["child1"]}
	return slices.DeleteFunc(all, func(w *workflow.Workflow) bool { return w == nil })
}

// refersAside reports whether a plan has references to steps that need not have ended, which checks
// refuse: what they show changes while a step runs, and the model does not know when it is read.
func refersAside(b *workflow.Bundle) bool {
	return slices.ContainsFunc(workflowsOf(b), func(w *workflow.Workflow) bool { return isAside(workflow.Print(w)) })
}

func isAside(text string) bool {
	return strings.Contains(text, "nodes.") || strings.Contains(text, "groups.")
}

// withoutAsides replaces the references that refersAside finds.
func withoutAsides(b *workflow.Bundle) {
	for _, w := range workflowsOf(b) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if t := n.Task(); t != nil && isAside(t.Prompt.Text) {
				t.Prompt.Text = "${vars.v1} ${inputs.given}"
			}
			if c, ok := n.Step.(*workflow.Choice); ok && isAside(c.On.Text) {
				c.On.Text = "vars.v2"
			}
		})
	}
}

func (s *simulation) facts(b *workflow.Bundle) map[string]engine.TaskFacts {
	tasks := map[string]engine.TaskFacts{}
	for _, w := range workflowsOf(b) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { tasks[w.Name+"/"+n.ID] = s.bound })
	}
	return tasks
}

// otherPlan returns a changed copy of the plan, a copy of this or an earlier one, or a new one.
func (s *simulation) otherPlan() *workflow.Bundle {
	switch k := s.IntN(6); {
	case k == 0:
		return clone(s.bundle)
	case k == 1 && len(s.plans) > 0:
		return clone(s.plans[s.IntN(len(s.plans))])
	}
	for {
		plan := clone(s.bundle)
		if s.IntN(10) == 0 {
			if plan = (&oracle.Generator{Rand: s.Rand}).Bundle(); !refersAside(s.bundle) {
				withoutAsides(plan)
			}
		}
		for range 1 + s.IntN(3) {
			s.change(plan)
		}
		if _, err := engine.New(plan); err == nil {
			return plan
		}
	}
}

func clone(b *workflow.Bundle) *workflow.Bundle {
	stored, err := workflow.Store(b)
	if err != nil {
		panic(err)
	}
	var again workflow.StoredBundle
	if err := json.Unmarshal([]byte(workflow.FormatJSON(stored)), &again); err != nil {
		panic(err)
	}
	copied, err := again.Bundle()
	if err != nil {
		panic(err)
	}
	return copied
}

// change makes one change to a plan, after which it may be invalid.
func (s *simulation) change(b *workflow.Bundle) {
	var places []place
	all := workflowsOf(b)
	w := all[0]
	if s.IntN(4) == 0 {
		w = all[s.IntN(len(all))]
	}
	w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) { places = append(places, place{w, g, n}) })
	if len(places) == 0 {
		return
	}
	at := places[s.IntN(len(places))]
	to := places[s.IntN(len(places))]
	n, g := at.n, at.g
	fresh := fmt.Sprintf("m%d", s.IntN(1000))
	switch s.IntN(17) {
	case 0, 1, 2: // other work
		if t := n.Task(); t != nil {
			t.Prompt.Text += [...]string{" more", " ${inputs.given}", " ${vars.v0}"}[s.IntN(3)]
		} else if h, ok := n.Step.(*workflow.Human); ok {
			h.Question.Text += " really"
		}
	case 3:
		n.OnError = [...]workflow.OnError{workflow.Stop, workflow.Continue, workflow.SkipDependents, workflow.Replan}[s.IntN(4)]
	case 4: // only other policies
		n.Retry, n.Timeout, n.Join = workflow.Retry{Attempts: s.IntN(3)}, time.Duration(s.IntN(3))*30*time.Second, workflow.Join{Need: s.IntN(2)}
	case 5, 6: // a new step
		step := workflow.Node{ID: fresh, Once: s.IntN(4) == 0, Step: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: "new ${previous.output}"}}}
		if s.IntN(3) == 0 {
			step.Once, step.Step = false, &workflow.Human{Question: workflow.Template{Text: "new?"}}
		}
		g.Nodes = append(g.Nodes, step)
		if s.IntN(2) == 0 {
			g.Edges = append(g.Edges, workflow.Edge{From: at.n.ID, To: fresh})
		} else {
			g.Edges = append(g.Edges, workflow.Edge{From: fresh, To: at.n.ID})
		}
	case 7, 8:
		at.take()
	case 9: // another dependency, or one less
		if len(g.Edges) > 0 && s.IntN(2) == 0 {
			e := s.IntN(len(g.Edges))
			g.Edges = slices.Delete(g.Edges, e, e+1)
		} else {
			g.Edges = append(g.Edges, workflow.Edge{From: n.ID, To: to.n.ID})
		}
	case 10:
		at.rename(fresh)
	case 11, 12: // to another place, which may be in or out of a loop, a for_each or a called workflow
		if s.IntN(2) == 0 && !calls(n) {
			to = place{g: &all[s.IntN(len(all))].Body}
		}
		moved := at.take()
		to.g.Nodes = append(to.g.Nodes, moved)
		if to.n != nil && s.IntN(2) == 0 {
			to.g.Edges = append(to.g.Edges, workflow.Edge{From: to.n.ID, To: moved.ID})
		}
	case 13: // into a loop or a for_each of its own
		if slices.ContainsFunc(g.Edges, func(e workflow.Edge) bool {
			return e.From == n.ID && (e.On == workflow.OnLabel || e.On == workflow.OnTimeout)
		}) {
			return // neither has these
		}
		at.relink(fresh)
		inner := *n
		inner.Group, inner.Join = "", workflow.Join{}
		body := workflow.Graph{Nodes: []workflow.Node{inner}}
		*n = workflow.Node{ID: fresh, OnError: n.OnError, Step: &workflow.Each{Items: workflow.Expr{Text: "inputs.items"}, As: "it", Body: body}}
		if s.IntN(2) == 0 {
			body.Edges = []workflow.Edge{{From: inner.ID, To: workflow.Again, On: workflow.OnWhen, When: workflow.Expr{Text: "iteration < 2"}}, {From: inner.ID, To: workflow.End, On: workflow.OnElse}}
			n.Step = &workflow.Loop{Body: body, Max: 3}
		}
	case 14: // out of it
		var body workflow.Graph
		switch step := n.Step.(type) {
		case *workflow.Loop:
			body = step.Body
		case *workflow.Each:
			body = step.Body
		default:
			return
		}
		at.take()
		g.Nodes = append(g.Nodes, body.Nodes...)
		for _, e := range body.Edges {
			if e.To != workflow.Again {
				g.Edges = append(g.Edges, e)
			}
		}
	case 15:
		if n.Task() != nil {
			n.Once = !n.Once
		}
	case 16: // other items, or in another order
		if each, ok := n.Step.(*workflow.Each); ok {
			each.Items.Text = [...]string{`["j", "i"]`, `["i", "k"]`, `["h", "i", "j"]`}[s.IntN(3)]
		}
	}
}

// calls reports whether there is a call in a node: in another workflow, it may lead to a cycle.
func calls(n *workflow.Node) (found bool) {
	only := workflow.Graph{Nodes: []workflow.Node{*n}}
	only.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		_, call := n.Step.(*workflow.Call)
		found = found || call
	})
	return found
}

// place is a node of a plan.
type place struct {
	w *workflow.Workflow
	g *workflow.Graph
	n *workflow.Node
}

// take removes the node and its edges, and returns it.
func (p place) take() workflow.Node {
	gone := *p.n
	p.edges(func(g *workflow.Graph) {
		g.Edges = slices.DeleteFunc(g.Edges, func(e workflow.Edge) bool { return e.From == gone.ID || e.To == gone.ID })
	})
	p.g.Nodes = slices.DeleteFunc(p.g.Nodes, func(n workflow.Node) bool { return n.ID == gone.ID })
	return gone
}

// rename gives the node another id.
func (p place) rename(id string) {
	p.relink(id)
	p.n.ID = id
}

// relink makes the edges of the node those of another.
func (p place) relink(id string) {
	p.edges(func(g *workflow.Graph) {
		for i := range g.Edges {
			if g.Edges[i].From == p.n.ID {
				g.Edges[i].From = id
			}
			if g.Edges[i].To == p.n.ID {
				g.Edges[i].To = id
			}
		}
	})
}

// edges calls f for every graph of the workflow.
func (p place) edges(f func(*workflow.Graph)) {
	f(&p.w.Body)
	p.w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		switch step := n.Step.(type) {
		case *workflow.Loop:
			f(&step.Body)
		case *workflow.Each:
			f(&step.Body)
		}
	})
}
