package check

import "github.com/hocket-dev/hocket/workflow"

var budgetExceeded = rule{
	code:     "budget-exceeded",
	severity: workflow.Error,
	summary:  "a run exceeds, or may exceed, its limits",
	bundle: func(c *bundlePass) {
		indexes := make(map[*workflow.Workflow]*index)
		for _, p := range c.order {
			indexes[p.w] = p.index
		}
		sum := newBounder(c.in, indexes)
		for i, p := range c.order {
			limits, steps := p.w.Limits, sum
			if i == 0 {
				limits = c.in.Limits
				if limits.Steps == Defaults().Steps { // do not warn that one default exceeds another
					steps = newBounder(c.in, indexes)
					steps.written = true
				}
			}
			c.budget(p, sum, steps, limits, i == 0)
		}
	},
}

// budget compares the totals of a workflow with its limits. Only the number of steps that every
// run starts is certain, so only that is an error: upper bounds add up branches that exclude each
// other. In a called workflow it is a warning, because its caller may handle the failure. Each is
// reported at the step that exceeds the limit. tasks are the totals that are compared with the
// limit of steps.
func (c *bundlePass) budget(p *pass, sum, tasks *bounder, limits workflow.Limits, isRoot bool) {
	report := c.warnf
	if isRoot {
		report = c.errorf
	}
	raise := func(limit string) string {
		if isRoot && c.in.Generated != nil {
			return "a person can allow more with `workflows: {ai_generated_budgets: …}` in config.yml"
		}
		return "raise " + limit
	}
	t, steps, most := sum.workflow(p.w), limits.Steps, limits.Budget()
	certain := func(t totals) bool { return steps > 0 && t.least > steps }
	possible := func(t totals) bool { return over(t.steps, atMost(workflow.NoBound, steps)) }
	costly := func(t totals) bool { return over(t.uses.CostUSD, most.CostUSD) }
	wordy := func(t totals) bool { return over(t.uses.Tokens, most.Tokens) }
	switch {
	case certain(t):
		report(sum.passes(p, certain), "this step exceeds the limit; "+raise("max_steps")+", or split the workflow", "every run starts %d tasks, but max_steps is %d", t.least, steps)
	case possible(tasks.workflow(p.w)):
		c.warnf(tasks.passes(p, possible), "this step may exceed the limit; lower the max of loops, or "+raise("max_steps"), "a run may start %v tasks, but max_steps is %d", t.steps, steps)
	}
	const lower = "this step may exceed the limit; lower the budgets of agents or the max of loops, or "
	if usd, _ := t.uses.CostUSD.Amount(); costly(t) {
		c.warnf(sum.passes(p, costly), lower+raise("max_cost_usd"), "a run may cost %s, but max_cost_usd is %s", workflow.FormatUSD(usd), workflow.FormatUSD(limits.CostUSD))
	}
	if wordy(t) {
		c.warnf(sum.passes(p, wordy), lower+raise("max_tokens"), "a run may use %v tokens, but max_tokens is %d", t.uses.Tokens, limits.Tokens)
	}
}

// over reports whether a bound is known and above a limit.
func over(b, limit workflow.Bound) bool {
	n, ok := b.Amount()
	return ok && limit.Exceeded(n)
}

// passes returns the position of the first step at which a workflow exceeds a limit, in the order
// in which steps may run.
func (b *bounder) passes(p *pass, tooMuch func(totals) bool) workflow.Pos {
	t := nothing
	s := p.index.root
	certain := s.certain()
	for _, n := range s.inOrder() {
		if t = t.plus(b.node(p.w, n), certain[n.order]); tooMuch(t) {
			return p.place(n.Pos)
		}
	}
	return p.w.Pos
}
