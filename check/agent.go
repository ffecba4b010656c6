package check

import "github.com/hocket-dev/hocket/workflow"

type agentKey struct{ name, role string }

// agent resolves the agent of a task. Where agents are not checked it is one of
// which only the name is known.
func (in *Input) agent(w *workflow.Workflow, t *workflow.Task) Agent {
	if in.Agents == nil {
		return Agent{Executor: t.Agent, Cost: Cost{Unknown: true}}
	}
	key := agentKey{name: t.Agent, role: laneRole(w, t.Agent)}
	a, ok := in.resolved[key]
	if !ok {
		a = in.Agents.Agent(key.name, key.role)
		if in.resolved == nil {
			in.resolved = make(map[agentKey]Agent)
		}
		in.resolved[key] = a
	}
	return a
}

func laneRole(w *workflow.Workflow, name string) string {
	for i := range w.Agents {
		if w.Agents[i].Name == name {
			return w.Agents[i].Role
		}
	}
	return ""
}

// replied says whether a node has a scripted reply.
func (in *Input) replied(w *workflow.Workflow, node string) bool {
	return in.Replied != nil && in.Replied(w, node)
}
