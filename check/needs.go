package check

import (
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// needs computes which inputs workflows require.
type needs struct {
	bundle workflow.Bundle
	known  map[*workflow.Workflow][]workflow.Param
	active map[*workflow.Workflow]bool // being computed: calling one of these is a cycle, which another rule reports
}

func newNeeds(b workflow.Bundle) *needs {
	return &needs{bundle: b, known: make(map[*workflow.Workflow][]workflow.Param), active: make(map[*workflow.Workflow]bool)}
}

// of returns the inputs that a workflow needs to run.
func (n *needs) of(w *workflow.Workflow) []workflow.Param {
	if list, ok := n.known[w]; ok || n.active[w] {
		return list
	}
	n.active[w] = true
	var list []workflow.Param
	if len(w.Inputs) > 0 {
		list = declaredNeeds(w)
	} else {
		list = n.undeclared(w)
	}
	delete(n.active, w)
	n.known[w] = list
	return list
}

func declaredNeeds(w *workflow.Workflow) []workflow.Param {
	var list []workflow.Param
	for _, in := range w.Inputs {
		if in.Required && !in.HasDefault {
			list = append(list, in)
		}
	}
	return list
}

// undeclared returns the names that nothing in the workflow defines, followed by the inputs that
// its calls do not pass, as the called workflows declare them.
func (n *needs) undeclared(w *workflow.Workflow) []workflow.Param {
	var list []workflow.Param
	seen := make(map[string]bool)
	add := func(in workflow.Param) {
		if !seen[in.Name] {
			seen[in.Name] = true
			list = append(list, in)
		}
	}
	for _, in := range expr.FreeInputs(w) {
		if in.Required {
			add(in)
		}
	}
	w.Body.Walk(func(_ *workflow.Graph, node *workflow.Node) {
		step, ok := node.Step.(*workflow.Call)
		if !ok {
			return
		}
		if child := n.bundle.Called[step.Workflow]; child != nil {
			for _, in := range n.unbound(step, child) {
				add(in)
			}
		}
	})
	return list
}

// unbound returns the required inputs of a called workflow that the call does not pass.
func (n *needs) unbound(step *workflow.Call, child *workflow.Workflow) []workflow.Param {
	bound := make(map[string]bool, len(step.Inputs))
	for _, b := range step.Inputs {
		bound[b.Name] = true
	}
	var list []workflow.Param
	for _, in := range n.of(child) {
		if !bound[in.Name] {
			list = append(list, in)
		}
	}
	return list
}
