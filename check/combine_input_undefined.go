package check

import (
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

var combineInputUndefined = rule{
	code:     "combine-input-undefined",
	severity: workflow.Error,
	summary:  "an input of a combine is defined by nothing before it",
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

// combined reports a name that became an input of the workflow only because no
// step writes it: in an aggregate that is a slip, even where inputs need not be
// declared.
func (p *pass) combined(n *node, in workflow.Expr, ref *expr.Ref) {
	if ref.Kind != expr.Inputs || ref.Name == "" || len(p.w.Inputs) > 0 {
		return // declared inputs: reportTexts finds what is none of them
	}
	p.errorf(srcOr(in.Src, n.Pos), p.suggestVariable(ref.Name), "%q combines %q, which nothing before it writes", n.ID, ref.Name)
}

func (p *pass) declares(input string) bool {
	for i := range p.w.Inputs {
		if p.w.Inputs[i].Name == input {
			return true
		}
	}
	return false
}

func (p *pass) suggestVariable(written string) string {
	var names []string
	for _, n := range p.index.nodes {
		if n.Output.Var != "" {
			names = append(names, n.Output.Var)
		}
		names = append(names, n.ID)
	}
	if hint := workflow.DidYouMean(written, names); hint != "" {
		return hint
	}
	return "combine variables that earlier steps write, or their outputs"
}
