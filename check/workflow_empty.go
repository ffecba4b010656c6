package check

import "github.com/hocket-dev/hocket/workflow"

var workflowEmpty = rule{
	code:     "workflow-empty",
	severity: workflow.Error,
	summary:  "a workflow has no steps to run",
	workflow: func(p *pass) {
		if len(p.w.Body.Nodes) == 0 {
			p.errorf(p.w.Pos, "add a step", "workflow %q has no steps", p.w.Name)
		}
	},
}
