package yaml

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// graph turns the steps of a block into nodes and edges. The edges of a node come in the order
// plain, route, else, error, timeout.
func (r *resolver) graph(b *block) workflow.Graph {
	g := &builder{resolver: r, inLoop: b.owner != nil && b.owner.isLoop()}
	g.Nodes = make([]workflow.Node, 0, len(b.steps))
	edges := 0
	for _, s := range b.steps {
		edges += len(s.follow)
	}
	g.Edges = make([]workflow.Edge, 0, edges)
	for _, s := range b.steps {
		g.guard(s)
		g.step(s)
	}
	if g.inLoop {
		g.test(b.owner)
	}
	return g.Graph
}

// builder collects one graph.
type builder struct {
	workflow.Graph
	*resolver
	inLoop bool
}

// guard adds the choice for `when`: it leads to the step if the condition holds, otherwise to
// where the step itself would continue.
func (g *builder) guard(s *step) {
	if s.guard == "" {
		return
	}
	g.choice(s.guard, s.node.Pos)
	g.edge(s.guard, target{name: s.node.ID, pos: s.when.Src.Pos}, way{on: workflow.OnWhen, when: s.when})
	for _, t := range g.exits(s) {
		g.edge(s.guard, t, way{on: workflow.OnElse})
	}
}

// test adds the choice at the end of a loop's body.
func (g *builder) test(loop *step) {
	if loop.test == "" {
		return
	}
	again, out := way{on: workflow.OnElse}, way{on: workflow.OnWhen, when: loop.until}
	if loop.while.Text != "" {
		again, out = way{on: workflow.OnWhen, when: loop.while}, way{on: workflow.OnElse}
	}
	back := target{name: workflow.Again, pos: again.when.Src.Pos}
	g.choice(loop.test, loop.node.Pos)
	if again.on == workflow.OnWhen {
		g.edge(loop.test, back, again)
	}
	for _, t := range g.exits(loop) {
		g.edge(loop.test, t, out)
	}
	if again.on == workflow.OnElse {
		g.edge(loop.test, back, again)
	}
}

func (g *builder) choice(id string, pos workflow.Pos) {
	g.Nodes = append(g.Nodes, workflow.Node{ID: id, Step: &workflow.Choice{}, OnError: g.onError, Pos: pos})
}

func (g *builder) step(s *step) {
	n := s.node
	if !s.onErrorGiven && !s.isLoop() {
		n.OnError = g.onError
	}
	switch step := n.Step.(type) {
	case *workflow.Loop:
		loop := *step
		loop.Body = g.graph(s.body)
		n.Step = &loop
	case *workflow.Each:
		if s.body != nil {
			each := *step
			each.Body = g.graph(s.body)
			n.Step = &each
		}
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
	}
	g.Nodes = append(g.Nodes, n)
	if !s.isLoop() {
		g.leave(s)
	}
}

// leave adds the edges of a step. A single plain edge to the end is left out, unless it leaves a
// loop.
func (g *builder) leave(s *step) {
	to := s.follow
	if len(to) == 1 && to[0].name == workflow.End && !g.inLoop {
		to = nil
	}
	for _, t := range to {
		g.edge(s.node.ID, t, way{})
	}
	for _, w := range s.ways {
		for _, t := range g.entries(w.to) {
			g.edge(s.node.ID, t, w)
		}
	}
}

// edge adds an edge from the last node.
func (g *builder) edge(from string, to target, w way) {
	pos := to.pos
	if w.pos.Line != 0 {
		pos = w.pos
	}
	if pos.Line == 0 {
		pos = g.Nodes[len(g.Nodes)-1].Pos
	}
	g.Edges = append(g.Edges, workflow.Edge{From: from, To: to.name, On: w.on, Label: w.label, When: w.when, Pos: pos})
}

// handle adds an error edge to the workflow's handler to every working step that has none and
// that the handler does not lead to.
func (r *resolver) handle(g *workflow.Graph) {
	reached := reachable(g, r.byID[r.handler.name].entry())
	if !r.handleIn(r.body, reached) {
		r.report(workflow.Warningf(r.handler.pos, codeDetached, "move it to the end: a handler handles failures of the steps before it", "%q handles nothing: every other step comes after it", r.handler.name))
	}
}

// handleIn reports whether there was anything to handle.
func (r *resolver) handleIn(b *block, reached map[string]bool) (handled bool) {
	for _, s := range b.steps {
		if s.isLoop() {
			handled = r.handleIn(s.body, reached) || handled
			continue
		}
		if _, isChoice := s.node.Step.(*workflow.Choice); isChoice || reached[s.node.ID] || s.handles() {
			handled = handled || s.handles()
			continue
		}
		handled = true
		at := slices.IndexFunc(s.ways, func(w way) bool { return w.on == workflow.OnTimeout })
		if at < 0 {
			at = len(s.ways)
		}
		s.ways = slices.Insert(slices.Clone(s.ways), at, way{on: workflow.OnFailure, to: []target{*r.handler}})
	}
	return handled
}

func (s *step) handles() bool {
	return slices.ContainsFunc(s.ways, func(w way) bool { return w.on == workflow.OnFailure })
}

// reachable returns the nodes that can be reached from the given one, including itself. An edge
// into a loop reaches everything in it.
func reachable(g *workflow.Graph, from string) map[string]bool {
	next := map[string][]string{}
	g.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		body := n.Body()
		if body == nil {
			return
		}
		for i := range body.Nodes {
			if id := body.Nodes[i].ID; id != n.ID {
				next[n.ID] = append(next[n.ID], id)
			}
		}
	})
	allEdges(g, func(e *workflow.Edge) { next[e.From] = append(next[e.From], e.To) })
	reached, todo := map[string]bool{from: true}, []string{from}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range next[id] {
			if !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	return reached
}

func allEdges(g *workflow.Graph, visit func(*workflow.Edge)) {
	for i := range g.Edges {
		visit(&g.Edges[i])
	}
	for i := range g.Nodes {
		if body := g.Nodes[i].Body(); body != nil {
			allEdges(body, visit)
		}
	}
}
