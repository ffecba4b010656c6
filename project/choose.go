package project

import (
	"slices"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/workflow"
)

// codeChosen is the code of the note about an automatically chosen agent.
const codeChosen = "agent-chosen"

// chosen is a task whose agent was chosen automatically.
type chosen struct {
	w      *workflow.Workflow
	node   *workflow.Node
	agent  string
	reason string
}

// choose chooses an agent for each task that does not name one, if the project has no default. The
// choice becomes part of the model, and is recorded with a run.
func (l *Loaded) choose() {
	if l.settled || l.project.Config.Agent != "" {
		return
	}
	l.settled = true
	agents := l.project.Agents.Snapshot()
	for _, w := range check.Workflows(l.Bundle) {
		w.Body.WalkTasks(func(n *workflow.Node, task *workflow.Task) {
			if task.Agent != "" {
				return
			}
			if c, ok := agents.Choose(n.ID+" "+n.Title+" "+task.Prompt.Text, task.Settings); ok {
				task.Agent = c.Name
				l.chosen = append(l.chosen, chosen{w, n, c.Name, c.Reason})
			}
		})
	}
}

// chosenAgents returns notes about the automatic choices: agents of tasks, and executors
// of agents that tasks use. Tasks with a reply are skipped.
func (l *Loaded) chosenAgents(replied func(*workflow.Node) bool) workflow.Diagnostics {
	var found workflow.Diagnostics
	for _, c := range l.chosen {
		if replied == nil || !replied(c.node) {
			found = append(found, workflow.Notef(c.node.Pos, codeChosen, "to use another agent, name it at the step, or set a default agent in config.yml",
				"step %q uses agent %s: %s", c.node.ID, c.agent, c.reason))
		}
	}
	var seen []string
	agents := l.project.Agents.Snapshot()
	for _, w := range check.Workflows(l.Bundle) {
		w.Body.WalkTasks(func(n *workflow.Node, task *workflow.Task) {
			if replied != nil && replied(n) {
				return
			}
			d, _, err := agents.ResolveLane(task.Agent, w.RoleOf(task.Agent))
			if err == nil && d.Chosen != "" && !slices.Contains(seen, d.ID) {
				seen = append(seen, d.ID)
				found = append(found, workflow.Notef(d.Pos, codeChosen, "to use another executor, set `agent` in the definition",
					"agent %q runs on %s: %s", d.Name, d.Agent, d.Chosen))
			}
		})
	}
	return found
}
