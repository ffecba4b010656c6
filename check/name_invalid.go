package check

import (
	"iter"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

var nameInvalid = rule{
	code:     "name-invalid",
	severity: workflow.Error,
	summary:  "an input or a variable has a name that cannot be used in a reference",
	workflow: func(p *pass) {
		for v := range p.names() {
			if !expr.IsName(v.name) {
				p.errorf(v.pos, "use letters, digits, _ and -, and begin with a letter or _", "%q cannot be the name of %s", v.name, v.what)
			}
		}
	},
}

// name is the name of an input or a variable.
type name struct {
	name string
	what string // "an input" or "a variable"
	root string // the prefix to use if the bare name means something else
	pos  workflow.Pos
}

// names returns the names of inputs and variables, in order.
func (p *pass) names() iter.Seq[name] {
	return func(yield func(name) bool) {
		for _, in := range p.w.Inputs {
			if !yield(name{in.Name, "an input", "inputs.", in.Pos}) {
				return
			}
		}
		for _, k := range sorted.Keys(p.w.State) {
			if !yield(name{k, "a variable", "vars.", placeOr(p.w.StatePos[k], p.w.Pos)}) {
				return
			}
		}
		for _, n := range p.index.nodes {
			if v := n.Output.Var; v != "" && !yield(name{v, "a variable", "vars.", p.outputPos(n)}) {
				return
			}
			if each, ok := n.Step.(*workflow.Each); ok && each.As != "" && !yield(name{each.As, "a variable", "vars.", n.Pos}) {
				return
			}
		}
	}
}
