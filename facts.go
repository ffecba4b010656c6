package hocket

import (
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// taskFacts returns what is known about the tasks of a bundle before they start, by
// workflow and node: what an attempt may use, how long it may take, and how often it is
// retried.
func taskFacts(b workflow.Bundle, agents *agent.Set, replies *scripted.Replies) map[string]engine.TaskFacts {
	facts := map[string]engine.TaskFacts{}
	agents = agents.Snapshot()
	for _, w := range check.Workflows(b) {
		w.Body.WalkTasks(func(n *workflow.Node, task *workflow.Task) {
			f := agentFacts(agents, task, w.RoleOf(task.Agent))
			f.May = replies.Bound(n, f.May)
			if f != engine.NoFacts {
				facts[w.Name+"/"+n.ID] = f
			}
		})
	}
	return facts
}

// agentFacts returns what is known about the agent of a task.
func agentFacts(agents *agent.Set, task *workflow.Task, role string) engine.TaskFacts {
	d, _, err := agents.ResolveLane(task.Agent, role)
	if err != nil {
		return engine.NoFacts // it has a reply, or the check has rejected it
	}
	return engine.TaskFacts{May: agents.Bound(d, task.Settings), Timeout: d.Timeout, Retry: d.Retry}
}

// handedFacts returns what is known about the agent of a task that is handed off. If the agent
// supports that, it is held to the limits of the task.
func handedFacts(agents *agent.Set, task *workflow.Task, role string, limits workflow.Limits) engine.TaskFacts {
	facts := agentFacts(agents, task, role)
	d, _, err := agents.ResolveLane(task.Agent, role)
	if most := limits.Budget(); err == nil && most.String() != "" {
		facts.Keeps = agents.Unbounded(d, nil, most) == ""
	}
	return facts
}

// holdToLimits makes the limits of a run the budget of its only task, if the agent
// supports that. Otherwise it returns why not, and a limit stops the task before it
// starts, as in any run.
func holdToLimits(spec *driver.Spec, task *workflow.Task, agents *agent.Set) (why string) {
	d, _, err := agents.Resolve(task.Agent)
	if err != nil || agents.Bound(d, task.Settings) == workflow.Free {
		return ""
	}
	most := spec.Limits.Budget()
	switch why := agents.Unbounded(d, task.Settings, most); {
	case most.String() == "":
	case why == "":
		key := spec.Pin.Bundle.Root.Name + "/" + spec.Pin.Bundle.Root.Body.Nodes[0].ID
		facts := spec.Tasks[key]
		facts.Keeps = true
		spec.Tasks[key] = facts
	case d.Within(most) != d:
		return "cannot limit " + d.Name + " to " + most.String() + ": " + why
	}
	return ""
}
