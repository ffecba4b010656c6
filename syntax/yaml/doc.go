// Package yaml reads and writes workflows in YAML, the notation that can express everything in
// the model.
//
// Parsing has three passes. The first binds the text to steps, each with what its author wrote
// about it (step.go, kind.go, output.go). The second names the steps that have no id (name.go).
// The third turns the execution mode, `needs`, `when`, `route` and the order of the steps into
// the edges of the model (resolve.go, mention.go); after it, the mode no longer matters.
//
// Format goes the other way: it finds the steps that would become the given model (lift.go),
// leaves out what the parser would add by itself (plan.go), and writes the rest (write.go,
// print.go). Fmt is for files that people wrote: it changes their layout and keeps their words,
// order and comments.
//
// It depends on the model, on workflow/expr and on internal/strictyaml.
package yaml
