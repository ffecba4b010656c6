// Package expr parses references, templates and conditions, resolves what an
// author wrote into the canonical form of the model, reports mistakes, and
// evaluates expressions. It imports only the model; parsers, checks and the
// engine import it.
//
// # The language
//
// A template is text with expressions in it: `${expr}` and, in some notations,
// `{{expr}}` and `$NAME`. A literal `${` is written `$${`; anything else that
// would be read as an expression can be written as a string in one: `${"{{"}`.
// A template that consists of one expression keeps the expression's type; in
// running text, a value is written by [workflow.FormatText].
//
// An expression is, from the loosest binding to the tightest:
//
//	a || b               true if either is truthy, otherwise false
//	a && b               true if both are truthy
//	a == b   a != b      equal; a number equals a text that is that number
//	a < b  <=  >  >=     order of numbers, or of texts
//	a contains b         b is part of the text a, an element of the list a or a key of the object a
//	a in b               the same, the other way round
//	a matches b          the text a matches the regular expression b (RE2) somewhere
//	a ?? b               b if a is null or missing
//	!a                   a is not truthy
//	'text' "text" 12 true false null [a, b] (a) name.path[0]["key"]
//
// Comparisons do not chain. A name is [A-Za-z_][A-Za-z0-9_-]*; because there is
// no subtraction, a-b is one name. In texts \" \' \\ \n \r \t and \u00e9 are
// escapes; any other backslash is literal, so "\d+" is the pattern it
// looks like. In an expression, `${x}`, `{{x}}` and `$x` mean the same as `x`,
// and a question mark at the end of a condition is dropped.
//
// # Limits
//
// The language has no loops, no arithmetic, no calls and no clock. Expressions
// nest at most 100 levels deep and are at most 64 KiB long, the size of regular
// expressions is limited, and evaluation takes time linear in the expression and
// its values.
//
// # Why not a general expression language
//
// No existing language offers all three things that are needed: `a.b.c ?? d` is d
// if a is missing, without a mark in the path; every reference has its position
// in the text; and the time of an evaluation is bounded.
package expr
