package check

import (
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

var eachNotList = rule{
	code:     "each-not-list",
	severity: workflow.Error,
	summary:  "for_each iterates over something that is never a list",
	node: func(p *pass, n *node) {
		each, ok := n.Step.(*workflow.Each)
		if !ok {
			return
		}
		if why := neverList(each.Items); why != "" {
			p.errorf(placeOr(each.Items.Src.Pos, n.Pos), "name a variable, an input or an output that holds a list", "for_each of %q iterates over %s, not a list", n.ID, why)
		}
	},
}

// neverList describes an expression that can never be a list, or returns "".
func neverList(items workflow.Expr) string {
	e, err := expr.ParseExpr(items.Text, expr.Canonical)
	if err != nil {
		return ""
	}
	if len(e.Refs()) == 0 {
		v, err := e.Eval(everywhere{})
		if _, ok := v.([]any); ok || err != nil {
			return ""
		}
		return workflow.FormatJSON(v)
	}
	if isBoolean(e) {
		return "true or false"
	}
	ref := e.Refs()[0]
	if e.String() != ref.String() {
		return ""
	}
	switch ref.Kind {
	case expr.Index, expr.Iteration, expr.Repeats:
		return "a number"
	case expr.Failure:
		return "text"
	case expr.Nodes, expr.Groups:
		if ref.Field != "output" && ref.Field != "outputs" && ref.Field != "succeeded" && ref.Field != "failed" {
			return "a " + ref.Field
		}
	case expr.Unresolved, expr.Inputs, expr.Vars, expr.Previous, expr.Item:
	}
	return ""
}

// items returns how many items an Each has, if its list is written out.
func items(each *workflow.Each) (count workflow.Bound, known bool) {
	e, err := expr.ParseExpr(each.Items.Text, expr.Canonical)
	if err != nil || len(e.Refs()) > 0 {
		return workflow.Bound{}, false
	}
	v, _ := e.Eval(everywhere{})
	list, ok := v.([]any)
	if !ok {
		return workflow.Bound{}, false
	}
	return workflow.AtMost(len(list)), true
}
