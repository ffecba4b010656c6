package check

import "github.com/hocket-dev/hocket/workflow"

var landNothing = rule{
	code:     "land-nothing",
	severity: workflow.Error,
	summary:  "no workspace reaches a landing",
	bundle: func(c *bundlePass) {
		c.branchTasks(func(p *pass, n *node, t *workflow.Task) {
			if t.Agent != workflow.LandAgent {
				return
			}
			for _, f := range c.flows(p) {
				if len(f.reached[n]) > 0 {
					return
				}
			}
			c.errorf(n.Pos, "add `workspace: own` to the steps before it, whose changes it should land", "%q has nothing to land: no step before it has a workspace of its own", n.ID)
		})
	},
}
