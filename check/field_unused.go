package check

import "github.com/hocket-dev/hocket/workflow"

var fieldUnused = rule{
	code:     "field-unused",
	severity: workflow.Warning,
	summary:  "a field has no effect here",
	node: func(p *pass, n *node) {
		for _, f := range unusedFields(n) {
			p.warnf(n.Pos, f.why, "%s of %q has no effect", f.name, n.ID)
		}
	},
}

type unusedField struct{ name, why string }

// unusedFields are the fields that are set and that nothing will read.
func unusedFields(n *node) []unusedField {
	kind := n.Kind()
	works := n.Task() != nil || kind == "human" || kind == "call"
	combine, _ := n.Step.(*workflow.Combine)
	var list []unusedField
	for _, f := range []struct {
		unused    bool
		name, why string
	}{
		{n.Timeout != 0 && !works, "timeout", "only tasks, questions and calls take time of their own"},
		{n.Once && kind != "task", "effect", "only a task can be lost"},
		{hasOutput(n.Output) && (kind == "choice" || kind == "loop"), "output", "choices and loops write no variable; what they passed on is steps.ID.output"},
		{n.Output.Pattern != "" && n.Output.Mode != workflow.Regex && n.Output.Mode != workflow.JSONPath, "output pattern", "only the modes regex and jsonpath use one"},
		{n.Retry.Attempts <= 1 && n.Retry != (workflow.Retry{Attempts: n.Retry.Attempts}) && n.Task() != nil, "retry", "it allows one attempt only"},
		{n.Join.Keep && n.Join.Need == 0, "rest", "a node that joins all leaves no rest"},
		{combine != nil && combine.Separator != "" && combine.Strategy != workflow.Concatenate, "separator", "only concatenate writes one"},
	} {
		if f.unused {
			list = append(list, unusedField{f.name, f.why})
		}
	}
	return list
}

func hasOutput(o workflow.Output) bool {
	return o.Var != "" || o.Mode != workflow.Full || o.Pattern != "" || o.Schema != nil
}
