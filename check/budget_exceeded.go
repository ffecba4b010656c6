package check

import "github.com/hocket-dev/hocket/workflow"

var budgetExceeded = rule{
	code:     "budget-exceeded",
	severity: workflow.Error,
	summary:  "a run does, or may do, more than its limits allow",
	bundle: func(c *bundlePass) {
		indexes := make(map[*workflow.Workflow]*index)
		for _, p := range c.order {
			indexes[p.w] = p.index
		}
		sum := newBounder(c.in, indexes)
		for i, p := range c.order {
			limits := p.w.Limits
			if i == 0 {
				limits = c.in.Limits
			}
			c.budget(p, sum.workflow(p.w), limits, i == 0)
		}
	},
}

// budget compares what a workflow may do with its limits. Only the number of
// steps that every run starts is certain, so only that is an error: what a run
// may do at most adds up branches that exclude each other. A called workflow that
// is stopped by its limits is a failure that its caller may look after, so there
// it is a warning.
func (c *bundlePass) budget(p *pass, t totals, limits workflow.Limits, isRoot bool) {
	report := c.warnf
	if isRoot {
		report = c.errorf
	}
	const raise = "lower max of its loops, or raise the limit"
	switch steps := int64(limits.Steps); {
	case steps > 0 && t.least > steps:
		report(p.w.Pos, "raise max_steps, or split the workflow", "every run starts %d tasks, but max_steps is %d", t.least, steps)
	case t.steps.Over(steps):
		c.warnf(p.w.Pos, raise, "a run may start %d tasks, but max_steps is %d", t.steps.N, steps)
	}
	if limits.CostUSD > 0 && !t.usdOpen && t.usd > limits.CostUSD {
		c.warnf(p.w.Pos, raise, "a run may cost %s, but max_cost_usd is %s", workflow.FormatUSD(t.usd), workflow.FormatUSD(limits.CostUSD))
	}
	if t.tokens.Over(limits.Tokens) {
		c.warnf(p.w.Pos, raise, "a run may use %d tokens, but max_tokens is %d", t.tokens.N, limits.Tokens)
	}
}
