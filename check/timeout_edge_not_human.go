package check

import "github.com/hocket-dev/hocket/workflow"

var timeoutEdgeNotHuman = rule{
	code:     "timeout-edge-not-human",
	severity: workflow.Error,
	summary:  "only a question to a person has an edge for its timeout",
	edge: func(p *pass, e *edge) {
		if e.On != workflow.OnTimeout || e.from == nil {
			return
		}
		if _, ok := e.from.Step.(*workflow.Human); !ok {
			p.errorf(e.Pos, "use its error edge: a timeout is a failure", "%q asks no person, so it has no timeout edge", e.From)
		}
	},
}
