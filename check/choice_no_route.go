package check

import "github.com/hocket-dev/hocket/workflow"

var choiceNoRoute = rule{
	code:     "choice-no-route",
	severity: workflow.Warning,
	summary:  "a choice has nothing to choose between",
	node: func(p *pass, n *node) {
		c, ok := n.Step.(*workflow.Choice)
		switch {
		case !ok:
		case c.Ask != nil && !n.has(workflow.OnLabel):
			p.warnf(n.Pos, "add `route:` with the answers as labels", "question %q has no answers to choose between", n.ID)
		case !n.has(workflow.OnLabel, workflow.OnWhen, workflow.OnElse) && !n.goesBack():
			p.warnf(n.Pos, "add `route:` with labels or conditions, or remove the choice", "choice %q has no route", n.ID)
		}
	},
}

// goesBack says whether all that a node does is to lead back: a notation that draws
// arrows out of one loop to the start of another adds such a choice.
func (n *node) goesBack() bool { return len(n.out) == 1 && n.out[0].To == workflow.Again }
