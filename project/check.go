package project

import (
	"slices"
	"sort"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/workflow"
)

// Check returns the mistakes in the workflow, in those that it calls, and in the project's
// own files. replied reports whether a node has a scripted reply and needs no agent; it
// may be nil.
//
// Check first chooses an agent for every task that does not name one, see [agent.Set.Choose], so
// that the choice is recorded with a run and is the same on every machine.
func (l *Loaded) Check(replied func(*workflow.Node) bool) workflow.Diagnostics {
	l.choose()
	limits := l.Limits
	if l.alone { // the limits become the budget of the task
		limits.CostUSD, limits.Tokens = 0, 0
	}
	unread := l.unread()
	found := check.Run(check.Input{
		Bundle:  l.Bundle,
		Agents:  l.directory(),
		Replied: replied,
		Limits:  limits,
		Names:   l.callable(),
		Broken:  l.broken,
		Unread:  unread,

		Generated: l.restriction(),
	})
	found = slices.DeleteFunc(slices.DeleteFunc(found, l.isUnmet), func(d workflow.Diagnostic) bool {
		return slices.Contains(consequences, d.Code) && unread(d.Pos)
	})
	return slices.Concat(l.project.Diagnostics(), l.Diagnostics, l.missingPrompts(replied), l.chosenAgents(replied), found).Sort()
}

// callable returns the workflows to suggest instead of an unknown one. It reads the
// directories only if a call is unknown.
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

// consequences are the codes of diagnostics that may only follow from a parse error in the
// same step: if agent is misspelled as agnet, the step has no agent, but reporting that
// would not help.
var consequences = []string{
	"model-invalid", "workflow-empty", "agent-missing", "input-missing",
	"label-no-edge", "label-not-answerable", "else-missing", "else-alone", "unreachable-node", "join-impossible",
	"loop-no-exit", "loop-never-repeats", "each-not-list", "combine-empty", "question-empty", "output-pattern-missing",
}

// unread returns a function that reports whether the parser found an error in the step at
// a position, so that part of the step may be missing.
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
		sort.Slice(list, func(i, j int) bool { return comparePlaces(list[i], list[j]) < 0 })
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

// Plan returns upper bounds on what a run could do. bound is that of [check.Input].
func (l *Loaded) Plan(bound func(*workflow.Node, workflow.Budget) workflow.Budget) check.Plan {
	l.choose()
	plan := check.PlanOf(check.Input{Bundle: l.Bundle, Limits: l.Limits, Agents: l.directory(), Bound: bound})
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

// Required returns the inputs that a run requires.
func (l *Loaded) Required() []workflow.Param { return check.RequiredInputs(l.Bundle) }

func (l *Loaded) directory() directory {
	return directory{l.project.Agents.Snapshot(), l.project.Root, l.project.waiting}
}
