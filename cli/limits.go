package cli

import (
	"math"
	"time"

	"github.com/spf13/pflag"

	"github.com/hocket-dev/hocket/workflow"
)

// limitFlags are the flags that bound a whole run.
type limitFlags struct{ limits workflow.Limits }

func (l *limitFlags) add(flags *pflag.FlagSet) {
	flags.Float64Var(&l.limits.CostUSD, "max-cost", 0, "wait before a step that could bring the total cost above `USD`")
	flags.Int64Var(&l.limits.Tokens, "max-tokens", 0, "wait before a step that could bring the total above `N` tokens")
	flags.IntVar(&l.limits.Steps, "max-steps", 0, "end the run before it starts more than `N` tasks")
	flags.IntVar(&l.limits.Parallel, "max-parallel", 0, "run at most `N` attempts at once")
	l.addRuntime(flags)
}

// addToTask adds the limits that apply to a single task.
func (l *limitFlags) addToTask(flags *pflag.FlagSet) {
	flags.Float64Var(&l.limits.CostUSD, "max-cost", 0, "spend at most `USD`")
	flags.Int64Var(&l.limits.Tokens, "max-tokens", 0, "use at most `N` tokens")
	l.addRuntime(flags)
}

// addToPlan adds the limits that apply to all answers of a model that plans.
func (l *limitFlags) addToPlan(flags *pflag.FlagSet) {
	flags.Float64Var(&l.limits.CostUSD, "max-cost", 0, "spend at most `USD` on planning")
	flags.Int64Var(&l.limits.Tokens, "max-tokens", 0, "use at most `N` tokens for planning")
}

func (l *limitFlags) addRuntime(flags *pflag.FlagSet) {
	flags.DurationVar(&l.limits.Runtime, "max-runtime", 0, "end the run after working for `TIME`, such as 90s or 2h")
}

// check rejects limits that are not positive: zero would mean "not set".
func (l *limitFlags) check(flags *pflag.FlagSet) error {
	for _, v := range []struct {
		flag string
		good bool
	}{
		{"max-cost", l.limits.CostUSD > 0 && !math.IsInf(l.limits.CostUSD, 1)},
		{"max-tokens", l.limits.Tokens > 0},
		{"max-steps", l.limits.Steps > 0},
		{"max-parallel", l.limits.Parallel > 0},
		{"max-runtime", l.limits.Runtime >= time.Millisecond},
	} {
		if flags.Changed(v.flag) && !v.good {
			return usagef("omit the flag to use the limit of the workflow or of the run, or the default",
				"invalid --%s %s: expected a limit greater than zero", v.flag, flags.Lookup(v.flag).Value)
		}
	}
	return nil
}
