package project

import (
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/workflow"
)

// Check gives everything that is wrong with the workflow, with what it calls and
// with the project's own files. Replied says which nodes have a scripted reply
// and need no agent; nil: none.
func (l *Loaded) Check(replied func(w *workflow.Workflow, node string) bool) workflow.Diagnostics {
	all := append(l.project.Diagnostics(), l.Diagnostics...)
	all = append(all, check.Run(check.Input{
		Bundle:  l.Bundle,
		Agents:  directory{l.project.Agents},
		Replied: replied,
		Limits:  l.Limits,
		Names:   l.project.Names(l.beside...),
		Broken:  l.broken,
	})...)
	return all.Sort()
}

// Plan bounds what a run would do.
func (l *Loaded) Plan() check.Plan {
	return check.PlanOf(l.Bundle, l.Limits, directory{l.project.Agents})
}

// Required are the inputs that a run must be given.
func (l *Loaded) Required() []workflow.Param { return check.RequiredInputs(l.Bundle) }
