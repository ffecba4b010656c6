package check

import "github.com/hocket-dev/hocket/workflow"

var combineEmpty = rule{
	code:     "combine-empty",
	severity: workflow.Error,
	summary:  "a combine has nothing to combine",
	node: func(p *pass, n *node) {
		c, ok := n.Step.(*workflow.Combine)
		if ok && len(c.Inputs) == 0 && len(n.in) == 0 {
			p.errorf(n.Pos, "name its inputs", "%q has no inputs and no step leads to it", n.ID)
		}
	},
}
