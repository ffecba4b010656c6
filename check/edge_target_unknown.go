package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var edgeTargetUnknown = rule{
	code:     "edge-target-unknown",
	severity: workflow.Error,
	summary:  "an edge leads to a node that does not exist",
	edge: func(p *pass, e *edge) {
		if e.To == workflow.End || e.To == workflow.Again || p.index.byID[e.To] != nil {
			return
		}
		p.errorf(e.Pos, p.suggestTarget(e.To), "%q leads to %q, which does not exist", e.From, e.To)
	},
}

func (p *pass) suggestTarget(written string) string {
	ids := make([]string, 0, len(p.index.nodes))
	for _, n := range p.index.nodes {
		ids = append(ids, n.ID)
	}
	if hint := workflow.DidYouMean(written, ids); hint != "" {
		return hint
	}
	if len(ids) > 8 {
		return "name one of the workflow's steps, or end"
	}
	return "available: " + strings.Join(ids, ", ")
}
