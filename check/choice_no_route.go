package check

import "github.com/hocket-dev/hocket/workflow"

var choiceNoRoute = rule{
	code:     "choice-no-route",
	severity: workflow.Error,
	summary:  "a choice has nothing to choose between",
	node: func(p *pass, n *node) {
		c, ok := n.Step.(*workflow.Choice)
		switch {
		case !ok:
		case c.Ask != nil && !n.has(workflow.OnLabel):
			report, help := p.warnf, "add `route:` with the possible answers as labels"
			if isMermaid(n.Pos) {
				help = "label its arrows with the possible answers, such as " + n.ID + " -->|yes| …"
			}
			if !n.has(workflow.OnWhen, workflow.OnElse) && len(n.edgesOn(workflow.OnSuccess)) > 1 {
				report = p.errorf // all of the edges would be taken, whatever the answer is
			}
			report(n.Pos, help, "question %q has no answers to choose between", n.ID)
		case !n.has(workflow.OnLabel, workflow.OnWhen, workflow.OnElse) && !n.goesBack():
			p.warnf(n.Pos, "add `route:` with labels or conditions, or remove the choice", "choice %q has no route", n.ID)
		}
	},
}

// goesBack reports whether a node only leads back to the start of a loop. Notations add such a
// choice for an arrow from one loop to the start of another.
func (n *node) goesBack() bool { return len(n.out) == 1 && n.out[0].To == workflow.Again }
