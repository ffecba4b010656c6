package check

import (
	"strconv"

	"github.com/hocket-dev/hocket/workflow"
)

var agentNoExecutor = rule{
	code:     "agent-no-executor",
	severity: workflow.Error,
	summary:  "an agent is defined, but no executor here can run it",
	workflow: func(p *pass) {
		var all sharedMistakes
		for _, n := range p.index.nodes {
			t, a := p.agentOf(n)
			if t == nil || a.Found != NoExecutor || p.in.replied(n) {
				continue
			}
			who := "agent " + strconv.Quote(t.Agent)
			if t.Agent == "" {
				who = "the project's default agent"
			}
			all.add(n, shared{what: who}, ": cannot run "+who, a.Install)
		}
		all.report(p)
	},
}
