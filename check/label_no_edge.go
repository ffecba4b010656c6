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
			report = p.warnf // the failure is handled, so it may be intended
		}
		if h, ok := n.Step.(*workflow.Human); ok && h.Custom {
			p.warnf(n.Pos, "add an else for all other answers", "people may answer %q with anything, but it has no else", n.ID)
		}
		for _, a := range n.decides().rest {
			report(n.Pos, "add a route for it, or an else", "%q can choose %q, but no edge has this label", n.ID, strings.Join(a, " or "))
		}
	},
}
