// Package mermaid reads a Mermaid flowchart as Mermaid itself reads it: the same
// texts are accepted, and they give the same nodes, edges, labels and nesting.
//
// It reads the text of one chart, not the Markdown around it, and knows nothing
// of workflows.
//
//  1. An Error is exactly where Mermaid 12 refuses the text. A Warning says
//     that Mermaid reads something else than its author meant, or that another
//     version of Mermaid refuses it.
//  2. After a mistake the chart holds what the author meant, and reading continues:
//     all mistakes are reported at once.
//  3. The fix of a diagnostic gives the text that was read instead.
//  4. Every byte belongs to the front matter, the header, one statement, or a gap
//     between them: blanks, comments and directives.
package mermaid

import (
	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// Chart is a flowchart.
type Chart struct {
	Direction string // TB, BT, LR, RL or BR
	Title     string // of its front matter

	FrontMatter source.Span // with both of its fences; empty without one
	Header      source.Span // "flowchart TD"

	Nodes     []Node // in the order of their first mention
	Edges     []Edge // in order; A & B --> C & D gives all four
	Subgraphs []Subgraph

	// Statements are the ranges of the statements, in order; the line that opens a subgraph and the
	// "end" that closes it are two statements. Between them are blanks, separators, comments and
	// directives.
	Statements []source.Span
}

// Node is a node, or a subgraph mentioned as one end of an edge. In that case, Group is the
// subgraph with the same id.
type Node struct {
	ID       string
	Text     string // as it is written, without its quotes; the ID if nothing is written
	HasText  bool   // a text is written
	Quoted   bool   // "text"
	Markdown bool   // "`text`"
	Shape    Shape
	Classes  []string
	Meta     []Meta // each @{…}, in order
	Subgraph int    // the one that it belongs to, an index into Subgraphs; -1: none
	Group    int    // the subgraph of the same id, an index into Subgraphs; -1: none

	Mention source.Span // the id where it is first mentioned
	Label   source.Span // where Text is written, without its quotes
	Whole   source.Span // id and shape where Text is written; Mention if it is not
}

// Shape is the outline of a node, by its Mermaid name: the value of @{ shape: … }, or one of these
// for the brackets around its text.
type Shape string

// The shapes that brackets give.
const (
	NoShape      Shape = "" // a bare id
	Square       Shape = "square"
	Round        Shape = "round"
	Circle       Shape = "circle"
	DoubleCircle Shape = "doublecircle"
	Ellipse      Shape = "ellipse"
	Stadium      Shape = "stadium"
	Subroutine   Shape = "subroutine"
	Rect         Shape = "rect"
	Cylinder     Shape = "cylinder"
	Diamond      Shape = "diamond"
	Hexagon      Shape = "hexagon"
	Odd          Shape = "odd"
	Trapezoid    Shape = "trapezoid"
	InvTrapezoid Shape = "inv_trapezoid"
	LeanRight    Shape = "lean_right"
	LeanLeft     Shape = "lean_left"
)

// Meta is an @{…}.
type Meta struct {
	YAML source.Span // what is between the braces
	Flow bool        // the inside of a flow map; otherwise a block map, over several lines
}

// Edge is a line between two nodes.
type Edge struct {
	ID       string // the author's, written e1@-->; "" without one
	From, To string
	Text     string
	HasText  bool
	Taken    string // the letter that Mermaid takes from the end of the text for the arrow: --No--> is "N" for it
	Quoted   bool
	Markdown bool
	Head     Head // at To
	Tail     Head // at From
	Stroke   Stroke
	Length   int // 1 and more
	Classes  []string
	Meta     []Meta
	// Ends are From and To as indexes into Nodes; -1 means that there is no such node.
	Ends [2]int32

	Span  source.Span // arrow and label; edges of one cross product share it
	Label source.Span // where Text is written, without its quotes
}

// Head is what one end of an edge looks like.
type Head uint8

// The heads.
const (
	NoHead Head = iota
	ArrowHead
	CircleHead
	CrossHead
)

// Stroke is the style of an edge's line.
type Stroke uint8

// The strokes.
const (
	Normal Stroke = iota
	Thick
	Dotted
	Invisible
)

// Subgraph is a frame around nodes. Subgraphs are in the order in which they are opened; one that
// is opened twice is listed once.
type Subgraph struct {
	ID        string // the author's, or subGraph0, subGraph1, … as Mermaid counts them
	Title     string
	Named     bool // the author gave the ID
	HasTitle  bool // the title is written beside the ID: id [title]
	Outer     int  // the one around it, an index into Subgraphs; -1: none
	Nodes     []string
	Direction string
	Classes   []string
	Meta      []Meta

	Span  source.Span // from "subgraph" to its "end"
	Head  source.Span // the line that opens it
	Label source.Span // where the title is written, without its quotes
}

// DecorKind is the kind of a decoration: a statement that changes only how a chart looks, or what a
// browser does with it.
type DecorKind uint8

// The decorations.
const (
	ClassDef DecorKind = iota
	Class
	Style
	LinkStyle
	Click
	AccTitle
	AccDescr
	Direction
)
