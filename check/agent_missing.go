package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var agentMissing = rule{
	code:     "agent-missing",
	severity: workflow.Error,
	summary:  "a task names no agent and the project has no default",
	node: func(p *pass, n *node) {
		if t, a := p.agentOf(n); t != nil && t.Agent == "" && a.Found == Unknown {
			detail := a.Install
			if len(a.Candidates) > 0 {
				detail = "name an agent, or set a default agent in config.yml; there are: " + strings.Join(a.Candidates, ", ")
			}
			p.reportAgent(n, agentPos(n), detail, "%q names no agent", n.ID)
		}
	},
}
