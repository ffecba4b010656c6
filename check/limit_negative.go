package check

import "github.com/hocket-dev/hocket/workflow"

var limitNegative = rule{
	code:     "limit-negative",
	severity: workflow.Error,
	summary:  "a limit, a time or a count is negative",
	workflow: func(p *pass) {
		l := p.w.Limits
		for _, field := range []struct {
			name     string
			negative bool
		}{
			{"max_steps", l.Steps < 0},
			{"max_parallel", l.Parallel < 0},
			{"max_depth", l.Depth < 0},
			{"max_runtime", l.Runtime < 0},
			{"max_cost_usd", l.CostUSD < 0},
			{"max_tokens", l.Tokens < 0},
			{"replans", l.Replans < 0},
		} {
			if field.negative {
				p.errorf(p.w.Pos, "leave it out to use the project's limit", "limit %s is negative", field.name)
			}
		}
	},
	node: func(p *pass, n *node) {
		var handoffs workflow.Handoffs
		if t, ok := n.Step.(*workflow.Task); ok && t.Handoffs != nil {
			handoffs = *t.Handoffs
		}
		for _, field := range []struct {
			name     string
			negative bool
		}{
			{"timeout", n.Timeout < 0},
			{"retry attempts", n.Retry.Attempts < 0},
			{"retry delay", n.Retry.Delay < 0},
			{"retry max_delay", n.Retry.MaxDelay < 0},
			{"join", n.Join.Need < 0},
			{"max", n.bound() < 0},
			{"handoffs max", handoffs.Max < 0},
			{"handoffs depth", handoffs.Depth < 0},
		} {
			if field.negative {
				p.errorf(n.Pos, "write zero or more", "%s of %q is negative", field.name, n.ID)
			}
		}
	},
}

// bound returns the max of a loop, or the parallel limit of an Each.
func (n *node) bound() int {
	switch s := n.Step.(type) {
	case *workflow.Loop:
		return s.Max
	case *workflow.Each:
		return s.Parallel
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
	}
	return 0
}
