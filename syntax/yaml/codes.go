package yaml

import (
	"slices"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// The codes of this package, in addition to those of package strictyaml.
const (
	codeExecution    = "execution-unknown"
	codeNotYAMLType  = "type-unknown"
	codeStepKind     = "step-kind"
	codeStepKey      = "step-key"
	codeNeedsUnknown = "needs-unknown"
	codeNeedsForward = "needs-forward"
	codeEdgeTarget   = "edge-target-unknown"
	codeDuplicateID  = "duplicate-id"
	codeRoute        = "route-entry"
	codeLoopTest     = "loop-test"
	codeOutputMode   = "output-mode"
	codeDetached     = "step-detached"
	codeTooManyEdges = "too-many-edges"
	codeWord         = "yaml-word" // also used by package strictyaml
	codeType         = "yaml-type" // also used by package strictyaml
	codeSchema       = "schema-invalid"
	codeSchemaWord   = "schema-word"
	codeZeroTime     = "yaml-duration" // also used by package strictyaml
)

// Codes lists every code that a diagnostic of Parse can have, with its meaning.
var Codes = slices.Concat(strictyaml.Codes, []strictyaml.Code{
	{Name: codeExecution, Meaning: "The execution mode does not exist."},
	{Name: codeNotYAMLType, Meaning: "`type` is not a key of a workflow or a step."},
	{Name: codeStepKind, Meaning: "A step does nothing, or has two kinds of work."},
	{Name: codeStepKey, Meaning: "A key is not supported for this kind of step, or not together with another key."},
	{Name: codeNeedsUnknown, Meaning: "A step needs a step that does not exist."},
	{Name: codeNeedsForward, Meaning: "A step needs itself or a step that is written below it."},
	{Name: codeEdgeTarget, Meaning: "A route, next, else, error or on_timeout leads to a step that does not exist."},
	{Name: codeDuplicateID, Meaning: "Two steps have the same id."},
	{Name: codeRoute, Meaning: "An entry of a route has no condition, or more than one."},
	{Name: codeLoopTest, Meaning: "A loop has no steps, has both `until` and `while`, or has one that is never reached."},
	{Name: codeOutputMode, Meaning: "The output's mode does not match its path or pattern."},
	{Name: codeDetached, Meaning: "Nothing leads to a step of a sequential workflow, so it starts immediately."},
	{Name: codeSchema, Meaning: "The schema of an output is not a valid JSON Schema."},
	{Name: codeSchemaWord, Meaning: "A word in an example of a value is not a type."},
	{Name: codeTooManyEdges, Meaning: "The order of the steps creates more edges than a workflow can have."},
})
