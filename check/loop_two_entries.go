package check

import "github.com/hocket-dev/hocket/workflow"

var loopTwoEntries = rule{
	code:     "loop-two-entries",
	severity: workflow.Error,
	summary:  "an edge leads into the middle of a loop or a for_each",
	edge: func(p *pass, e *edge) {
		to := p.index.byID[e.To]
		if to == nil || e.to != nil || e.from == nil || e.from.eachBefore(to.scope) != nil {
			return
		}
		owner := to.scope.owner
		if owner == nil || e.from.within(to.scope) != nil {
			return
		}
		first := owner.body.nodes[0]
		p.errorf(e.Pos, "let the edge lead to "+quoted(owner.ID)+" instead, or move the step into it",
			"%s %q has two entries: %q and, from %q, %q", kindWord(owner), owner.ID, first.ID, e.From, to.ID)
	},
}

func quoted(s string) string { return `"` + s + `"` }
