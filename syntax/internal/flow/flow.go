// Package flow converts between diagrams and the model. A diagram has nodes, arrows that may lead
// back, and frames around nodes; the model has acyclic graphs, nested in loops and for_eachs. Lift
// turns a drawing into a model, Draw turns a model into a drawing, and Simplify removes the frames
// that the arrows make redundant.
//
// It depends only on the model and on the type of a code.
package flow

import "github.com/hocket-dev/hocket/workflow"

// Drawing is a diagram in any language.
//
// The entry of a loop's or a for_each's frame is the item that no edge from inside leads to;
// otherwise the one that an edge from outside leads to; otherwise the one that is declared first.
type Drawing struct {
	// Nodes and Frames are in the order of their declaration. Ids are unique across both.
	Nodes  []Node
	Frames []Frame
	// Edges may lead back. From and To are ids of nodes or frames. To may also
	// be [workflow.End], but not [workflow.Again].
	//
	//   - An edge to a frame leads to the first items in it: those that no edge from
	//     inside leads to, otherwise the one that is declared first. In a loop or a
	//     for_each, it may also lead to the only entry, but to nothing else.
	//   - An edge from a frame leaves the last items in it: those that no edge inside
	//     leaves, otherwise the one that is declared last. Edges to the next iteration
	//     of a loop do not count. The frame of a for_each has its own edges.
	//   - An edge from inside a loop's frame to that frame or to its only entry
	//     begins the next iteration.
	Edges []workflow.Edge
	// Entry holds the ids where the flow begins, and EntryPos where each of them is named (it may
	// be shorter). If Entry is empty, the flow begins at the nodes that no edge leads to, otherwise
	// at the first node.
	Entry    []string
	EntryPos []workflow.Pos
	// Begin says how an author writes that the flow begins at a node.
	Begin func(id string) string
	// Max limits the loops that are drawn as edges that lead back; zero means the default.
	Max int
}

// Node is a node in a frame. Its step is not a loop; it may be a for_each over a single node,
// including the body.
type Node struct {
	workflow.Node
	Frame string // id of the innermost frame around it; "": none
}

// Frame is a line around nodes: a subgraph or a partition.
type Frame struct {
	// Node is the loop or the for_each that the frame stands for, with an empty body. A frame
	// without a step only groups its items; but if a loop is drawn inside it, everything else in
	// the frame is part of that loop.
	workflow.Node
	Frame string // id of the frame around it; "": none
}
