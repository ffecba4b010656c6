package oracle

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// node kinds.
func isLoop(n *workflow.Node) bool   { _, ok := n.Step.(*workflow.Loop); return ok }
func isChoice(n *workflow.Node) bool { _, ok := n.Step.(*workflow.Choice); return ok }
func asks(n *workflow.Node) bool {
	c, ok := n.Step.(*workflow.Choice)
	return ok && c.Ask != nil
}

// member is a member of a group.
type member struct {
	*workflow.Node
	step int // the index of its step
}

// members returns the members of a group, in declaration order.
func members(w *workflow.Workflow, group string) (list []member) {
	steps := 0
	for i := range w.Body.Nodes {
		top := &w.Body.Nodes[i]
		body := &workflow.Graph{Nodes: w.Body.Nodes[i : i+1]}
		body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if n.Group == group {
				list = append(list, member{n, steps})
			}
		})
		if !isChoice(top) || asks(top) {
			steps++
		}
	}
	return list
}

func (n member) agent() string {
	if call, ok := n.Step.(*workflow.Call); ok {
		return call.Workflow
	}
	if task := n.Task(); task != nil {
		return task.Agent
	}
	return ""
}

// onlyOnTrouble reports whether a skipped node never poisons the edge.
func onlyOnTrouble(e *workflow.Edge) bool {
	return e.On == workflow.OnFailure || e.On == workflow.OnTimeout
}

// allEdges returns the edges of a graph and of the loops in it, in order.
func allEdges(g *workflow.Graph) (list []*workflow.Edge) {
	for i := range g.Edges {
		list = append(list, &g.Edges[i])
	}
	for i := range g.Nodes {
		if loop, ok := g.Nodes[i].Step.(*workflow.Loop); ok {
			list = append(list, allEdges(&loop.Body)...)
		}
	}
	return list
}

// to, from and out are keys in the model's cache of facts about a graph.
type (
	to struct {
		g  *workflow.Graph
		id string
	}
	from struct {
		g  *workflow.Graph
		id string
	}
	out struct{ g *workflow.Graph }
)

func edgesTo(g *workflow.Graph, id string) []*workflow.Edge {
	return remember(to{g, id}, func() []*workflow.Edge {
		return slices.DeleteFunc(allEdges(g), func(e *workflow.Edge) bool { return e.To != id })
	})
}

func edgesFrom(g *workflow.Graph, id string) []*workflow.Edge {
	return remember(from{g, id}, func() (list []*workflow.Edge) {
		for i := range g.Edges {
			if g.Edges[i].From == id {
				list = append(list, &g.Edges[i])
			}
		}
		return list
	})
}

// exitsOf returns the edges that leave the body of a loop. One to @end leaves the innermost
// loop only.
func exitsOf(body *workflow.Graph) []*workflow.Edge {
	return remember(out{body}, func() []*workflow.Edge { return findExits(body) })
}

func findExits(body *workflow.Graph) (list []*workflow.Edge) {
	inner := map[string]bool{workflow.Again: true}
	for i := range body.Nodes {
		inner[body.Nodes[i].ID] = true
	}
	for i, e := range allEdges(body) {
		if own := i < len(body.Edges); !inner[e.To] && (own || e.To != workflow.End) && !within(body, e.To) {
			list = append(list, e)
		}
	}
	return list
}

// within reports whether a node is in the graph or in a loop in it.
func within(g *workflow.Graph, id string) bool {
	for i := range g.Nodes {
		loop, ok := g.Nodes[i].Step.(*workflow.Loop)
		if g.Nodes[i].ID == id || ok && within(&loop.Body, id) {
			return true
		}
	}
	return false
}

func conditional(out []*workflow.Edge) bool {
	return slices.ContainsFunc(out, func(e *workflow.Edge) bool { return e.On == workflow.OnLabel || e.On == workflow.OnWhen })
}

func has(out []*workflow.Edge, on workflow.On) bool {
	return slices.ContainsFunc(out, func(e *workflow.Edge) bool { return e.On == on })
}
