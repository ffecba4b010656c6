package flow

import "github.com/hocket-dev/hocket/internal/strictyaml"

// The codes of this package. Codes that package check or another notation also uses mean the same
// there.
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
	{Name: codeUnreachable, Meaning: "A step cannot be reached from the start of the flow, so it is left out."},
	{Name: CodeUnclearStart, Meaning: "Steps form a cycle that cannot be reached from the start of the flow."},
	{Name: codeTwoEntries, Meaning: "An edge leads into the middle of a loop or a for_each."},
	{Name: codeLeavesEach, Meaning: "An edge leaves the steps that for_each repeats."},
	{Name: codeEdgeTarget, Meaning: "An edge, or the entry, names a step that does not exist."},
	{Name: codeEdgeTwice, Meaning: "The same edge is drawn twice."},
	{Name: codeTooManyEdges, Meaning: "Edges between frames expand to more edges than a workflow can have."},
	{Name: codeEmptyLoop, Meaning: "A loop has no steps."},
	{Name: codeEmptyEach, Meaning: "A for_each has no steps."},
}

const (
	// maxEdges limits how many edges a short drawing can create: two frames of n nodes are joined
	// by n² edges.
	maxEdges = 200_000
	// maxNesting limits how deeply frames and drawn loops are nested, because models are walked
	// recursively.
	maxNesting = 100
)
