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
// it is made again. The limits are those of the run.
func taskFacts(b workflow.Bundle, agents *agent.Set, replies *scripted.Replies, limits workflow.Limits) map[string]engine.TaskFacts {
	facts := map[string]engine.TaskFacts{}
	for _, w := range check.Workflows(b) {
		limits.CostUSD += w.Limits.CostUSD // whether there is one anywhere
		limits.Tokens += w.Limits.Tokens
	}
	for _, w := range check.Workflows(b) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			task, ok := n.Step.(*workflow.Task)
			if !ok {
				return
			}
			f := agentFacts(agents, task, w.RoleOf(task.Agent), limits)
			if replies != nil && replies.CoversTask(n.ID) {
				f = engine.TaskFacts{Timeout: f.Timeout, Retry: f.Retry}
				f.MaxCostUSD, f.MaxTokens = replies.Most(n.ID)
			}
			if f != (engine.TaskFacts{}) {
				facts[w.Name+"/"+n.ID] = f
			}
		})
	}
	return facts
}

// agentFacts is what is known of the agent of one task. What it may use is unknown
// where it has no bound of a kind that is limited.
func agentFacts(agents *agent.Set, task *workflow.Task, role string, limits workflow.Limits) engine.TaskFacts {
	d, _, err := agents.ResolveLane(task.Agent, role)
	if err != nil {
		return engine.TaskFacts{} // a reply stands in for it, or the check has refused it
	}
	most, free := agents.Bound(d, task.Settings)
	costly := most.MaxCostUSD == 0 && (limits.CostUSD > 0 || limits.Tokens == 0)
	wordy := most.MaxTokens == 0 && limits.Tokens > 0
	return engine.TaskFacts{
		MaxCostUSD: most.MaxCostUSD, MaxTokens: most.MaxTokens, UnknownCost: !free && (costly || wordy), Timeout: d.Timeout, Retry: d.Retry,
	}
}

// holdToLimits gives the only task of a run what its limits leave, where its agent
// can be held to that: the limits are its budget. Else it says why not, and a limit
// stops the task before it begins, as in any run.
func holdToLimits(spec *driver.Spec, task *workflow.Task, agents *agent.Set) (why string) {
	most := agent.Budget{MaxCostUSD: spec.Limits.CostUSD, MaxTokens: spec.Limits.Tokens}
	d, _, err := agents.Resolve(task.Agent)
	if err != nil || most == (agent.Budget{}) {
		return ""
	}
	if _, free := agents.Bound(d, task.Settings); free {
		return ""
	}
	key := onlyTask + "/" + onlyTask
	facts := spec.Tasks[key]
	switch why := agents.Unbounded(d, task.Settings, most); {
	case why == "":
		facts.Rest, facts.UnknownCost = true, false
		spec.Tasks[key] = facts
	case facts.UnknownCost || d.Within(most) != d:
		return d.Name + " cannot be held to " + most.String() + ": " + why
	}
	return ""
}
