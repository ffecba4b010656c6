package check

import "github.com/hocket-dev/hocket/workflow"

// needsUnknown reports a mistake that parsers report themselves, so it is found only in workflows
// that a program built.
var needsUnknown = rule{
	code:     "needs-unknown",
	severity: workflow.Error,
	summary:  "a step needs a step that does not exist",
	edge: func(p *pass, e *edge) {
		if e.from != nil || e.Pos.Part == "" {
			return
		}
		if p.index.byID[e.From] == nil {
			p.errorf(e.Pos, p.suggestTarget(e.From), "%q depends on %q, which does not exist", e.To, e.From)
			return
		}
		p.errorf(e.Pos, "depend on a step in the same list: on the Repeat or ForEach, not on a step inside it", "%q depends on %q, which is in another body", e.To, e.From)
	},
}
