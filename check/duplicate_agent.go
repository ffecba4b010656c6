package check

import "github.com/hocket-dev/hocket/workflow"

var duplicateAgent = rule{
	code:     "duplicate-agent",
	severity: workflow.Error,
	summary:  "the list of agents names an agent twice",
	workflow: func(p *pass) {
		seen := make(map[string]bool)
		for _, a := range p.w.Agents {
			if seen[a.Name] {
				p.errorf(a.Pos, "remove one of the two", "agent %q is listed twice", a.Name)
			}
			seen[a.Name] = true
		}
	},
}
