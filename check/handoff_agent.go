package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var handoffAgent = rule{
	code:     "handoff-agent",
	severity: workflow.Error,
	summary:  "a task may hand work off to an agent that cannot receive it",
	node: func(p *pass, n *node) {
		t, ok := n.Step.(*workflow.Task)
		if !ok || t.Handoffs == nil {
			return
		}
		if len(t.Handoffs.To) == 0 {
			p.errorf(n.Pos, "name the agents, such as `handoffs: {to: [reviewer]}`, or remove handoffs", "%q may hand work off, but the list of agents is empty", n.ID)
		}
		for i, name := range t.Handoffs.To {
			p.receiver(n, t.Handoffs, i, name)
		}
	},
}

// receiver reports an agent that cannot receive work.
func (p *pass) receiver(n *node, h *workflow.Handoffs, i int, name string) {
	if p.in.Agents == nil {
		return
	}
	pos := n.Pos
	if i < len(h.Pos) {
		pos = h.Pos[i]
	}
	switch a := p.in.resolve(name, p.w.RoleOf(name)); a.Found {
	case Unknown:
		p.reportAgent(n, pos, suggestAgent(name, a.Candidates), "unknown agent %q", name)
	case Ambiguous:
		p.reportAgent(n, pos, "name one of them: "+strings.Join(a.Candidates, ", "), "agent %q is ambiguous: %d agents match", name, len(a.Candidates))
	case NoExecutor:
		p.reportAgent(n, pos, a.Install, "cannot run agent %q", name)
	case Resolved:
	}
}
