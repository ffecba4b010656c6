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

// unusedFields returns the fields that are set but have no effect.
func unusedFields(n *node) []unusedField {
	kind := n.Kind()
	works := n.Task() != nil || kind == "human" || kind == "call"
	combine, _ := n.Step.(*workflow.Combine)
	task, _ := n.Step.(*workflow.Task)
	nobody := kind == "human" || kind == "choice" || kind == "combine"
	var list []unusedField
	for _, f := range []struct {
		unused    bool
		name, why string
	}{
		{n.Timeout != 0 && !works, "timeout", "only tasks, questions and calls can have a timeout"},
		{n.Once && kind != "task", "effect", "only a task can have an effect"},
		{hasOutput(n.Output) && (kind == "choice" || kind == "loop"), "output", "choices and loops do not write variables; use steps.ID.output for what they passed on"},
		{n.Output.Pattern != "" && n.Output.Mode != workflow.Regex && n.Output.Mode != workflow.JSONPath, "output pattern", "only the modes regex and jsonpath use a pattern"},
		{n.Retry.Attempts <= 1 && n.Retry != (workflow.Retry{Attempts: n.Retry.Attempts}) && n.Task() != nil, "retry", "it allows only one attempt"},
		{n.Workspace != workflow.WorkspaceAround && nobody, "workspace", "only tasks, calls, loops and for_each have workspaces"},
		{n.Workspace != workflow.WorkspaceAround && task != nil && task.Branches != workflow.OneBranch, "workspace", "a merge works on the workspaces that lead to it"},
		{n.Join.Keep && n.Join.Need == 0, "rest", "a node that waits for all edges has no remaining ones"},
		{combine != nil && combine.Separator != "" && combine.Strategy != workflow.Concatenate, "separator", "only concatenate uses a separator"},
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
