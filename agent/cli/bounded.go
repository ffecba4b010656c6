package cli

import "github.com/hocket-dev/hocket/agent"

var _ agent.Bounded = (*Executor)(nil)

// Unbounded says that the CLI has no option for a budget. One that only tells what it
// used is ended when that is too much, and then it is.
func (x *Executor) Unbounded(task *agent.Task, most agent.Budget) string {
	allowed, problems := x.m().permit(task.Agent.Permissions)
	switch {
	case len(problems) > 0:
		return "" // the attempt says so
	case most.MaxTokens > 0:
		return x.m().Name + " has no bound on tokens"
	case most.MaxCostUSD > 0 && !x.m().tells("max_cost_usd", x.m().talks(allowed.mode)):
		return x.m().Name + " has no bound on its cost"
	}
	return ""
}
