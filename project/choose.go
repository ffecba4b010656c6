package project

import (
	"slices"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/workflow"
)

// codeChosen is the code of the note about an agent that nobody named.
const codeChosen = "agent-chosen"

// chosen is a task that was given an agent.
type chosen struct {
	w      *workflow.Workflow
	node   *workflow.Node
	agent  string
	reason string
}

// choose gives tasks that name no agent one, where the project has no default.
// The choice becomes part of the model, so that a run keeps it.
func (l *Loaded) choose() {
	if l.settled || l.project.Config.Agent != "" {
		return
	}
	l.settled = true
	agents := l.project.Agents.Snapshot()
	for _, w := range check.Workflows(l.Bundle) {
		w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
			task := g.TaskOf(n)
			if task == nil || task.Agent != "" {
				return
			}
			if c, ok := agents.Choose(n.ID+" "+n.Title+" "+task.Prompt.Text, task.Settings); ok {
				task.Agent = c.Name
				l.chosen = append(l.chosen, chosen{w, n, c.Name, c.Reason})
			}
		})
	}
}

// chosenAgents are notes about the agents that nobody named: of tasks, and of
// definitions that tasks use. Where a reply is given, no agent works.
func (l *Loaded) chosenAgents(replied func(*workflow.Node) bool) workflow.Diagnostics {
	var found workflow.Diagnostics
	for _, c := range l.chosen {
		if replied == nil || !replied(c.node) {
			found = append(found, workflow.Notef(c.node.Pos, codeChosen, "name another at the step, or the project's default in config.yml, if that is wrong",
				"%q is done by %s, %s", c.node.ID, c.agent, c.reason))
		}
	}
	var seen []string
	agents := l.project.Agents.Snapshot()
	for _, w := range check.Workflows(l.Bundle) {
		w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
			task := g.TaskOf(n)
			if task == nil || replied != nil && replied(n) {
				return
			}
			d, _, err := agents.ResolveLane(task.Agent, w.RoleOf(task.Agent))
			if err == nil && d.Chosen != "" && !slices.Contains(seen, d.ID) {
				seen = append(seen, d.ID)
				found = append(found, workflow.Notef(d.Pos, codeChosen, "write under agent what does the work, if that is wrong",
					"agent %q runs on %s, %s", d.Name, d.Agent, d.Chosen))
			}
		})
	}
	return found
}
