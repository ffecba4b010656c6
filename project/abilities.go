package project

import (
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// Abilities describes in one line what the workflow may do on this machine, and in which
// steps. Steps that were replied to do nothing; nil means that none was. It is "" if the
// workflow runs no commands, writes no files and does not access the network.
func (l *Loaded) Abilities(replied func(*workflow.Node) bool) string {
	l.choose()
	by := map[agent.Power][]string{}
	l.tasks(func(_ *workflow.Workflow, n *workflow.Node, task *workflow.Task, d *agent.Definition) {
		if replied != nil && replied(n) {
			return
		}
		for _, power := range l.project.does(d, task) {
			if !slices.Contains(by[power], n.ID) {
				by[power] = append(by[power], n.ID)
			}
		}
	})
	var parts []string
	for _, of := range []struct {
		power agent.Power
		words string
	}{{agent.MayRun, "runs commands"}, {agent.MayWrite, "writes files"}, {agent.MayReach, "accesses the network"}} {
		if steps := by[of.power]; len(steps) > 0 {
			parts = append(parts, of.words+" ("+some(steps)+")")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return l.Bundle.Root.Name + " " + strings.Join(parts, ", ")
}

// some returns the first entries of a list.
func some(steps []string) string {
	if len(steps) > 3 {
		return strings.Join(steps[:3], ", ") + ", …"
	}
	return strings.Join(steps, ", ")
}

// Commands returns the settings of the steps that run commands, as text.
func (l *Loaded) Commands() []string {
	l.choose()
	var all []string
	l.tasks(func(_ *workflow.Workflow, _ *workflow.Node, task *workflow.Task, d *agent.Definition) {
		if slices.Contains(l.project.does(d, task), agent.MayRun) {
			all = append(all, workflow.FormatJSON(d.With(task.Settings)))
		}
	})
	return all
}

// does returns what a task can do: what its settings say, otherwise what its agent may do
// without asking. An agent that calls tools can do what its tools can.
func (p *Project) does(d *agent.Definition, task *workflow.Task) []agent.Power {
	traits := p.Agents.Traits(d.Agent)
	d, settings, _ := traits.ForStep(d, d.With(task.Settings))
	work := &agent.Task{Agent: d, Settings: settings}
	if !traits.FromPrompt(work) {
		if traits.Does == nil {
			return nil
		}
		return traits.Does(work.Settings)
	}
	if traits.CallsTools && len(d.Tools)+len(d.Servers) == 0 && !traits.Specialist {
		return nil
	}
	written := maps.Clone(d.Permissions)
	if _, named := written["mode"]; !named && !traits.CallsTools { // a CLI may edit by default
		written = map[string]any{"mode": "edit"}
		maps.Copy(written, d.Permissions)
	}
	permissions, _ := agent.ReadPermissions(written, "allow", "deny")
	var list []agent.Power
	for power, what := range map[agent.Power]string{agent.MayRun: "x", agent.MayWrite: "x", agent.MayReach: "https://x"} {
		if permissions.For(power, what) == agent.Allow {
			list = append(list, power)
		}
	}
	return list
}
