// Package expr reads references, templates and conditions, resolves what an
// author wrote into the canonical form of the model, says what is wrong with
// it, and evaluates it. It imports the model only; readers, checks and the
// engine import it.
//
// # The language
//
// A template is text with expressions in it: `${expr}`, and in the notations
// that have them `{{expr}}` and `$NAME`. A literal `${` is written `$${`;
// anything else that would be read as an expression can be written as a string
// in one: `${"{{"}`. A template that is one expression keeps the expression's
// type; in running text a value stands as [workflow.FormatText] writes it.
//
// An expression is, from the loosest binding to the tightest:
//
//	a || b               either is truthy; gives true or false
//	a && b               both are
//	a == b   a != b      equal; a number equals a text that is that number
//	a < b  <=  >  >=     order of numbers, or of texts
//	a contains b         b is part of the text a, an element of the list a or a key of the object a
//	a in b               the same, the other way round
//	a matches b          the text a matches the regular expression b (RE2) somewhere
//	a ?? b               b where a is null or missing
//	!a                   a is not truthy
//	'text' "text" 12 true false null [a, b] (a) name.path[0]["key"]
//
// Comparisons do not chain. A name is [A-Za-z_][A-Za-z0-9_-]*; since there is
// no subtraction, a-b is one name. In texts \" \' \\ \n \r \t and \u00e9 are
// escapes; any other backslash stands for itself, so "\d+" is the pattern it
// looks like. Around a reference `${x}`, `{{x}}` and `$x` say nothing more, and
// the question mark at the end of a condition is dropped.
//
// # Bounds
//
// The language has no loops, no arithmetic, no calls and no clock. Nesting is
// at most 100 deep, an expression at most 64 KiB long, a regular expression
// small, and evaluation takes time linear in the expression and its values.
//
// # Why not a general expression language
//
// Three things are needed that none offers together: `a.b.c ?? d` gives d when
// a is missing, without any mark in the path; every reference knows its place
// in the text; and the time of an evaluation has a bound.
package expr
