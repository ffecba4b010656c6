package check

import "github.com/hocket-dev/hocket/workflow"

var generatedCall = rule{
	code:     "generated-call",
	severity: workflow.Error,
	summary:  "a workflow that a model wrote calls another workflow",
	node: func(p *pass, n *node) {
		if call, ok := n.Step.(*workflow.Call); ok && p.generated(n) {
			p.errorf(placeOr(call.Pos, n.Pos), "write its steps here; a person can move the file to .hocket/workflows, where it may call others", "%q calls the workflow %q, which only people may write", n.ID, call.Workflow)
		}
	},
}
