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

// combined warns about a name that counts as an input of the workflow only because no step writes
// it, if a step writes a similar name. In a combine that is probably a typing mistake, even if
// inputs need not be declared.
func (p *pass) combined(n *node, in workflow.Expr, ref *expr.Ref) {
	if ref.Kind != expr.Inputs || ref.Name == "" || len(p.w.Inputs) > 0 {
		return // reportTexts finds names that are not declared
	}
	if hint := p.suggestVariable(ref.Name); hint != "" {
		p.warnf(placeOr(in.Src.Pos, n.Pos), hint, "%q combines %q, but no earlier step writes it", n.ID, ref.Name)
	}
}

// suggestVariable returns the variable that was probably meant, or "" if there is none. It
// returns the name itself if a later step writes it.
func (p *pass) suggestVariable(written string) string {
	var names []string
	for _, n := range p.index.nodes {
		if v := n.Output.Var; v != "" {
			names = append(names, v)
		}
	}
	if slices.Contains(names, written) || len(written) < 3 {
		return "" // a name this short is similar to too many others
	}
	return workflow.DidYouMean(written, names)
}
