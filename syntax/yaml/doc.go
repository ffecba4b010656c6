// Package yaml reads and writes workflows in YAML, the notation that has a word
// for everything the model can hold.
//
// Reading has three passes. The first binds the text to steps, each with what
// its author wrote about it (step.go, kind.go, output.go). The second gives
// names to the steps that have none (name.go). The third turns the mode of
// execution, `needs`, `when`, `route` and the order of the steps into the edges
// of the model (resolve.go, mention.go); after it nothing of the mode is left.
//
// Format goes the other way: it finds the steps that would become the given
// model (lift.go), leaves out what the reader would add by itself (plan.go), and
// writes the rest (write.go, print.go). Fmt is for files that people wrote: it
// changes their layout and keeps their words, order and comments.
//
// It depends on the model, on workflow/expr and on internal/strictyaml.
package yaml
