package check

import "github.com/hocket-dev/hocket/workflow"

var edgeAgainOutsideLoop = rule{
	code:     "edge-again-outside-loop",
	severity: workflow.Error,
	summary:  "a back edge is outside a loop",
	edge: func(p *pass, e *edge) {
		if e.To == workflow.Again && !e.scope.inLoop() {
			p.errorf(e.Pos, "put the steps that repeat into a loop", "%q goes back to again, but is not in a loop", e.From)
		}
	},
}
