package check

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var workflowCycle = rule{
	code:     "workflow-cycle",
	severity: workflow.Error,
	summary:  "a workflow calls itself, directly or through others",
	bundle: func(c *bundlePass) {
		if c.in.Bundle.Root == nil {
			return
		}
		f := &cycleFinder{pass: c, done: make(map[*workflow.Workflow]bool), at: make(map[*workflow.Workflow]int)}
		f.enter(c.in.Bundle.Root)
	},
}

// cycleFinder walks the calls depth first. A call of a workflow that is on the current path
// closes a cycle.
type cycleFinder struct {
	pass *bundlePass
	done map[*workflow.Workflow]bool
	at   map[*workflow.Workflow]int // position on the path, from 1
	path []string
}

func (f *cycleFinder) enter(w *workflow.Workflow) {
	f.path = append(f.path, w.Name)
	f.at[w] = len(f.path)
	for _, call := range f.pass.calls(w) {
		switch {
		case f.done[call.child]:
		case f.at[call.child] > 0:
			first := f.at[call.child] - 1
			path := slices.Concat(f.path[first:], f.path[first:first+1])
			f.pass.errorf(callPos(call.node), "a workflow may not call itself; repeat steps with a loop", "Workflow cycle detected: %s", strings.Join(path, " → "))
		default:
			f.enter(call.child)
		}
	}
	f.path = f.path[:len(f.path)-1]
	delete(f.at, w)
	f.done[w] = true
}

// call is a node that calls a workflow of the bundle.
type call struct {
	node  *node
	step  *workflow.Call
	name  string
	child *workflow.Workflow
}

// calls returns the calls of existing workflows in a workflow.
func (c *bundlePass) calls(w *workflow.Workflow) []call {
	var list []call
	for _, n := range c.passes[w].index.nodes {
		if step, ok := n.Step.(*workflow.Call); ok {
			if child := c.in.Bundle.Called[step.Workflow]; child != nil {
				list = append(list, call{n, step, step.Workflow, child})
			}
		}
	}
	return list
}
