// Package xmltext reads XML as people and language models write it, into a tree of elements
// with positions.
//
// There are two readers over one tokenizer. [Read] is strict: everything that is not
// well-formed is a diagnostic with its position, what was opened where, and what to write
// instead, and the tree must not be used. [Recover] reads the answer of a model, complete
// or cut off anywhere: it finds the document in the surrounding text, closes open elements,
// keeps everything else as text, and reports what it repaired.
//
// Document types and custom entities are rejected: nothing is ever expanded or fetched.
// Size and nesting are limited.
//
// Of package workflow it uses only diagnostics.
package xmltext
