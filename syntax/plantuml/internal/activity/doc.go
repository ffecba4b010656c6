// Package activity parses activity diagrams of PlantUML into a tree of what the author drew, as
// PlantUML itself reads them.
//
// PlantUML has no tokens: it tries a list of patterns on each line, the first one that matches
// wins, and much that looks like a mistake is read as something else. The reader has the same
// list, in the same order. If PlantUML refuses a line, or silently reads it as something
// unintended, the reader reports it, proposes the line to write, and continues with what was
// meant.
//
// The tree has every element at its place in the text. What PlantUML attaches to another element
// (notes, arrows, kill) is both at its place and at that element.
//
// It depends only on the model of diagnostics and on positions.
package activity
