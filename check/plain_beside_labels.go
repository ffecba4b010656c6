package check

import "github.com/hocket-dev/hocket/workflow"

var plainBesideLabels = rule{
	code:     "plain-beside-labels",
	severity: workflow.Warning,
	summary:  "a plain edge beside conditional ones is taken as their else",
	edge: func(p *pass, e *edge) {
		if e.On == workflow.OnSuccess && e.from != nil && e.from.has(workflow.OnLabel, workflow.OnWhen) {
			p.warnf(e.Pos, "write it as else if that is meant", "the plain edge of %q to %q counts as else", e.From, e.To)
		}
	},
}
