package check

import "github.com/hocket-dev/hocket/workflow"

var elseAlone = rule{
	code:     "else-alone",
	severity: workflow.Warning,
	summary:  "an else has no label or condition next to it",
	edge: func(p *pass, e *edge) {
		if e.On == workflow.OnElse && e.from != nil && !e.from.has(workflow.OnLabel, workflow.OnWhen) {
			p.warnf(e.Pos, "write it as a plain edge, or add routes with labels or conditions", "%q has an else, but no other route", e.From)
		}
	},
}
