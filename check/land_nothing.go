package check

import (
	"fmt"
	"strconv"

	"github.com/hocket-dev/hocket/workflow"
)

var landNothing = rule{
	code:     "land-nothing",
	severity: workflow.Error,
	summary:  "no workspace reaches a landing",
	bundle: func(c *bundlePass) {
		c.branchTasks(func(p *pass, n *node, t *workflow.Task) {
			if t.Agent != workflow.LandAgent {
				return
			}
			why, help := "no step before it has a workspace of its own", "add `workspace: own` to the steps before it, whose changes it should land"
			for _, f := range c.flows(p) {
				if len(f.reached[n]) > 0 {
					return
				}
				if at := f.dropped(n, map[*node]bool{}); at != nil {
					why = fmt.Sprintf("%q works in the project, so it does not pass on the workspace of %s", at.ID, madeBy(f.reached[at]))
					help = fmt.Sprintf("add `workspace: own` to %q", at.ID)
				}
			}
			c.errorf(n.Pos, help, "%q has nothing to land: %s", n.ID, why)
		})
	},
}

// dropped returns a step before a node that works in the project although a workspace reaches it, or nil.
func (f *flow) dropped(n *node, seen map[*node]bool) *node {
	if seen[n] {
		return nil
	}
	seen[n] = true
	for _, e := range n.in {
		if t, ok := e.from.Step.(*workflow.Task); ok && t.Branches == workflow.OneBranch && !f.isOwn(e.from) && len(f.reached[e.from]) > 0 {
			return e.from
		}
		if found := f.dropped(e.from, seen); found != nil {
			return found
		}
	}
	if owner := n.scope.owner; owner != nil && len(n.in) == 0 {
		return f.dropped(owner, seen)
	}
	return nil
}

// madeBy names the step that made a workspace.
func madeBy(reached []carried) string {
	for _, t := range reached {
		if t.by != nil {
			return strconv.Quote(t.by.ID)
		}
	}
	return "the steps before it"
}
