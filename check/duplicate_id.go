package check

import "github.com/hocket-dev/hocket/workflow"

var duplicateID = rule{
	code:     "duplicate-id",
	severity: workflow.Error,
	summary:  "two nodes of a workflow have the same id",
	node: func(p *pass, n *node) {
		first := p.index.byID[n.ID]
		if n.ID == "" || first == n || n.isRepeated(first) {
			return
		}
		p.errorf(n.Pos, "it is also used at "+first.Pos.String()+"; rename one of them", "id %q is used twice", n.ID)
	},
}

// isRepeated reports whether n is the one node that the Each around it repeats, which has the
// same id as the Each.
func (n *node) isRepeated(each *node) bool {
	_, ok := each.Step.(*workflow.Each)
	return ok && n.scope.owner == each && len(n.scope.nodes) == 1
}
