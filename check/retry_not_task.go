package check

import "github.com/hocket-dev/hocket/workflow"

// kindWord returns the kind of a node in the words of its notation.
func kindWord(n *node) string {
	if _, ok := n.Step.(*workflow.Each); ok {
		return "for_each"
	}
	return n.Kind()
}

var retryNotTask = rule{
	code:     "retry-not-task",
	severity: workflow.Error,
	summary:  "only tasks and questions can be retried",
	node: func(p *pass, n *node) {
		if n.Task() == nil && n.Retry != (workflow.Retry{}) {
			p.errorf(n.Pos, "retry the tasks in it, or repeat it with a loop", "%q is a %s and cannot be retried", n.ID, kindWord(n))
		}
	},
}
