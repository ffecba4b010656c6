package strictyaml

import "slices"

// Code is a stable name of a kind of error, with its meaning in one line.
type Code struct{ Name, Meaning string }

// Distinct merges lists of codes; of duplicates the first one counts.
func Distinct(lists ...[]Code) []Code {
	var all []Code
	for _, c := range slices.Concat(lists...) {
		if !slices.ContainsFunc(all, func(other Code) bool { return other.Name == c.Name }) {
			all = append(all, c)
		}
	}
	return all
}

// The codes of this package.
const (
	codeSyntax       = "yaml-syntax"
	codeEncoding     = "yaml-encoding"
	codeSize         = "yaml-size"
	codeDocuments    = "yaml-documents"
	codeAlias        = "yaml-alias"
	codeKey          = "yaml-key"
	codeDuplicateKey = "yaml-duplicate-key"
	codeUnknownKey   = "yaml-unknown-key"
	codeType         = "yaml-type"
	codeEmpty        = "yaml-empty"
	codeTag          = "yaml-tag"
	codeNumber       = "yaml-number"
	codeDuration     = "yaml-duration"
	codeWord         = "yaml-word"
)

// Codes lists every code that a diagnostic of this package can have.
var Codes = []Code{
	{codeSyntax, "The file is not well-formed YAML."},
	{codeEncoding, "The file contains bytes or characters that YAML does not allow."},
	{codeSize, "The file is too large or too deeply nested."},
	{codeDocuments, "The file contains more than one YAML document."},
	{codeAlias, "An alias expands to too much, or to itself."},
	{codeKey, "A key of a map is not plain text."},
	{codeDuplicateKey, "A key occurs twice in one map."},
	{codeUnknownKey, "A key is unknown here."},
	{codeType, "A value has the wrong type."},
	{codeEmpty, "A key has no value."},
	{codeTag, "A YAML tag is not supported."},
	{codeNumber, "A number is ambiguous or out of range."},
	{codeDuration, "A duration is not written as a number with a unit."},
	{codeWord, "A value is not one of the allowed words."},
}
