package plantuml

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/syntax/yaml"
)

// The codes of this package.
const (
	codeEncoding  = "plantuml-encoding"
	codeMark      = "plantuml-mark"
	codeNote      = "plantuml-words"
	codeLane      = "plantuml-lane"
	codeLaneTwice = "plantuml-lane-twice"
	codeJoin      = "plantuml-join"
	codeRoute     = "plantuml-route"
	codeLabel     = "plantuml-label"
	codeBreak     = "plantuml-break"
	codeDuplicate = "duplicate-id"
	codeTarget    = "edge-target-unknown"
	codeAgain     = "edge-again-outside-loop"
	codeStepKey   = "step-key"
	codeDetached  = "step-detached"
	codeEdges     = "too-many-edges"
	codeNested    = "nested-too-deep"
	codeDead      = "unreachable-node"
)

// Codes lists every code that a diagnostic of Parse can have, with its meaning.
var Codes = strictyaml.Distinct(yaml.Codes, flow.Codes, activity.Codes, []strictyaml.Code{
	{Name: codeEncoding, Meaning: "The file is not UTF-8."},
	{Name: codeMark, Meaning: "The mark of a note does not exist, or does not match what the note is attached to."},
	{Name: codeNote, Meaning: "A note with keys is not attached to anything that could use them."},
	{Name: codeLane, Meaning: "A step is in a lane that was set inside a block that has ended."},
	{Name: codeLaneTwice, Meaning: "Two lanes have names that differ only in spaces or case."},
	{Name: codeJoin, Meaning: "Two joins follow each other, and wait in different ways."},
	{Name: codeRoute, Meaning: "A route leads neither to a lane nor to a step."},
	{Name: codeLabel, Meaning: "A goto leads to a label that does not exist."},
	{Name: codeBreak, Meaning: "A break is not in a loop."},
	{Name: codeAgain, Meaning: "A word leads back to the beginning of a loop, but is outside any loop."},
})
