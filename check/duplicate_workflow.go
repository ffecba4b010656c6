package check

import "github.com/hocket-dev/hocket/workflow"

var duplicateWorkflow = rule{
	code:     "duplicate-workflow",
	severity: workflow.Error,
	summary:  "two workflows that run together have the same name",
	bundle: func(c *bundlePass) {
		first := make(map[string]*workflow.Workflow)
		for _, p := range c.order {
			if other := first[p.w.Name]; other != nil {
				c.errorf(p.w.Pos, "the other is "+other.Pos.File+"; rename one of them", "two workflows are called %q", p.w.Name)
			} else {
				first[p.w.Name] = p.w
			}
		}
	},
}
