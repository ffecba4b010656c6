package check

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var agentMissing = rule{
	code:     "agent-missing",
	severity: workflow.Error,
	summary:  "a task names no agent, and the project has no default agent",
	workflow: func(p *pass) {
		var all sharedMistakes
		for _, n := range p.index.nodes {
			t, a := p.agentOf(n)
			if t == nil || t.Agent != "" || a.Found != Unknown {
				continue
			}
			detail := a.Install
			if len(a.Candidates) > 0 {
				detail = "name an agent, or set a default agent in config.yml; there are: " + strings.Join(a.Candidates, ", ")
			}
			what, summary := "agent", " has no agent"
			if n.Kind() == "choice" {
				what, summary = "question "+n.ID, " asks a question, but there is no agent to answer it"
			}
			all.add(n, shared{what: what, replied: p.in.replied(n)}, summary, detail)
		}
		all.report(p)
	},
}
