package cli

import (
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// taskFacts is what is known of the tasks of a bundle before they start, by
// workflow and node: what an attempt may use, how long it may take, and how often
// it is made again.
func taskFacts(b workflow.Bundle, agents *agent.Set, replies *scripted.Replies) map[string]engine.TaskFacts {
	facts := map[string]engine.TaskFacts{}
	for _, w := range check.Workflows(b) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			task, ok := n.Step.(*workflow.Task)
			if !ok {
				return
			}
			f := agentFacts(agents, task, w.RoleOf(task.Agent))
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

// agentFacts is what is known of the agent of one task.
func agentFacts(agents *agent.Set, task *workflow.Task, role string) engine.TaskFacts {
	d, _, err := agents.ResolveLane(task.Agent, role)
	if err != nil {
		return engine.TaskFacts{} // a reply stands in for it, or the check has refused it
	}
	bound, known := agents.Bound(d, task.Settings)
	return engine.TaskFacts{
		MaxCostUSD: bound.MaxCostUSD, MaxTokens: bound.MaxTokens, UnknownCost: !known, Timeout: d.Timeout, Retry: d.Retry,
	}
}
