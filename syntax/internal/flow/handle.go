package flow

import (
	"github.com/hocket-dev/hocket/workflow"
)

// Handle leads every failure without its own edge to a handler: from each working node that cannot
// be reached from the handler. It reports whether there was anything to handle. A for_each fails as
// a whole, so no edge leaves its frame from inside.
func (d *Drawing) Handle(handler string, pos workflow.Pos) bool {
	failing, handled := d.failing(handler)
	edges := make([]workflow.Edge, 0, len(d.Edges)+len(failing))
	edge := func(from string) workflow.Edge {
		return workflow.Edge{From: from, To: handler, On: workflow.OnFailure, Pos: pos}
	}
	early := make(map[string]bool, len(failing)) // those that have no edge yet
	for _, id := range failing {
		early[id] = true
	}
	for i := range d.Edges {
		if e := &d.Edges[i]; e.On == workflow.OnTimeout && early[e.From] { // an edge for a timeout comes last
			delete(early, e.From)
			edges = append(edges, edge(e.From))
		}
		edges = append(edges, d.Edges[i])
	}
	for _, id := range failing {
		if early[id] {
			edges = append(edges, edge(id))
		}
	}
	d.Edges = edges
	return handled || len(failing) > 0
}

// failing returns the ids of the nodes that may fail before the handler and have no error edge.
// handled reports whether some node has its own error edge.
func (d *Drawing) failing(handler string) (failing []string, handled bool) {
	reached := d.reachedFrom(handler)
	has := map[string]bool{}
	for i := range d.Edges {
		if e := &d.Edges[i]; e.On == workflow.OnFailure {
			has[e.From] = true
		}
	}
	inEach := map[string]bool{} // frames that are a for_each or inside one
	add := func(n *workflow.Node, frame string) {
		if _, isChoice := n.Step.(*workflow.Choice); isChoice || reached[n.ID] || inEach[frame] {
			return
		}
		if handled = handled || has[n.ID]; !has[n.ID] {
			failing = append(failing, n.ID)
		}
	}
	for i := range d.Frames { // a frame is declared after the one around it
		f := &d.Frames[i]
		_, isEach := f.Step.(*workflow.Each)
		inEach[f.ID] = isEach || inEach[f.Frame]
		if isEach {
			add(&f.Node, f.Frame)
		}
	}
	for i := range d.Nodes {
		add(&d.Nodes[i].Node, d.Nodes[i].Frame)
	}
	return failing, handled
}

// reachedFrom returns the nodes and frames that can be reached from a part, including itself. An
// edge into a frame reaches everything in it, and everything that it leads to.
func (d *Drawing) reachedFrom(id string) map[string]bool {
	next := make(map[string][]string, len(d.Nodes))
	for i := range d.Edges {
		next[d.Edges[i].From] = append(next[d.Edges[i].From], d.Edges[i].To)
	}
	enclose := func(id, frame string) {
		if frame != "" {
			next[frame], next[id] = append(next[frame], id), append(next[id], frame)
		}
	}
	for i := range d.Nodes {
		enclose(d.Nodes[i].ID, d.Nodes[i].Frame)
	}
	for i := range d.Frames {
		enclose(d.Frames[i].ID, d.Frames[i].Frame)
	}
	reached, todo := map[string]bool{id: true}, []string{id}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range next[at] {
			if !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	return reached
}
