package markdown

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/markdown/internal/mermaid"
	"github.com/hocket-dev/hocket/syntax/yaml"
)

// The codes of this package, in addition to those of the keys and of the flowchart.
const (
	codeNoChart   = "markdown-no-flowchart"
	codeEncoding  = "markdown-encoding"
	codeFence     = "markdown-fence"
	codeMatter    = "markdown-front-matter"
	codeSection   = "markdown-section"
	codeTwice     = "markdown-section-twice"
	codeShape     = "markdown-shape"
	codeArrow     = "markdown-arrow"
	codeUnusedWay = "markdown-arrow-unused"

	// These codes have the same meaning as in other packages.
	codeDuplicateID = "duplicate-id"
	codeEdgeTarget  = "edge-target-unknown"
	codeKey         = "step-key"
	codeDetached    = "step-detached"
	codeAgain       = "edge-again-outside-loop"
	codeDuration    = "yaml-duration"
	codePrompt      = "prompt-file"
)

// Codes lists every code that a diagnostic of Parse can have, with its meaning.
var Codes = strictyaml.Distinct(yaml.Codes, flow.Codes, mermaid.Codes, []strictyaml.Code{
	{Name: codeNoChart, Meaning: "A Markdown file has no flowchart."},
	{Name: codeEncoding, Meaning: "A Markdown file is not UTF-8."},
	{Name: codeFence, Meaning: "A fenced block is not opened or closed correctly."},
	{Name: codeMatter, Meaning: "Front matter is not closed, or has no dashes around it."},
	{Name: codeSection, Meaning: "A heading looks like a node's section, but is not one."},
	{Name: codeTwice, Meaning: "A node has two sections, or its keys are in two places."},
	{Name: codeShape, Meaning: "A shape does not say what a node does."},
	{Name: codeArrow, Meaning: "An arrow does not show which way it leads."},
	{Name: codeUnusedWay, Meaning: "An arrow is drawn, but the keys of its node say something else."},
	{Name: codePrompt, Meaning: "A prompt file cannot be used."},
	{Name: codeAgain, Meaning: "A back edge is outside a loop."},
})
