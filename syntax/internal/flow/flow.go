// Package flow is between diagrams and the model. A diagram has nodes,
// arrows that may lead back, and frames around nodes; the model has acyclic
// graphs, nested by loops and repeated blocks. Lift makes the model of a
// drawing, Draw makes the drawing of a model, Simplify leaves out the frames
// that the arrows say already.
//
// It depends on the model only, and on the type of a code.
package flow

import "github.com/hocket-dev/hocket/workflow"

// Drawing is a diagram, whatever language it is drawn in.
//
// Where the frame of a loop or a for_each begins is its entry: what no edge from
// inside of it leads to; else what an edge from outside leads to; else what is
// declared first.
type Drawing struct {
	// Nodes are in the order of declaration, Frames too. Ids are unique over
	// both.
	Nodes  []Node
	Frames []Frame
	// Edges may lead back. From and To are ids of nodes or frames, To may also
	// be [workflow.End], but not [workflow.Again].
	//
	//   - An edge to a frame leads to what comes first in it: what no edge from
	//     inside of it leads to, else what is declared first. Into a loop or a
	//     for_each it may also lead to the only entry, and to nothing else in it.
	//   - An edge from a frame leaves what comes last in it: what no edge inside
	//     of it leaves, else what is declared last. A loop's way to the next round
	//     does not count. The frame of a for_each has edges of its own.
	//   - An edge from inside of a loop's frame to that frame or to its only entry
	//     begins the next round.
	Edges []workflow.Edge
	// Entry are the ids where the flow begins, EntryPos where each of them is
	// named (it may be shorter). None: the nodes that no edge leads to, else the
	// first node.
	Entry    []string
	EntryPos []workflow.Pos
	// Begin says how an author writes that the flow begins at a node.
	Begin func(id string) string
	// Max bounds the loops that are drawn by edges that lead back; zero: the
	// default.
	Max int
}

// Node is a node in a frame. Its step is no loop; it may be a for_each over a
// single node, body included.
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
