// Package xsd validates XML documents with XML Schema 1.0, as far as handoffs need it:
// sequences, choices, unordered groups, wildcards, simple types with facets, attributes and
// includes. A schema that uses anything else is refused when it is read, so a document is
// never accepted because a rule was overlooked.
//
// There is no validator in pure Go to build on. The tests compare this one with xmllint.
package xsd
