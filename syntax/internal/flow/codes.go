package flow

import "github.com/hocket-dev/hocket/internal/strictyaml"

// The codes of this package. Those that package check or another notation has
// too mean the same there.
const (
	codeDeadEnd      = "loop-dead-end"
	codeNested       = "nested-too-deep"
	codeUnreachable  = "unreachable-node"
	CodeUnclearStart = "start-unclear"
	codeTwoEntries   = "loop-two-entries"
	codeLeavesEach   = "edge-leaves-each"
	codeEdgeTarget   = "edge-target-unknown"
	codeEdgeTwice    = "edge-twice"
	codeTooManyEdges = "too-many-edges"
	codeEmptyLoop    = "loop-test"
	codeEmptyEach    = "step-kind"
)

// Codes lists every code that a diagnostic of Lift can have, with its meaning.
var Codes = []strictyaml.Code{
	{Name: codeDeadEnd, Meaning: "A step next to a drawn loop looks as if it ran in every round, but runs once after it."},
	{Name: codeNested, Meaning: "Frames or loops are nested too deeply."},
	{Name: codeUnreachable, Meaning: "Nothing leads to a step from where the flow begins, so it is left out."},
	{Name: CodeUnclearStart, Meaning: "Steps lead to each other in a circle, and nothing leads to them from where the flow begins."},
	{Name: codeTwoEntries, Meaning: "An edge leads into the middle of a loop or a for_each."},
	{Name: codeLeavesEach, Meaning: "An edge leaves the steps that for_each repeats."},
	{Name: codeEdgeTarget, Meaning: "An edge, or the entry, names a step that does not exist."},
	{Name: codeEdgeTwice, Meaning: "The same edge is drawn twice."},
	{Name: codeTooManyEdges, Meaning: "Edges between frames expand to more edges than a workflow can have."},
	{Name: codeEmptyLoop, Meaning: "A loop has no steps."},
	{Name: codeEmptyEach, Meaning: "A for_each has no steps."},
}

const (
	// maxEdges bounds what a short drawing can ask for: two frames of n nodes
	// are joined by n² edges.
	maxEdges = 1_000_000
	// maxNesting bounds how deep frames, and how deep drawn loops, are in one
	// another. Whoever walks a model goes down by calling itself.
	maxNesting = 100
)
