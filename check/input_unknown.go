package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var inputUnknown = rule{
	code:     "input-unknown",
	severity: workflow.Error,
	summary:  "a call passes an input that the workflow does not declare",
	bundle: func(c *bundlePass) {
		for _, p := range c.order {
			for _, call := range c.calls(p.w) {
				c.unknownBindings(call)
			}
		}
	},
}

func (c *bundlePass) unknownBindings(call call) {
	if len(call.child.Inputs) == 0 {
		return // a workflow that declares no inputs accepts any
	}
	child := c.passes[call.child]
	for _, b := range call.step.Inputs {
		if child.declares(b.Name) {
			continue
		}
		c.errorf(placeOr(b.Pos, callPos(call.node)), suggestInput(b.Name, call.child.Inputs), "workflow %q has no input %q", call.name, b.Name)
	}
}

func suggestInput(written string, inputs []workflow.Param) string {
	names := make([]string, len(inputs))
	for i, in := range inputs {
		names[i] = in.Name
	}
	if hint := workflow.DidYouMean(written, names); hint != "" {
		return hint
	}
	return "its inputs are: " + strings.Join(names, ", ")
}

func (p *pass) declares(input string) bool {
	for i := range p.w.Inputs {
		if p.w.Inputs[i].Name == input {
			return true
		}
	}
	return false
}
