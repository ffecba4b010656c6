package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var agentAmbiguous = rule{
	code:     "agent-ambiguous",
	severity: workflow.Error,
	summary:  "several agents match the name that a task gives",
	node: func(p *pass, n *node) {
		if t, a := p.agentOf(n); t != nil && a.Found == Ambiguous {
			p.reportAgent(n, agentPos(n), "name one of them: "+strings.Join(a.Candidates, ", "), "agent %q is ambiguous: %d agents match", t.Agent, len(a.Candidates))
		}
	},
}
