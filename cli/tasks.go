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
			f := agentFacts(agents, task.Agent, roleOf(w, task.Agent))
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

// agentFacts is what is known of one agent. What runs on this machine costs
// nothing.
func agentFacts(agents *agent.Set, name, role string) engine.TaskFacts {
	d, _, err := agents.ResolveLane(name, role)
	if err != nil {
		return engine.TaskFacts{} // a reply stands in for it, or the check has refused it
	}
	f := engine.TaskFacts{MaxCostUSD: d.Budget.MaxCostUSD, MaxTokens: d.Budget.MaxTokens, Timeout: d.Timeout, Retry: d.Retry}
	if _, free := executors()[d.Agent]; !free && d.Budget == (agent.Budget{}) {
		f.UnknownCost = true
	}
	return f
}
