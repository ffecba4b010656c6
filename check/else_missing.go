package check

import "github.com/hocket-dev/hocket/workflow"

var elseMissing = rule{
	code:     "else-missing",
	severity: workflow.Error,
	summary:  "a router that continues after a failure has no edge to follow",
	node: func(p *pass, n *node) {
		if n.OnError != workflow.Continue || !n.has(workflow.OnLabel) || n.has(workflow.OnElse, workflow.OnSuccess, workflow.OnFailure) {
			return
		}
		p.errorf(n.Pos, "add an else or an error edge, because a step that failed makes no decision", "%q continues on error, but all its edges have labels", n.ID)
	},
}
