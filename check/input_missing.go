package check

import "github.com/hocket-dev/hocket/workflow"

var inputMissing = rule{
	code:     "input-missing",
	severity: workflow.Error,
	summary:  "a called workflow needs an input that is not given",
	bundle: func(c *bundlePass) {
		needs := newNeeds(c.in.Bundle)
		for _, p := range c.order {
			if len(p.w.Inputs) == 0 {
				continue // what is missing becomes an input of the caller itself
			}
			for _, call := range c.calls(p.w) {
				for _, in := range needs.unbound(call.step, call.child) {
					if !p.declares(in.Name) {
						c.errorf(callPos(call.node), "give it in the step's inputs, or declare it as an input of "+quoted(p.w.Name),
							"%q is not given the input %q of %q", call.node.ID, in.Name, call.name)
					}
				}
			}
		}
	},
}

// RequiredInputs are the inputs that a run of a bundle must be given. Where the
// root declares inputs they are those without a default; where it declares none,
// every name that nothing else defines, in it and in the calls that do not bind
// it.
func RequiredInputs(b workflow.Bundle) []workflow.Param {
	if b.Root == nil {
		return nil
	}
	return newNeeds(b).of(b.Root)
}
