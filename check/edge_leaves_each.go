package check

import "github.com/hocket-dev/hocket/workflow"

var edgeLeavesEach = rule{
	code:     "edge-leaves-each",
	severity: workflow.Error,
	summary:  "an edge leaves the steps that for_each repeats",
	edge: func(p *pass, e *edge) {
		to := p.index.byID[e.To]
		if to == nil || e.to != nil || e.from == nil {
			return
		}
		if each := e.from.eachBefore(to.scope); each != nil {
			p.errorf(e.Pos, "an item cannot leave the for_each; put steps that run after all items after the for_each",
				"%q leads out of for_each %q to %q", e.From, each.ID, e.To)
		}
	},
}

// eachBefore returns the innermost Each between a node and the surrounding graph s, or nil if
// there is none or s does not contain the node.
func (n *node) eachBefore(s *scope) *node {
	var each *node
	for at := n.scope; at != s; at = at.owner.scope {
		if at.owner == nil {
			return nil
		}
		if each == nil && !at.owner.isLoop() {
			each = at.owner
		}
	}
	return each
}
