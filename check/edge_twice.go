package check

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

var edgeTwice = rule{
	code:     "edge-twice",
	severity: workflow.Warning,
	summary:  "the same edge is written twice",
	workflow: func(p *pass) {
		type key struct {
			from, to    string
			on          workflow.On
			label, when string
		}
		seen := make(map[key]bool)
		for _, e := range p.index.edges {
			if e.from != nil && len(e.from.out) <= 8 && !e.hasTwin() {
				continue // avoids a map for nearly all nodes
			}
			k := key{e.From, e.To, e.On, e.Label, e.When.Text}
			if seen[k] {
				p.warnf(e.Pos, "remove one of the two", "%q leads to %q twice", e.From, e.To)
			}
			seen[k] = true
		}
	},
}

// hasTwin reports whether the node has another edge that is the same.
func (e *edge) hasTwin() bool {
	return slices.ContainsFunc(e.from.out, func(other *edge) bool {
		return other != e && other.To == e.To && other.On == e.On && other.Label == e.Label && other.When.Text == e.When.Text
	})
}
