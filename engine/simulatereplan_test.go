package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/oracle"
	"github.com/hocket-dev/hocket/workflow"
)

// TestReplanSimulation changes the plans of random runs at random moments. Whatever happens, nothing
// that is done and unchanged runs again, nothing gets stuck, no limit is exceeded, and the events
// alone lead to the same state. If the new plan is the old one, the model of the semantics does not
// notice.
func TestReplanSimulation(t *testing.T) {
	first, runs := *simFirst, *simRuns/2
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
		s.replans, s.done = true, map[string]string{}
		if err := s.simulate(); err != nil {
			t.Fatalf("seed %d: %v\nrepeat with: go test ./engine -run ReplanSimulation -simseed %d -v", seed, err, seed)
		}
	}
}

// replan changes the plan, or replaces it by itself.
func (s *simulation) replan() error {
	if s.Ended != nil && s.IntN(2) == 0 {
		return nil
	}
	plan, same := s.otherPlan()
	if !same || !s.isUndisturbed() || refersAside(plan) { // steps that failed run again
		s.model = nil
	}
	before, edges := s.results(), edgesOf(s.bundle)
	s.Ended, s.bundle = nil, plan
	s.pass(1)
	ev := &engine.Replanned{Plan: "new", Bundle: plan, Tasks: s.facts(plan), By: "sim"}
	if err := s.step(ev); err != nil {
		return err
	}
	if refersAside(plan) {
		return nil
	}
	now := edgesOf(plan)
	for _, c := range s.run.Pending() {
		if start, ok := c.(*engine.StartTask); ok && edges[start.Workflow+start.Node] != now[start.Workflow+start.Node] {
			continue // its result may lead nowhere
		}
		if start, ok := c.(*engine.StartTask); ok && before[start.Address] == engine.Success && !s.Stopped[start.Address] && s.done[start.Address] == s.asked(start) && !s.dead(start) {
			return fmt.Errorf("%s is done and unchanged, but it runs again", start.Address)
		}
	}
	return nil
}

// dead reports whether an attempt was not started by the newest event.
func (s *simulation) dead(c *engine.StartTask) bool { return s.Tasks[c.Address] != c }

// edgesOf returns the edges that leave each node.
func edgesOf(b *workflow.Bundle) map[string]string {
	all := map[string]string{}
	for _, w := range []*workflow.Workflow{b.Root, b.Called["child0"], b.Called["child1"]} {
		if w != nil {
			w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
				for _, e := range g.Edges {
					if e.From == n.ID {
						all[w.Name+n.ID] += fmt.Sprintf("%s %s %s\n", e.On, e.Label, e.When.Text)
					}
				}
			})
		}
	}
	return all
}

// refersAside reports whether a plan has references to steps that need not have ended, which checks
// refuse: what they show changes while a step runs.
func refersAside(b *workflow.Bundle) bool {
	text := workflow.Print(b.Root)
	for _, w := range b.Called {
		text += workflow.Print(w)
	}
	return strings.Contains(text, "nodes.") || strings.Contains(text, "groups.")
}

// isUndisturbed reports whether nothing has failed or was cancelled.
func (s *simulation) isUndisturbed() bool {
	for _, status := range s.results() {
		if status == engine.Failed || status == engine.TimedOut || status == engine.Cancelled {
			return false
		}
	}
	return s.Ended == nil && len(s.Stopped) == 0
}

func (s *simulation) results() map[string]engine.Status {
	list := map[string]engine.Status{}
	for _, step := range s.run.Result().Steps {
		list[step.Address] = step.Status
	}
	return list
}

// note records what a result was asked for with.
func (s *simulation) note(ev engine.Event) {
	if ended, ok := ev.(*engine.TaskEnded); ok && s.replans && s.Tasks[ended.Address] != nil {
		s.done[ended.Address] = s.asked(s.Tasks[ended.Address])
	}
}

func (s *simulation) asked(c *engine.StartTask) string {
	c, err := c.Whole()
	if err != nil {
		return err.Error()
	}
	output := *c.Output
	output.Var = ""
	return fmt.Sprintf("%s %q %s %s %q %v %v", c.Agent, c.Prompt, workflow.FormatJSON(c.Inputs), workflow.FormatJSON(c.Received), c.Decide, output, workflow.FormatJSON(c.Handoffs))
}

func (s *simulation) facts(b *workflow.Bundle) map[string]engine.TaskFacts {
	tasks := map[string]engine.TaskFacts{}
	for _, w := range []*workflow.Workflow{b.Root, b.Called["child0"], b.Called["child1"]} {
		if w != nil {
			w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { tasks[w.Name+"/"+n.ID] = s.bound })
		}
	}
	return tasks
}

// otherPlan returns a changed copy of the plan, or another one.
func (s *simulation) otherPlan() (plan *workflow.Bundle, same bool) {
	if s.IntN(3) == 0 {
		return clone(s.bundle), true
	}
	for {
		plan := clone(s.bundle)
		if s.IntN(10) == 0 {
			plan = (&oracle.Generator{Rand: s.Rand}).Bundle()
		}
		for range 1 + s.IntN(3) {
			s.change(plan)
		}
		if _, err := engine.New(plan); err == nil {
			return plan, false
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
	w := b.Root
	if child := b.Called["child0"]; child != nil && s.IntN(4) == 0 {
		w = child
	}
	var nodes []*workflow.Node
	var graphs []*workflow.Graph
	w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) { nodes, graphs = append(nodes, n), append(graphs, g) })
	if len(nodes) == 0 {
		return
	}
	i := s.IntN(len(nodes))
	n, g := nodes[i], graphs[i]
	switch s.IntN(6) {
	case 0, 1:
		if t := n.Task(); t != nil {
			t.Prompt.Text += " more"
		} else if h, ok := n.Step.(*workflow.Human); ok {
			h.Question.Text += " really"
		}
	case 2:
		n.OnError = [...]workflow.OnError{workflow.Stop, workflow.Continue, workflow.SkipDependents, workflow.Replan}[s.IntN(4)]
	case 3:
		id := fmt.Sprintf("m%d", s.IntN(1000))
		g.Nodes = append(g.Nodes, workflow.Node{ID: id, Step: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: "new ${previous.output}"}}})
		if s.IntN(2) == 0 {
			g.Edges = append(g.Edges, workflow.Edge{From: n.ID, To: id})
		}
	case 4:
		if len(g.Nodes) > 1 {
			gone := n.ID
			g.Nodes = slices.DeleteFunc(g.Nodes, func(n workflow.Node) bool { return n.ID == gone })
			g.Edges = slices.DeleteFunc(g.Edges, func(e workflow.Edge) bool { return e.From == gone || e.To == gone })
		}
	case 5:
		if len(g.Edges) > 0 {
			e := s.IntN(len(g.Edges))
			g.Edges = slices.Delete(g.Edges, e, e+1)
		}
	}
}
