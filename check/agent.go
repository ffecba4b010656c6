package check

import "github.com/hocket-dev/hocket/workflow"

type agentKey struct{ name, role string }

// agent returns the agent of a task, which is the step of the node. If agents are not checked,
// only its name is known.
func (in *Input) agent(w *workflow.Workflow, n *node, t *workflow.Task) *Agent {
	if n.agent == nil { // cached: many rules need it
		n.agent = in.resolve(t.Agent, w.RoleOf(t.Agent))
	}
	return n.agent
}

func (in *Input) resolve(name, role string) *Agent {
	if in.Agents == nil {
		return &Agent{Executor: name, Cost: UnknownCost}
	}
	key := agentKey{name, role}
	a := in.resolved[key]
	if a == nil {
		found := in.Agents.Agent(name, role)
		a = &found
		if in.resolved == nil {
			in.resolved = make(map[agentKey]*Agent)
		}
		in.resolved[key] = a
	}
	return a
}

// cost returns the budget of an attempt of a task, which is the step of the node.
func (in *Input) cost(n *node, by *Agent, t *workflow.Task) workflow.Budget {
	budget := by.budget(t.Settings)
	if in.Bound != nil {
		budget = in.Bound(n.Node, budget)
	}
	return budget
}

// budget returns the budget of an attempt with the given settings.
func (a *Agent) budget(settings map[string]any) workflow.Budget {
	if a.Cost == nil {
		return workflow.Free
	}
	return a.Cost(settings)
}

// replied reports whether a node has a scripted reply.
func (in *Input) replied(n *node) bool { return in.Replied != nil && in.Replied(n.Node) }
