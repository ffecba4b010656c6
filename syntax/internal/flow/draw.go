package flow

import (
	"github.com/hocket-dev/hocket/workflow"
)

// Draw returns the drawing of a graph, with a frame around every loop and every for_each with
// several steps. An edge into a loop, or to its next iteration, leads to its frame. Lift turns the
// drawing into the same graph again.
func Draw(g *workflow.Graph) *Drawing {
	d := &Drawing{}
	d.draw(g, "", "")
	return d
}

// draw adds a graph in a frame. loop is that frame if it belongs to a loop.
func (d *Drawing) draw(g *workflow.Graph, frame, loop string) {
	out := make(map[string][]*workflow.Edge, len(g.Nodes))
	for i := range g.Edges {
		e := &g.Edges[i]
		out[e.From] = append(out[e.From], e)
	}
	for i := range g.Nodes {
		n := g.Nodes[i]
		for _, e := range out[n.ID] {
			drawn := *e
			if e.To == workflow.Again && loop != "" {
				drawn.To = loop
			}
			d.Edges = append(d.Edges, drawn)
		}
		switch s := n.Step.(type) {
		case *workflow.Loop:
			n.Step = &workflow.Loop{Max: s.Max}
			d.Frames = append(d.Frames, Frame{Node: n, Frame: frame})
			d.draw(&s.Body, n.ID, n.ID)
			continue
		case *workflow.Each:
			if len(s.Body.Nodes) == 1 && s.Body.Nodes[0].ID == n.ID {
				break // a node and the for_each that repeats it look like one
			}
			n.Step = &workflow.Each{Items: s.Items, As: s.As, Parallel: s.Parallel}
			d.Frames = append(d.Frames, Frame{Node: n, Frame: frame})
			d.draw(&s.Body, n.ID, "")
			continue
		case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
		}
		d.Nodes = append(d.Nodes, Node{Node: n, Frame: frame})
	}
}
