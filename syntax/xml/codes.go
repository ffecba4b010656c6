package xml

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/internal/xmltext"
)

// The codes of this package, beside those of the XML itself and of the words.
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

// Codes lists every code that is this notation's own.
var Codes = func() []strictyaml.Code {
	codes := []strictyaml.Code{
		{Name: codeElement, Meaning: "An element means nothing here."},
		{Name: codeAttribute, Meaning: "An attribute means nothing here."},
		{Name: codeText, Meaning: "Text stands where only elements can stand."},
		{Name: codeTwice, Meaning: "The same is said twice of one element."},
		{Name: codeValue, Meaning: "A value is not what its `type` says."},
		{Name: codeDepends, Meaning: "A step depends on itself, on what is around it, on a step twice, or on a loop that does not lead on."},
		{Name: codePlanName, Meaning: "An entry of a plan takes something that nothing gives."},
	}
	for _, c := range xmltext.Codes {
		codes = append(codes, strictyaml.Code(c))
	}
	return codes
}()
