package check

import (
	"cmp"
	"fmt"

	"github.com/hocket-dev/hocket/workflow"
)

var generatedLimit = rule{
	code:     "generated-limit",
	severity: workflow.Error,
	summary:  "a limit is higher than what a workflow that a model wrote may have",
	bundle: func(c *bundlePass) {
		g := c.in.Generated
		if g == nil {
			return
		}
		has, may := c.in.Limits, g.Limits
		pos := c.in.Bundle.Root.Pos
		exceeds(c, pos, "max_steps", has.Steps, may.Steps)
		exceeds(c, pos, "max_parallel", has.Parallel, may.Parallel)
		exceeds(c, pos, "max_runtime_mins", has.Runtime.Minutes(), may.Runtime.Minutes())
		exceeds(c, pos, "max_cost_usd", has.CostUSD, may.CostUSD)
		exceeds(c, pos, "max_tokens", has.Tokens, may.Tokens)
		retries(c, min(has.Steps, cmp.Or(may.Steps, has.Steps)))
	},
}

// retries reports retries that a model wrote with which a run could make more attempts than it may
// have steps: a retry is not a step, so the limit of the run does not count it.
func retries(c *bundlePass, most int) {
	var first *workflow.Node
	c.in.Bundle.Root.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if first == nil && n.Retry.Attempts > 1 && (c.in.Generated.Wrote == nil || c.in.Generated.Wrote(n)) {
			first = n
		}
	})
	if first == nil || most == 0 {
		return
	}
	all := newBounder(c.in, nil).workflow(c.in.Bundle.Root).tries
	if n, known := all.Amount(); !known || n > float64(most) {
		c.errorf(first.Pos, "retry less often, or fewer steps", "with its retries, a run could make %s attempts, but at most %d for what a model wrote", all, most)
	}
}

func exceeds[N cmp.Ordered](c *bundlePass, pos workflow.Pos, name string, has, may N) {
	var none N
	if may != none && (has > may || has == none) {
		c.errorf(pos, "lower it, or let a person raise it under `workflows: {ai_generated_budgets: …}` in config.yml", "%s is %s, but at most %s for what a model wrote", name, fmt.Sprint(has), fmt.Sprint(may))
	}
}
