package check

import "github.com/hocket-dev/hocket/workflow"

var joinImpossible = rule{
	code:     "join-impossible",
	severity: workflow.Error,
	summary:  "a node waits for more edges than lead to it",
	node: func(p *pass, n *node) {
		if n.Join.Need > len(n.in) {
			p.errorf(n.Pos, "lower join to at most the number of edges that lead to it", "%q waits for %d edges, but only %d lead to it", n.ID, n.Join.Need, len(n.in))
		}
	},
}
