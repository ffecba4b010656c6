package check

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

var combineInputUndefined = rule{
	code:     "combine-input-undefined",
	severity: workflow.Error,
	summary:  "an input of a combine is not defined before it",
	node: func(p *pass, n *node) {
		c, ok := n.Step.(*workflow.Combine)
		if !ok {
			return
		}
		for _, in := range c.Inputs {
			e, err := expr.ParseExpr(in.Text, expr.Canonical)
			if err != nil {
				continue // condition-syntax reports it
			}
			for _, ref := range e.Refs() {
				p.combined(n, in, ref)
			}
		}
	},
}

// combined warns of a name that is an input of the workflow only because no step
// writes it, where one writes a name like it: in an aggregate that is probably a
// slip, even where inputs need not be declared.
func (p *pass) combined(n *node, in workflow.Expr, ref *expr.Ref) {
	if ref.Kind != expr.Inputs || ref.Name == "" || len(p.w.Inputs) > 0 {
		return // declared inputs: reportTexts finds what is none of them
	}
	if hint := p.suggestVariable(ref.Name); hint != "" {
		p.warnf(srcOr(in.Src, n.Pos), hint, "%q combines %q, which nothing before it writes", n.ID, ref.Name)
	}
}

// suggestVariable is the variable that was probably meant; "" none, or the name
// itself, which is then written, but later.
func (p *pass) suggestVariable(written string) string {
	var names []string
	for _, n := range p.index.nodes {
		if v := n.Output.Var; v != "" {
			names = append(names, v)
		}
	}
	if slices.Contains(names, written) || len(written) < 3 {
		return "" // of names that short every other is near
	}
	return workflow.DidYouMean(written, names)
}
