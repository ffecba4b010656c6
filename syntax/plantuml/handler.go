package plantuml

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// handle leads every failure that nothing else handles to one step: from every
// working node that has no error edge and that the handler does not lead to.
func handle(g *workflow.Graph, handler string, pos workflow.Pos, report func(workflow.Diagnostic)) {
	if !contains(g, handler) {
		var names []string
		g.Walk(func(_ *workflow.Graph, n *workflow.Node) { names = append(names, n.ID) })
		report(workflow.Errorf(pos, codeTarget, orElse(workflow.DidYouMean(handler, names), "write the id of a step of this file"), "there is no step %q to go to", handler))
		return
	}
	if !handleIn(g, handler, pos, behind(g, handler)) {
		report(workflow.Warningf(pos, codeDetached, "move it to the end: a handler handles what runs before it", "%q handles nothing: every other step comes behind it", handler))
	}
}

func contains(g *workflow.Graph, id string) bool {
	found := false
	g.Walk(func(_ *workflow.Graph, n *workflow.Node) { found = found || n.ID == id })
	return found
}

// handleIn says whether there was anything to handle.
func handleIn(g *workflow.Graph, handler string, pos workflow.Pos, reached map[string]bool) (handled bool) {
	out := map[string][]workflow.Edge{}
	for _, e := range g.Edges {
		out[e.From] = append(out[e.From], e)
	}
	edges := make([]workflow.Edge, 0, len(g.Edges)+len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		own := out[n.ID]
		isFailure := func(e workflow.Edge) bool { return e.On == workflow.OnFailure }
		switch n.Step.(type) {
		case *workflow.Loop:
			handled = handleIn(n.Body(), handler, pos, reached) || handled
		case *workflow.Choice:
		case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Combine, *workflow.Each:
			if slices.ContainsFunc(own, isFailure) {
				handled = true
			} else if !reached[n.ID] {
				handled = true
				at := slices.IndexFunc(own, func(e workflow.Edge) bool { return e.On == workflow.OnTimeout })
				if at < 0 {
					at = len(own)
				}
				own = slices.Insert(slices.Clip(own), at, workflow.Edge{From: n.ID, To: handler, On: workflow.OnFailure, Pos: pos})
			}
		}
		edges = append(edges, own...)
	}
	g.Edges = edges
	return handled
}

// behind are the nodes that a node leads to, itself included. Whoever comes into
// a loop reaches all of it.
func behind(g *workflow.Graph, from string) map[string]bool {
	next := map[string][]string{}
	g.Walk(func(in *workflow.Graph, n *workflow.Node) {
		if body := n.Body(); body != nil {
			for i := range body.Nodes {
				next[n.ID] = append(next[n.ID], body.Nodes[i].ID)
			}
			for _, e := range body.Edges {
				next[e.From] = append(next[e.From], e.To)
			}
		}
	})
	for _, e := range g.Edges {
		next[e.From] = append(next[e.From], e.To)
	}
	reached, todo := map[string]bool{}, []string{from}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !reached[id] {
			reached[id] = true
			todo = append(todo, next[id]...)
		}
	}
	return reached
}
