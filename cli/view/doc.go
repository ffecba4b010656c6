// Package view turns facts into text for people: diagnostics, tables, the tree
// of a run, plain lines. It is pure: it knows no terminal, no clock and no file,
// so everything that it draws can be tested as text. Package cli decides where
// the text goes.
//
// Text that an agent, a file or another program wrote passes through [Line] or
// [Text] before it is drawn: no escape sequence reaches a terminal.
package view
