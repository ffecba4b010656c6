package check

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var workflowUnknown = rule{
	code:     "workflow-unknown",
	severity: workflow.Error,
	summary:  "a step calls a workflow that does not exist",
	node: func(p *pass, n *node) {
		call, ok := n.Step.(*workflow.Call)
		if !ok || call.Workflow == "" || p.in.Bundle.Called[call.Workflow] != nil || slices.Contains(p.in.Broken, call.Workflow) {
			return
		}
		p.errorf(callPos(n), suggestWorkflow(call.Workflow, p.in.Names), "there is no workflow %q", call.Workflow)
	},
}

func suggestWorkflow(written string, names []string) string {
	switch hint := workflow.DidYouMean(written, names); {
	case hint != "":
		return hint
	case len(names) == 0 || len(names) > 10:
		return "put it beside this file, or into .hocket/workflows"
	default:
		return "there are: " + strings.Join(names, ", ")
	}
}
