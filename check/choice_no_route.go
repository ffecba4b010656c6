package check

import "github.com/hocket-dev/hocket/workflow"

var choiceNoRoute = rule{
	code:     "choice-no-route",
	severity: workflow.Warning,
	summary:  "a choice has nothing to choose between",
	node: func(p *pass, n *node) {
		_, ok := n.Step.(*workflow.Choice)
		if ok && !n.has(workflow.OnLabel, workflow.OnWhen, workflow.OnElse) {
			p.warnf(n.Pos, "add `route:` with labels or conditions, or remove the choice", "choice %q has no route", n.ID)
		}
	},
}
