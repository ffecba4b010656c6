// Package xmltext reads XML as people and language models write it, into a tree
// of elements that know where they stand.
//
// There are two readers over one tokenizer. [Read] is strict: what is not
// well-formed is a diagnostic that names the place, what was opened where, and
// what to write instead, and the tree must not be used. [Recover] takes the
// answer of a model, whole or cut off anywhere: it finds the document in the text
// around it, closes what is open, keeps as text what is no element, and says what
// it repaired.
//
// Document types and custom entities are rejected: nothing is ever expanded or fetched.
// Size and nesting are limited.
//
// Of package workflow it uses only diagnostics.
package xmltext
