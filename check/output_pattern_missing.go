package check

import "github.com/hocket-dev/hocket/workflow"

var outputPatternMissing = rule{
	code:     "output-pattern-missing",
	severity: workflow.Error,
	summary:  "the output modes regex and jsonpath need a pattern",
	node: func(p *pass, n *node) {
		if o := n.Output; o.Pattern == "" && (o.Mode == workflow.Regex || o.Mode == workflow.JSONPath) {
			p.errorf(placeOr(n.Output.Places().Mode, p.outputPos(n)), "add the pattern that selects part of the output", "output mode %s of %q has no pattern", o.Mode, n.ID)
		}
	},
}

func (p *pass) outputPos(n *node) workflow.Pos { return placeOr(n.Output.Pos, n.Pos) }
