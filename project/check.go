package project

import (
	"slices"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/workflow"
)

// Check gives everything that is wrong with the workflow, with what it calls and
// with the project's own files. Replied says which nodes have a scripted reply
// and need no agent; nil: none.
//
// It first gives every task that names no agent one, see [agent.Set.Choose]: what
// is pinned with a run holds on every machine.
func (l *Loaded) Check(replied func(*workflow.Node) bool) workflow.Diagnostics {
	l.choose()
	limits := l.Limits
	if l.alone { // what they leave is given to the task
		limits.CostUSD, limits.Tokens = 0, 0
	}
	unread := l.unread()
	found := check.Run(check.Input{
		Bundle:  l.Bundle,
		Agents:  directory{l.project.Agents.Snapshot()},
		Replied: replied,
		Limits:  limits,
		Names:   l.callable(),
		Broken:  l.broken,
		Unread:  unread,
	})
	found = slices.DeleteFunc(slices.DeleteFunc(found, l.isUnmet), func(d workflow.Diagnostic) bool {
		return slices.Contains(consequences, d.Code) && unread(d.Pos)
	})
	return slices.Concat(l.project.Diagnostics(), l.Diagnostics, l.missingPrompts(replied), l.chosenAgents(replied), found).Sort()
}

// callable are the workflows that could be called instead of one that does not
// exist. Only then are the files of the directories looked at.
func (l *Loaded) callable() []string {
	for _, w := range check.Workflows(l.Bundle) {
		for _, c := range callsOf(w) {
			if l.Bundle.Called[c.name] == nil && !slices.Contains(l.broken, c.name) {
				return l.project.Names(l.beside...)
			}
		}
	}
	return nil
}

// consequences are the codes of what may be wrong only because a reader had to
// leave something out: a step whose agent is misspelt as agnet has no agent
// either, but to say so would not help.
var consequences = []string{
	"model-invalid", "workflow-empty", "agent-missing", "input-missing",
	"label-no-edge", "label-not-answerable", "else-missing", "else-alone", "unreachable-node", "join-impossible",
	"loop-no-exit", "loop-never-repeats", "each-not-list", "combine-empty", "question-empty", "output-pattern-missing",
}

// unread says of a place whether a reader found an error in the same step, so that
// something of the step may have been left out.
func (l *Loaded) unread() func(workflow.Pos) bool {
	if !l.read.Errors() {
		return func(workflow.Pos) bool { return false }
	}
	starts := make(map[string][]workflow.Pos) // of steps, by file
	for _, w := range check.Workflows(l.Bundle) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			starts[n.Pos.File] = append(starts[n.Pos.File], n.Pos)
		})
	}
	for _, list := range starts {
		slices.SortFunc(list, comparePlaces)
	}
	type step struct {
		file   string
		number int
	}
	at := func(pos workflow.Pos) step {
		i, exact := slices.BinarySearchFunc(starts[pos.File], pos, comparePlaces)
		if exact {
			i++
		}
		return step{pos.File, i}
	}
	wrong := make(map[step]bool)
	for _, d := range l.read {
		if d.Severity == workflow.Error {
			wrong[at(d.Pos)] = true
		}
	}
	return func(pos workflow.Pos) bool { return wrong[at(pos)] }
}

func comparePlaces(a, b workflow.Pos) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}

// Plan bounds what a run would do.
func (l *Loaded) Plan() check.Plan {
	l.choose()
	plan := check.PlanOf(l.Bundle, l.Limits, directory{l.project.Agents.Snapshot()})
	for _, c := range l.chosen {
		for _, w := range plan.Workflows {
			for i := range w.Nodes {
				if w.Name == c.w.Name && w.Nodes[i].ID == c.node.ID {
					w.Nodes[i].Why = c.reason
				}
			}
		}
	}
	return plan
}

// Required are the inputs that a run must be given.
func (l *Loaded) Required() []workflow.Param { return check.RequiredInputs(l.Bundle) }
