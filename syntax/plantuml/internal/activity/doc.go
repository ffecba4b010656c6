// Package activity reads activity diagrams of PlantUML into a tree of what the
// author drew, as the real PlantUML reads it.
//
// PlantUML has no tokens: it tries a list of patterns on each line, the first
// one that matches takes it, and much that looks like a mistake is read as
// something else. The reader has the same list, in the same order. Where
// PlantUML refuses a line, or silently reads it as what nobody meant, the
// reader says so, proposes the line to write, and goes on with what was meant.
//
// The tree has every element at its place in the text. What PlantUML attaches
// to another element (notes, arrows, kill) is at its place and at that element.
//
// It depends on the model of diagnostics and on positions only.
package activity
