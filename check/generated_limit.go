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
	},
	node: func(p *pass, n *node) {
		if n.Retry.Attempts > mostAttempts && p.generated(n) { // a retry is not a step, so the limit of steps does not count it
			p.errorf(n.Pos, "retry less often", "%q is tried up to %d times, but at most %d times for what a model wrote", n.ID, n.Retry.Attempts, mostAttempts)
		}
	},
}

// mostAttempts is how often a step may be tried that a model wrote.
const mostAttempts = 3

func exceeds[N cmp.Ordered](c *bundlePass, pos workflow.Pos, name string, has, may N) {
	var none N
	if may != none && (has > may || has == none) {
		c.errorf(pos, "lower it; a person can allow more with `workflows: {ai_generated_budgets: …}` in config.yml", "%s is %s, but at most %s for what a model wrote", name, fmt.Sprint(has), fmt.Sprint(may))
	}
}
