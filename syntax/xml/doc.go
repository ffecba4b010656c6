// Package xml reads and writes workflows in XML: a workflow of agents that depend
// on each other, and everything else that the model can hold, under the names
// that YAML has for it.
//
// An attribute may also be written as an element of its name, and the other way
// round, so an element is what a map is in YAML. What words mean is therefore
// read by package yaml: step.go and head.go put them together for it. What XML has
// its own way of saying is read here: the tree of steps and their dependencies
// (parse.go, edge.go), values (value.go), and the plans of other programs
// (planner.go). shape.go says what may stand where.
//
// Format writes any model (write.go, write_step.go), and Fmt lays out what people
// wrote (layout.go). Recover reads what a language model is still writing.
//
// It depends on the model, on workflow/expr, on internal/xmltext, and for the
// words on syntax/yaml and internal/strictyaml.
package xml
