package check

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

var nameReserved = rule{
	code:     "name-reserved",
	severity: workflow.Warning,
	summary:  "an input or a variable has a name with a fixed meaning",
	workflow: func(p *pass) {
		for v := range p.names() {
			if slices.Contains(reserved, v.name) {
				p.warnf(v.pos, "rename it, or write "+v.root+v.name, "%q has a fixed meaning, so it does not refer to %s", v.name, v.what)
			}
		}
	},
}

// reserved are the words that have a meaning in references and conditions.
var reserved = []string{
	"inputs", "vars", "nodes", "groups", "previous", "output", "failure", "item", "index", "iteration", "_iteration_count",
	"true", "false", "null", "contains", "matches", "in",
}
