package check

import (
	"strconv"

	"github.com/hocket-dev/hocket/workflow"
)

var agentNoExecutor = rule{
	code:     "agent-no-executor",
	severity: workflow.Error,
	summary:  "an agent is defined, but nothing here can carry it out",
	node: func(p *pass, n *node) {
		if t, a := p.agentOf(n); t != nil && a.Found == NoExecutor && !p.in.replied(n) {
			who := "agent " + strconv.Quote(t.Agent)
			if t.Agent == "" {
				who = "the project's default agent"
			}
			p.errorf(agentPos(n), a.Install, "cannot run %s", who)
		}
	},
}
