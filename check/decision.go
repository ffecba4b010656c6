package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// decisions are what a choice's expression can come to. Nil: anything, or an
// expression that does not parse, which another rule reports.
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

// statuses are the words that a node or a parallel group can have as status.
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

// isBoolean says whether an expression is true or false whatever its references
// are. Operators give booleans and `??` gives one of its sides, so it is enough
// to look at what comes out when everything is missing and when everything is
// text. An operator that cannot be applied to text is one that gives booleans.
func isBoolean(e *expr.Expr) bool {
	missing, err := e.Eval(everywhere{})
	if _, ok := missing.(bool); !ok || err != nil {
		return false
	}
	text, err := e.Eval(everywhere{"text"})
	_, ok := text.(bool)
	return ok || err != nil
}

// everywhere is an environment in which every reference has the same value; the
// zero everywhere has none.
type everywhere struct{ value any }

func (e everywhere) Lookup(*expr.Ref) (any, bool) { return e.value, e.value != nil }

// hasReference says whether a canonical template refers to anything.
func hasReference(text string) bool {
	if !strings.Contains(text, "${") {
		return false
	}
	t, err := expr.ParseTemplate(text, expr.Canonical)
	return err == nil && len(t.Refs()) > 0
}
