package check

import (
	"fmt"
	"strconv"

	"github.com/hocket-dev/hocket/workflow"
)

var workspacesMeet = rule{
	code:     "workspaces-meet",
	severity: workflow.Error,
	summary:  "different workspaces meet without a merge",
	bundle: func(c *bundlePass) {
		for _, p := range c.order {
			for _, n := range p.index.nodes {
				if t, ok := n.Step.(*workflow.Task); ok && t.Branches != workflow.OneBranch {
					continue
				}
				for _, f := range c.flows(p) {
					if met := f.meet(f.reached[n]); met != nil {
						c.errorf(n.Pos, "put a step with `merge` before it, to which these steps lead", "%s at %q", meeting(met), n.ID)
						break
					}
				}
			}
		}
	},
}

func meeting(met []tree) string {
	if len(met) == 1 {
		return fmt.Sprintf("the workspaces of %q meet", met[0].by.ID)
	}
	name := func(t tree) string {
		if t.by == nil {
			return "the one that was entered with"
		}
		return strconv.Quote(t.by.ID)
	}
	return "the workspaces of " + name(met[0]) + " and " + name(met[1]) + " meet"
}

// flows returns how workspaces follow the edges of a workflow: once for each way in which it is called.
func (c *bundlePass) flows(p *pass) []*flow {
	if c.leftBy == nil {
		c.leftBy, c.own = map[callKey]callLeft{}, map[callOf]bool{}
		c.findCalls(c.order[0], false)
	}
	if p.flows == nil {
		if p.w == c.in.Bundle.Root {
			p.flows = append(p.flows, follow(p.index, &c.in.Bundle, false, false, c.leftBy))
		}
		for _, own := range []bool{false, true} {
			if c.own[callOf{p.w, own}] {
				p.flows = append(p.flows, follow(p.index, &c.in.Bundle, own, true, c.leftBy))
			}
		}
	}
	return p.flows
}

// callOf is a way to call a workflow: whether its agents work in workspaces of their own.
type callOf struct {
	w   *workflow.Workflow
	own bool
}

// findCalls notes in which ways the workflows are called by one of which that is known.
func (c *bundlePass) findCalls(p *pass, own bool) {
	f := &flow{own: own}
	for _, n := range p.index.nodes {
		call, ok := n.Step.(*workflow.Call)
		if !ok {
			continue
		}
		if of := (callOf{c.in.Bundle.Called[call.Workflow], f.isOwn(n)}); of.w != nil && !c.own[of] {
			c.own[of] = true
			c.findCalls(c.passes[of.w], of.own)
		}
	}
}
