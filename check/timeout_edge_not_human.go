package check

import "github.com/hocket-dev/hocket/workflow"

var timeoutEdgeNotHuman = rule{
	code:     "timeout-edge-not-human",
	severity: workflow.Error,
	summary:  "only a question to a person can have a timeout edge",
	edge: func(p *pass, e *edge) {
		if e.On != workflow.OnTimeout || e.from == nil {
			return
		}
		if _, ok := e.from.Step.(*workflow.Human); !ok {
			p.errorf(e.Pos, "use an error edge: a timeout of this step is a failure", "%q does not ask a person, so it cannot have a timeout edge", e.From)
		}
	},
}
