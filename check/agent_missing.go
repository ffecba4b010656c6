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
			summary := "%q names no agent"
			if n.Kind() == "choice" {
				summary = "%q asks a question, and there is no agent to ask"
			}
			p.reportAgent(n, agentPos(n), detail, summary, n.ID)
		}
	},
}
