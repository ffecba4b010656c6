package check

import "github.com/hocket-dev/hocket/workflow"

var inputMissing = rule{
	code:     "input-missing",
	severity: workflow.Error,
	summary:  "a called workflow needs an input that the step does not pass",
	bundle: func(c *bundlePass) {
		needs := newNeeds(c.in.Bundle)
		for _, p := range c.order {
			if len(p.w.Inputs) == 0 {
				continue // the missing input becomes an input of the caller
			}
			for _, call := range c.calls(p.w) {
				for _, in := range needs.unbound(call.step, call.child) {
					if !p.declares(in.Name) {
						c.errorf(callPos(call.node), "pass it in the step's inputs, or declare it as an input of "+quoted(p.w.Name),
							"%q does not pass input %q to %q", call.node.ID, in.Name, call.name)
					}
				}
			}
		}
	},
}

// RequiredInputs returns the inputs that a run of a bundle needs. If the root declares inputs,
// these are the ones without a default. If it declares none, these are all names that nothing
// else defines, in the root and in the calls that do not bind them.
func RequiredInputs(b workflow.Bundle) []workflow.Param {
	if b.Root == nil {
		return nil
	}
	return newNeeds(b).of(b.Root)
}
