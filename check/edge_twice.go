package check

import "github.com/hocket-dev/hocket/workflow"

var edgeTwice = rule{
	code:     "edge-twice",
	severity: workflow.Warning,
	summary:  "the same edge is written twice",
	node: func(p *pass, n *node) {
		type key struct {
			to          string
			on          workflow.On
			label, when string
		}
		seen := make(map[key]bool)
		for _, e := range n.out {
			k := key{e.To, e.On, e.Label, e.When.Text}
			if seen[k] {
				p.warnf(e.Pos, "remove one of the two", "%q leads to %q twice", e.From, e.To)
			}
			seen[k] = true
		}
	},
}
