// Package view turns facts into text for people: diagnostics, tables, the tree of a run,
// log lines. It is pure: it uses no terminal, clock or file, so that everything it draws
// can be tested as text. Package cli decides where the text goes.
//
// Text from agents, files and other programs passes through [Line] or [Text] before it is
// drawn, so that no escape sequence reaches a terminal.
package view
