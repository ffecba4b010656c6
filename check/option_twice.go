package check

import "github.com/hocket-dev/hocket/workflow"

var optionTwice = rule{
	code:     "option-twice",
	severity: workflow.Error,
	summary:  "a person is offered the same answer twice",
	node: func(p *pass, n *node) {
		h, ok := n.Step.(*workflow.Human)
		if !ok {
			return
		}
		seen := make(map[string]bool)
		for _, o := range h.Options {
			switch value := workflow.BareLabel(o.Value); {
			case value == "":
				p.errorf(n.Pos, "give every option a value", "%q has an option without a value", n.ID)
			case seen[value]:
				p.errorf(n.Pos, "remove one of the two; case and punctuation do not count", "%q offers %q twice", n.ID, o.Value)
			default:
				seen[value] = true
			}
		}
	},
}
