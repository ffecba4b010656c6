package hocket

import (
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// taskFacts is what is known of the tasks of a bundle before they start, by
// workflow and node: what an attempt may use, how long it may take, and how often
// it is made again.
func taskFacts(b workflow.Bundle, agents *agent.Set, replies *scripted.Replies) map[string]engine.TaskFacts {
	facts := map[string]engine.TaskFacts{}
	agents = agents.Snapshot()
	for _, w := range check.Workflows(b) {
		w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
			task := g.TaskOf(n)
			if task == nil {
				return
			}
			f := agentFacts(agents, task, w.RoleOf(task.Agent))
			switch {
			case replies == nil || !replies.Covers(n):
			case replies.CoversEvery(n):
				f.May = replies.Most(n.ID)
			default: // the agent does the work of other instances
				most := replies.Most(n.ID)
				f.May.CostUSD, f.May.Tokens = f.May.CostUSD.Higher(most.CostUSD), f.May.Tokens.Higher(most.Tokens)
			}
			if f != engine.NoFacts {
				facts[w.Name+"/"+n.ID] = f
			}
		})
	}
	return facts
}

// agentFacts is what is known of the agent of one task.
func agentFacts(agents *agent.Set, task *workflow.Task, role string) engine.TaskFacts {
	d, _, err := agents.ResolveLane(task.Agent, role)
	if err != nil {
		return engine.NoFacts // a reply stands in for it, or the check has refused it
	}
	return engine.TaskFacts{May: agents.Bound(d, task.Settings), Timeout: d.Timeout, Retry: d.Retry}
}

// holdToLimits gives the only task of a run what its limits leave, where its agent
// can be held to that: the limits are its budget. Else it says why not, and a limit
// stops the task before it begins, as in any run.
func holdToLimits(spec *driver.Spec, task *workflow.Task, agents *agent.Set) (why string) {
	d, _, err := agents.Resolve(task.Agent)
	if err != nil || agents.Bound(d, task.Settings) == workflow.Free {
		return ""
	}
	most := spec.Limits.Budget()
	switch why := agents.Unbounded(d, task.Settings, most); {
	case most.String() == "":
	case why == "":
		key := onlyTask + "/" + onlyTask
		facts := spec.Tasks[key]
		facts.Keeps = true
		spec.Tasks[key] = facts
	case d.Within(most) != d:
		return d.Name + " cannot be held to " + most.String() + ": " + why
	}
	return ""
}
