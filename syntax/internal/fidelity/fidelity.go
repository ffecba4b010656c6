// Package fidelity describes how a notation represents the parts of a model: drawn or in its own
// keyword, or carried along as an annotation. It has no dependencies.
package fidelity

// How says how a part of the model is represented.
type How string

// The ways.
const (
	Exact    How = "exact"    // the notation has a drawing or a keyword for it
	Carried  How = "carried"  // it is in an annotation next to the drawing
	Rejected How = "rejected" // it cannot be written; the note says why
)

// Item is one construct of a workflow in a notation.
type Item struct {
	Node      string `json:"node,omitempty"` // id of the node that it belongs to; "": the workflow
	Construct string `json:"construct"`      // such as task, retry or edge
	How       How    `json:"how"`
	Note      string `json:"note,omitempty"` // where it is, or why it cannot be written
}
