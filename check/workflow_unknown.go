package check

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var workflowUnknown = rule{
	code:     "workflow-unknown",
	severity: workflow.Error,
	summary:  "a step calls a workflow that does not exist",
	node: func(p *pass, n *node) {
		call, ok := n.Step.(*workflow.Call)
		if !ok || call.Workflow == "" || p.in.Bundle.Called[call.Workflow] != nil || slices.Contains(p.in.Broken, call.Workflow) {
			return
		}
		p.errorf(callPos(n), suggestWorkflow(stem(call.Workflow), p.callable()), "there is no workflow %q", call.Workflow)
	},
}

// callable returns the workflows that a step may call: all but its own.
func (p *pass) callable() []string {
	own := stem(p.w.Pos.File)
	return slices.DeleteFunc(slices.Clone(p.in.Names), func(name string) bool { return name == own || name == p.w.Name })
}

// stem returns the name of a workflow's file without its directory and extension.
func stem(file string) string {
	base := file[strings.LastIndexAny(file, `/\`)+1:]
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		return base[:i]
	}
	return base
}

func suggestWorkflow(written string, names []string) string {
	switch hint := workflow.DidYouMean(written, names); {
	case hint != "":
		return hint
	case len(names) == 0 || len(names) > 10:
		return "put it next to this file, or into .hocket/workflows"
	default:
		return "available: " + strings.Join(names, ", ")
	}
}
