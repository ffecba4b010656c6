package engine

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// edges compiles the edges of a graph and of the bodies in it. It runs after all nodes are known,
// because an exit leads out of its graph.
func (c *compiler) edges(g *graph, def *workflow.Graph) {
	for _, n := range g.nodes {
		n.options = def.Offered(n.def)
		if behind := def.AskedBehind(n.def); behind != nil {
			human := n.does.(*workflow.Human)
			n.answers = !human.Custom
			c.prompt(n, strings.TrimSpace(human.Question.Text+"\n\n"+behind.Task().Prompt.Text))
		}
	}
	local := make(map[string]*node, len(g.nodes))
	for _, n := range g.nodes {
		local[n.def.ID] = n
	}
	edges := make([]edge, len(def.Edges))
	for i := range edges {
		c.edge(g, local, &edges[i], &def.Edges[i])
	}
	for _, n := range g.nodes {
		if n.body != nil {
			c.edges(n.body, n.def.Body())
		}
	}
}

func (c *compiler) edge(g *graph, local map[string]*node, e *edge, def *workflow.Edge) {
	from := local[def.From]
	if from == nil {
		c.fail("an edge leaves %q, which is not a node of its graph", def.From)
		return
	}
	*e = edge{def: def, on: def.On, from: from, again: def.To == workflow.Again}
	e.told = string(def.On) + " → " + def.To
	if !e.again && def.To != workflow.End {
		if e.to = c.nodes[def.To]; e.to == nil {
			c.fail("the edge from %q leads to %q, which does not exist", def.From, def.To)
			return
		}
	}
	if def.On == workflow.OnWhen {
		e.when = c.expr(def.When.Text)
	}
	from.out = append(from.out, e)
	c.leave(g, e)
	if e.to != nil {
		e.slot = len(e.to.in)
		e.to.in = append(e.to.in, e)
	}
}

// leave records the edge at every loop between its source and its target. An edge to @end leaves
// only the innermost loop: it counts as an exit of it, and there is nothing to settle further
// out.
func (c *compiler) leave(g *graph, e *edge) {
	for ; g.owner != nil; g = g.owner.g {
		switch {
		case e.again && g.owner.isLoop(), e.to != nil && e.to.g == g:
			return
		case !g.owner.isLoop() && e.ends():
			return
		case !g.owner.isLoop():
			c.fail("the edge from %q to %q leaves the for_each %q", e.def.From, e.def.To, g.owner.def.ID)
			return
		}
		e.leaves = append(e.leaves, len(g.exits))
		g.exits = append(g.exits, e)
		if e.ends() {
			return
		}
	}
	if e.again {
		c.fail("the edge from %q leads back to the start of a loop, but is not in a loop", e.def.From)
	} else if e.to != nil && e.to.g != g {
		c.fail("the edge from %q leads into the loop or for_each around %q", e.def.From, e.def.To)
	}
}

// finish derives the fields that depend on the edges.
func (c *compiler) finish(g *graph) {
	for _, n := range g.nodes {
		if len(n.in) == 0 {
			g.entries = append(g.entries, n)
		}
		n.first = g.parcels
		g.parcels += len(n.in)
		c.summarize(n)
		if n.body != nil {
			c.finish(n.body)
		}
	}
	c.acyclic(g)
	for _, n := range g.nodes {
		if n.def.Join.Need > 0 && !n.def.Join.Keep {
			n.rest = restOf(n)
		}
	}
}

func (c *compiler) summarize(n *node) {
	seen, other := map[string]bool{}, false
	for _, e := range n.out {
		switch e.on {
		case workflow.OnSuccess, workflow.OnElse:
			other = other || e.on == workflow.OnElse
		case workflow.OnLabel:
			n.conditional = true
			if !seen[e.def.Label] {
				seen[e.def.Label] = true
				n.place.Decide = append(n.place.Decide, e.def.Label)
			}
		case workflow.OnWhen:
			n.conditional = true
		case workflow.OnFailure:
			n.onFailure = true
		case workflow.OnTimeout:
			n.onTimeout = true
		}
	}
	if n.place.Asks && other {
		n.place.Decide = append(n.place.Decide, string(workflow.OnElse))
	}
}

// acyclic reports an error if the graph has a cycle. An exit counts as an edge of the composite
// that it leaves.
func (c *compiler) acyclic(g *graph) {
	left := make([]int, len(g.nodes))
	var ready []*node
	for i, n := range g.nodes {
		if left[i] = len(n.in); left[i] == 0 {
			ready = append(ready, n)
		}
	}
	done := 0
	for ; done < len(ready); done++ {
		for _, e := range g.leaving(ready[done]) {
			if left[e.to.local]--; left[e.to.local] == 0 {
				ready = append(ready, e.to)
			}
		}
	}
	if done < len(g.nodes) {
		c.fail("the nodes wait for each other in a cycle")
	}
}

// leaving returns the edges from n, or from inside n, to nodes of its own graph.
func (g *graph) leaving(n *node) []*edge {
	edges := n.out
	if n.isLoop() {
		edges = n.body.exits
	}
	var out []*edge
	for _, e := range edges {
		if e.to != nil && e.to.g == g {
			out = append(out, e)
		}
	}
	return out
}

// restOf returns the nodes in the graph of the join whose paths all lead to it. Error and timeout
// edges do not count as paths: cancelled nodes do not fail.
func restOf(join *node) []*node {
	g := join.g
	leads := map[*node]bool{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		if n == join {
			return true
		}
		if yes, known := leads[n]; known {
			return yes
		}
		leads[n] = false
		edges := n.out
		if n.isLoop() {
			edges = n.body.waysOut()
		}
		found := false
		for _, e := range edges {
			if e.def.On == workflow.OnFailure || e.def.On == workflow.OnTimeout {
				continue
			}
			if e.to == nil || e.to.g != g || !visit(e.to) {
				return false
			}
			found = true
		}
		leads[n] = found
		return found
	}
	var rest []*node
	for _, n := range g.nodes {
		if n != join && visit(n) {
			rest = append(rest, n)
		}
	}
	return rest
}

// waysOut returns the exits of a loop's body, and the edges to the end in loops inside it.
func (g *graph) waysOut() []*edge {
	out := slices.Clone(g.exits)
	for _, n := range g.nodes {
		if !n.isLoop() {
			continue
		}
		for _, e := range n.body.waysOut() {
			if e.ends() {
				out = append(out, e)
			}
		}
	}
	return out
}
