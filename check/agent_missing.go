package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var agentMissing = rule{
	code:     "agent-missing",
	severity: workflow.Error,
	summary:  "a task names no agent and the project has no default",
	workflow: func(p *pass) {
		var nodes []*node // it is one mistake, and those with a reply are another
		for _, n := range p.index.nodes {
			if t, a := p.agentOf(n); t != nil && t.Agent == "" && a.Found == Unknown {
				nodes = append(nodes, n)
			}
		}
		for _, replied := range []bool{false, true} {
			list := slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return p.in.replied(n) != replied })
			if len(list) > 0 {
				p.reportMissing(list)
			}
		}
	},
}

// reportMissing reports nodes that name no agent, at the first of them.
func (p *pass) reportMissing(nodes []*node) {
	first := nodes[0]
	_, a := p.agentOf(first)
	detail := a.Install
	if len(a.Candidates) > 0 {
		detail = "name an agent, or set a default agent in config.yml; there are: " + strings.Join(a.Candidates, ", ")
	}
	summary := fmt.Sprintf("%q names no agent", first.ID)
	if first.Kind() == "choice" {
		summary = fmt.Sprintf("%q asks a question, and there is no agent to ask", first.ID)
	}
	switch more := len(nodes) - 1; {
	case more == 1:
		summary += fmt.Sprintf("; the same holds for %q", nodes[1].ID)
	case more > 1:
		summary += fmt.Sprintf("; the same holds for %d other steps", more)
	}
	p.reportAgent(first, agentPos(first), detail, "%s", summary)
}
