package check_test

import (
	"testing"
	"time"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/workflow"
)

// Zero means no limit, so any other limit is lower, and it overrides nothing.
func TestLimitsAreCombined(t *testing.T) {
	one := workflow.Limits{Steps: 1, Parallel: 1, Depth: 1, Runtime: 1, CostUSD: 1, Tokens: 1}
	five := workflow.Limits{Steps: 5, Parallel: 5, Depth: 5, Runtime: 5 * time.Second, CostUSD: 5, Tokens: 5}
	var none workflow.Limits
	for _, c := range []struct{ a, b, lower, override workflow.Limits }{
		{one, five, one, five}, {five, one, one, one}, {one, none, one, one}, {none, one, one, one}, {none, none, none, none}, {five, five, five, five},
	} {
		if got := check.Lower(c.a, c.b); got != c.lower {
			t.Errorf("the lower of %+v and %+v is %+v", c.a, c.b, got)
		}
		if got := check.Override(c.a, c.b); got != c.override {
			t.Errorf("%+v overridden by %+v is %+v", c.a, c.b, got)
		}
	}
}
