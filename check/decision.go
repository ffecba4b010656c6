package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// decisions returns the possible results of a choice's expression. Nil means that any result is
// possible, or that the expression does not parse, which another rule reports.
func decisions(on workflow.Expr) []answer {
	if on.Text == "" {
		return nil
	}
	e, err := expr.ParseExpr(on.Text, expr.Canonical)
	if err != nil {
		return nil
	}
	if len(e.Refs()) == 0 {
		return constantDecision(e)
	}
	if isBoolean(e) {
		return []answer{yes, no}
	}
	if ref := e.Refs()[0]; ref.Field == "status" && len(ref.Path) == 0 && e.String() == ref.String() {
		return statuses(ref.Kind)
	}
	return nil
}

var yes, no = answer{"yes", "true"}, answer{"no", "false"}

func constantDecision(e *expr.Expr) []answer {
	v, err := e.Eval(everywhere{})
	if err != nil {
		return nil
	}
	if b, ok := v.(bool); ok && b {
		return []answer{yes}
	} else if ok {
		return []answer{no}
	}
	return []answer{{workflow.FormatText(v)}}
}

// statuses returns the words that the status of a node or a parallel group can be.
func statuses(k expr.Kind) []answer {
	switch k {
	case expr.Nodes:
		return []answer{{"success"}, {"error"}, {"timeout"}, {"skipped"}, {"cancelled"}}
	case expr.Groups:
		return []answer{{"success"}, {"partial"}, {"error"}}
	case expr.Unresolved, expr.Inputs, expr.Vars, expr.Previous, expr.Failure, expr.Item, expr.Index, expr.Iteration, expr.Repeats:
	}
	return nil
}

// isBoolean reports whether an expression is always true or false, whatever its references are.
// Operators return booleans and `??` returns one of its sides, so it is enough to evaluate the
// expression once with every reference missing and once with every reference a text. An operator
// that cannot be applied to text returns booleans.
func isBoolean(e *expr.Expr) bool {
	missing, err := e.Eval(everywhere{})
	if _, ok := missing.(bool); !ok || err != nil {
		return false
	}
	text, err := e.Eval(everywhere{"text"})
	_, ok := text.(bool)
	return ok || err != nil
}

// everywhere is an environment in which every reference has the same value. In the zero value,
// every reference is missing.
type everywhere struct{ value any }

func (e everywhere) Lookup(*expr.Ref) (any, bool) { return e.value, e.value != nil }

// hasReference reports whether a canonical template contains a reference.
func hasReference(text string) bool {
	if !strings.Contains(text, "${") {
		return false
	}
	t, err := expr.ParseTemplate(text, expr.Canonical)
	return err == nil && len(t.Refs()) > 0
}
