// Package fidelity says how a notation holds what a model says: drawn or in a
// word of its own, or carried along as an annotation. It depends on nothing.
package fidelity

// How says in which way something came over.
type How string

// The ways.
const (
	Exact    How = "exact"    // the notation has a drawing or a word for it
	Carried  How = "carried"  // it is in an annotation beside the drawing
	Rejected How = "rejected" // it cannot be written; the note says why
)

// Item is one construct of a workflow in a notation.
type Item struct {
	Node      string `json:"node,omitempty"` // id of the node that it belongs to; "": the workflow
	Construct string `json:"construct"`      // such as task, retry or edge
	How       How    `json:"how"`
	Note      string `json:"note,omitempty"` // where it is, or why it does not
}
