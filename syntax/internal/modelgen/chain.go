package modelgen

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// chain builds a graph like those that people write: one node after the other, some with a
// condition before them, and a loop with its test at the end of its body.
func (g *generator) chain(depth int, in place) workflow.Graph {
	c := &chain{generator: g}
	n := g.number(1, 4)
	ids, guards := make([]string, n), make([]string, n)
	for i := range n {
		if g.rarely() {
			guards[i] = g.choiceID()
		}
		ids[i] = g.id()
	}
	behind := in.behind
	if in.test = ""; in.inLoop && g.coin() {
		in.test = g.choiceID()
		behind = []string{in.test}
	}
	for i := range n {
		next := behind
		if i+1 < n {
			next = []string{orElse(guards[i+1], ids[i+1])}
		}
		c.add(ids[i], guards[i], depth, next, in)
	}
	c.end(in)
	return c.Graph
}

type chain struct {
	*generator
	workflow.Graph
}

func (c *chain) add(id, guard string, depth int, next []string, in place) {
	if guard != "" {
		c.choice(guard)
		c.edge(guard, id, workflow.Edge{On: workflow.OnWhen, When: workflow.Expr{Text: c.condition()}})
		for _, to := range orEnd(next) {
			c.edge(guard, to, workflow.Edge{On: workflow.OnElse})
		}
	}
	node := workflow.Node{ID: id}
	c.node(&node, depth, place{inLoop: in.inLoop, later: in.later, behind: orEnd(next)})
	if guard != "" {
		node.Join = workflow.Join{}
	}
	c.Nodes = append(c.Nodes, node)
	if _, isLoop := node.Step.(*workflow.Loop); isLoop {
		return
	}
	for _, to := range next {
		if to != workflow.End || in.inLoop {
			c.edge(id, to, workflow.Edge{})
		}
	}
}

// end adds the test of a loop.
func (c *chain) end(in place) {
	if in.test == "" {
		return
	}
	c.choice(in.test)
	when := workflow.Expr{Text: c.condition()}
	if c.coin() {
		for _, to := range orEnd(in.behind) {
			c.edge(in.test, to, workflow.Edge{On: workflow.OnWhen, When: when})
		}
		c.edge(in.test, workflow.Again, workflow.Edge{On: workflow.OnElse})
		return
	}
	c.edge(in.test, workflow.Again, workflow.Edge{On: workflow.OnWhen, When: when})
	for _, to := range orEnd(in.behind) {
		c.edge(in.test, to, workflow.Edge{On: workflow.OnElse})
	}
}

func (c *chain) choice(id string) {
	c.Nodes = append(c.Nodes, workflow.Node{ID: id, Step: &workflow.Choice{}})
}

func (c *chain) edge(from, to string, e workflow.Edge) {
	e.From, e.To = from, to
	if !slices.Contains(c.Edges, e) {
		c.Edges = append(c.Edges, e)
	}
}

// choiceID usually returns the id that a choice without an id gets.
func (g *generator) choiceID() string {
	for _, id := range []string{"choice", "choice-2", "choice-3", "choice-4"} {
		if !g.taken[id] && !g.rarely() {
			g.taken[id] = true
			return id
		}
	}
	return g.id()
}

func orEnd(ids []string) []string {
	if len(ids) == 0 {
		return []string{workflow.End}
	}
	return ids
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
