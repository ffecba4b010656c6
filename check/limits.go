package check

import (
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Defaults returns the limits of a run that sets none. Cost and tokens are not limited.
func Defaults() workflow.Limits {
	return workflow.Limits{Steps: 100, Parallel: 10, Depth: 5, Runtime: 30 * time.Minute}
}

// WithDefaults fills in the limits that are not set.
func WithDefaults(l workflow.Limits) workflow.Limits { return Override(Defaults(), l) }

// Override returns base with every limit that over sets.
func Override(base, over workflow.Limits) workflow.Limits {
	if over.Steps != 0 {
		base.Steps = over.Steps
	}
	if over.Parallel != 0 {
		base.Parallel = over.Parallel
	}
	if over.Depth != 0 {
		base.Depth = over.Depth
	}
	if over.Runtime != 0 {
		base.Runtime = over.Runtime
	}
	if over.CostUSD != 0 {
		base.CostUSD = over.CostUSD
	}
	if over.Tokens != 0 {
		base.Tokens = over.Tokens
	}
	if over.Replans != 0 {
		base.Replans = over.Replans
	}
	return base
}

// Lower returns the lower of two limits, field by field. Zero means that one is not limited.
func Lower(a, b workflow.Limits) workflow.Limits {
	replans := a.Replans // zero is not unlimited here
	if b.MaxReplans() < a.MaxReplans() {
		replans = b.Replans
	}
	return workflow.Limits{
		Steps: lower(a.Steps, b.Steps), Parallel: lower(a.Parallel, b.Parallel), Depth: lower(a.Depth, b.Depth),
		Runtime: lower(a.Runtime, b.Runtime), CostUSD: lower(a.CostUSD, b.CostUSD), Tokens: lower(a.Tokens, b.Tokens),
		Replans: replans,
	}
}

func lower[N int | int64 | float64 | time.Duration](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
