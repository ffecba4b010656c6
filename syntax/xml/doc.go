// Package xml reads and writes workflows in XML: agents that depend on each other, and everything
// else that the model contains, under the names that YAML uses.
//
// An attribute may also be written as an element with its name, and the other way round, so an
// element corresponds to a map in YAML. Keys are therefore read by package yaml: step.go and
// head.go prepare them for it. What XML writes in its own way is read here: the tree of steps and
// their dependencies (parse.go, edge.go), values (value.go), and the plans of other programs
// (planner.go). shape.go defines what may appear where.
//
// Format writes any model (write.go, write_step.go), and Fmt formats what people wrote
// (layout.go). Recover reads what a language model is still writing.
//
// It depends on the model, on workflow/expr, on internal/xmltext, and for the keys on syntax/yaml
// and internal/strictyaml.
package xml
