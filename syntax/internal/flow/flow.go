// Package flow stands between diagrams and the model. A diagram has nodes,
// arrows that may lead back, and frames around nodes; the model has acyclic
// graphs, nested by loops and repeated blocks. Lift makes the model of a
// drawing, Draw makes the drawing of a model.
//
// It depends on the model only.
package flow

import "github.com/hocket-dev/hocket/workflow"

// Drawing is a diagram, whatever language it is drawn in.
type Drawing struct {
	// Nodes are in the order of declaration, Frames too. Ids are unique over
	// both.
	Nodes  []Node
	Frames []Frame
	// Edges may lead back. From and To are ids of nodes or frames, To may also
	// be [workflow.End]. An edge to a frame leads to what comes first in it, an
	// edge from a frame leaves what comes last; but the frame of a for_each has
	// edges of its own, and an edge from inside of a loop's frame to that frame
	// begins the next round.
	Edges []workflow.Edge
	// Entry are the ids where the flow begins. None: the nodes that no edge
	// leads to, else the first node.
	Entry []string
	// Max bounds the loops that are drawn by edges that lead back; zero: the
	// default.
	Max int
}

// Node is a node in a frame.
type Node struct {
	workflow.Node
	Frame string // id of the innermost frame around it; "": none
}

// Frame is a line around nodes: a subgraph or a partition.
type Frame struct {
	// Node is the loop or the for_each that the frame stands for, with an empty
	// body. A frame without a step only groups what is in it: where a loop is
	// drawn inside, what else the frame encloses is part of that loop.
	workflow.Node
	Frame string // id of the frame around it; "": none
}
