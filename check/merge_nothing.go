package check

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

var mergeNothing = rule{
	code:     "merge-nothing",
	severity: workflow.Warning,
	summary:  "fewer than two workspaces reach a merge or a pick",
	bundle: func(c *bundlePass) {
		c.branchTasks(func(p *pass, n *node, t *workflow.Task) {
			if t.Branches == workflow.OneBranch {
				return
			}
			some := false
			for _, f := range c.flows(p) {
				if f.meet(f.reached[n]) != nil {
					return
				}
				some = some || len(f.reached[n]) > 0
			}
			what, advice := "no workspace reaches", "add `workspace: own` to the steps that lead to it, or remove it"
			if some {
				what, advice = "only one workspace at a time can reach", "have steps with `workspace: own` that run in parallel lead to it, or remove it"
			}
			c.warnf(n.Pos, advice, "%s the %s %q", what, t.Branches, n.ID)
		})
	},
}

// branchTasks visits the tasks of all workflows that can be reached by an edge. If steps wait for each other in a
// cycle, which is reported, nobody knows what reaches the steps after it.
func (c *bundlePass) branchTasks(visit func(*pass, *node, *workflow.Task)) {
	for _, p := range c.order {
		if slices.ContainsFunc(p.index.scopes, func(s *scope) bool { return len(s.inOrder()) < len(s.nodes) }) {
			return
		}
	}
	for _, p := range c.order {
		for _, n := range p.index.nodes {
			if t, ok := n.Step.(*workflow.Task); ok && len(c.flows(p)) > 0 {
				visit(p, n, t)
			}
		}
	}
}
