package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var plainBesideLabels = rule{
	code:     "plain-beside-labels",
	severity: workflow.Warning,
	summary:  "a plain edge next to conditional ones is read as their else",
	edge: func(p *pass, e *edge) {
		if e.On == workflow.OnSuccess && e.from != nil && e.from.has(workflow.OnLabel, workflow.OnWhen) {
			to := e.To
			if to == workflow.Again {
				to = e.scope.nodes[0].ID
			}
			help := "write it as else if that is what you mean"
			if isMermaid(e.Pos) {
				help = "write " + e.From + " -->|else| " + strings.TrimPrefix(to, "@") + " if that is what you mean"
			}
			p.warnf(e.Pos, help, "the plain edge of %q to %q counts as else", e.From, to)
		}
	},
}
