package xml

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/internal/xmltext"
)

// The codes of this package, in addition to those of the XML itself and of the keys.
const (
	codeElement     = "xml-unknown-element"
	codeAttribute   = "xml-unknown-attribute"
	codeText        = "xml-text"
	codeTwice       = "xml-twice"
	codeValue       = "xml-value"
	codeDepends     = "xml-depends"
	codePlanName    = "xml-plan-name"
	codeUnknownStep = "needs-unknown"
	codeEdgeTarget  = "edge-target-unknown"
	codeDuplicateID = "duplicate-id"
	codeCycle       = "graph-cycle"
	codeTooMany     = "too-many-edges"
	codeStepKind    = "step-kind"
	codeLoopTest    = "loop-test"
)

// Codes lists every code that only this notation has.
var Codes = func() []strictyaml.Code {
	codes := []strictyaml.Code{
		{Name: codeElement, Meaning: "An element is unknown here."},
		{Name: codeAttribute, Meaning: "An attribute is unknown here."},
		{Name: codeText, Meaning: "Text is not allowed here, only elements."},
		{Name: codeTwice, Meaning: "An element sets the same thing twice."},
		{Name: codeValue, Meaning: "A value does not match its `type`."},
		{Name: codeDepends, Meaning: "A step depends on itself, on an enclosing step, on a step twice, or on a loop that leads nowhere."},
		{Name: codePlanName, Meaning: "An entry of a plan uses something that no other entry provides."},
	}
	for _, c := range xmltext.Codes {
		codes = append(codes, strictyaml.Code(c))
	}
	return codes
}()
