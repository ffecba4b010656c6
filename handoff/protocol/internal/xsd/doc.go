// Package xsd validates XML documents with the part of XML Schema 1.0 that handoffs need:
// sequences, choices, unordered groups, wildcards, simple types with facets, attributes and
// includes. A schema that uses anything else is refused when it is read, so a document is never
// accepted because a rule was overlooked.
//
// There is no existing validator in pure Go. The tests compare this one with xmllint.
package xsd
