package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// inputNames are the inputs that a workflow takes: the declared ones, or, where
// none are declared, every name that it and the calls that do not bind it refer
// to. A workflow that is reached twice on the way down adds nothing.
func inputNames(w *workflow.Workflow, b *workflow.Bundle, above []*workflow.Workflow) []string {
	var names []string
	if len(w.Inputs) > 0 {
		for _, in := range w.Inputs {
			names = append(names, in.Name)
		}
		return names
	}
	names = expr.FreeInputs(w)
	above = append(above, w)
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		call, ok := n.Step.(*workflow.Call)
		if !ok || b.Called[call.Workflow] == nil || slices.Contains(above, b.Called[call.Workflow]) {
			return
		}
		for _, name := range inputNames(b.Called[call.Workflow], b, above) {
			bound := slices.ContainsFunc(call.Inputs, func(in workflow.Binding) bool { return in.Name == name })
			if !bound && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	})
	return names
}

// complete fills in defaults and says which required input is missing.
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
