package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// takes returns the inputs that a workflow accepts: the declared ones or, if none are declared,
// every name that it refers to, or that workflows it calls without binding the name refer to. A
// workflow that occurs twice on the path of calls adds nothing.
func (x *plan) takes(p *program, above []*program) []string {
	if len(p.w.Inputs) > 0 {
		names := make([]string, len(p.w.Inputs))
		for i, in := range p.w.Inputs {
			names[i] = in.Name
		}
		return names
	}
	names := slices.Clone(p.refers)
	above = append(above, p)
	p.w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		call, ok := n.Step.(*workflow.Call)
		if !ok {
			return
		}
		child := x.programs[x.bundle.Called[call.Workflow]]
		if child == nil || slices.Contains(above, child) {
			return
		}
		for _, name := range x.takes(child, above) {
			bound := slices.ContainsFunc(call.Inputs, func(in workflow.Binding) bool { return in.Name == name })
			if !bound && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	})
	return names
}

// complete fills in defaults, and returns an error if a required input is missing.
func (p *program) complete(given map[string]any) (map[string]any, error) {
	inputs := maps.Clone(given)
	if inputs == nil {
		inputs = map[string]any{}
	}
	for _, in := range p.w.Inputs {
		if _, ok := inputs[in.Name]; ok {
			continue
		}
		if in.HasDefault {
			inputs[in.Name] = in.Default
		} else if in.Required {
			return nil, fmt.Errorf("workflow %q needs the input %q", p.w.Name, in.Name)
		}
	}
	return inputs, nil
}
