package check

import "github.com/hocket-dev/hocket/workflow"

var workspaceUnused = rule{
	code:     "workspace-unused",
	severity: workflow.Note,
	summary:  "nothing uses the workspace that a step leaves",
	bundle: func(c *bundlePass) {
		c.branchTasks(func(p *pass, n *node, t *workflow.Task) {
			if t.Agent == workflow.LandAgent || p.w != c.in.Bundle.Root || n.scope.owner != nil {
				return
			}
			for _, f := range c.flows(p) {
				if made := len(f.left[n]) == 1 && f.left[n][0].by == n; !made || f.used[n] {
					return
				}
			}
			c.found = append(c.found, workflow.Notef(n.Pos, c.code, "merge it with others, land it, or give a step after it `workspace: own`", "no step uses the workspace that %q leaves", n.ID))
		})
	},
}
