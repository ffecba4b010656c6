package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var labelNoEdge = rule{
	code:     "label-no-edge",
	severity: workflow.Error,
	summary:  "a node can choose a label that no edge has",
	node: func(p *pass, n *node) {
		if !n.has(workflow.OnLabel) || n.has(workflow.OnElse, workflow.OnSuccess, workflow.OnWhen) {
			return
		}
		report := p.errorf
		if n.has(workflow.OnFailure) {
			report = p.warnf // the failure is looked after, so it may be meant
		}
		if h, ok := n.Step.(*workflow.Human); ok && h.Custom {
			p.warnf(n.Pos, "add an else for the answers that no label has", "people may answer %q with anything, and it has no else", n.ID)
		}
		for _, a := range n.decides().rest {
			report(n.Pos, "add a route for it, or an else", "%q can decide for %q, but no edge has it", n.ID, strings.Join(a, " or "))
		}
	},
}
