package cli

import (
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// unbounded reports that the CLI has no option for a budget. A CLI that only reports its
// usage is stopped when that exceeds the budget, which is too late.
func (x *Executor) unbounded(task *agent.Task, most workflow.Budget) string {
	_, tokens := most.Tokens.Amount()
	_, cost := most.CostUSD.Amount()
	allowed, problems := x.m().permit(task.Agent.Permissions)
	switch {
	case len(problems) > 0:
		return "" // the attempt reports it
	case tokens:
		return x.m().Name + " does not support a token limit"
	case cost && !x.m().tells("max_cost_usd", x.m().talks(allowed.mode)):
		return x.m().Name + " does not support a cost limit"
	}
	return ""
}
