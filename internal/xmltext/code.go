package xmltext

// Code is a stable name of a kind of error, with its meaning in one line.
type Code struct{ Name, Meaning string }

// The codes of this package.
const (
	codeSyntax    = "xml-syntax"
	codeEndTag    = "xml-end-tag"
	codeAttribute = "xml-attribute"
	codeEntity    = "xml-entity"
	codeDoctype   = "xml-doctype"
	codeEncoding  = "xml-encoding"
	codeSize      = "xml-size"
	codeRoot      = "xml-root"
	codePrefix    = "xml-prefix"
	codeRepaired  = "xml-repaired"
)

// Codes lists every code that a diagnostic of this package can have.
var Codes = []Code{
	{codeSyntax, "The file is not well-formed XML."},
	{codeEndTag, "An end tag is missing, or closes an element other than the open one."},
	{codeAttribute, "An attribute occurs twice, or is not written as `name=\"value\"`."},
	{codeEntity, "A `&` does not begin a valid reference."},
	{codeDoctype, "The file declares a document type, which is not allowed."},
	{codeEncoding, "The file contains bytes or characters that XML does not allow."},
	{codeSize, "The file is too large or too deeply nested."},
	{codeRoot, "The file has no root element, more than one, or text outside it."},
	{codePrefix, "A prefix is not declared."},
	{codeRepaired, "A model's answer was not well-formed and has been repaired."},
}
