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
	flags.Float64Var(&l.limits.CostUSD, "max-cost", 0, "pause before a step that could cost more than `USD` in all")
	flags.Int64Var(&l.limits.Tokens, "max-tokens", 0, "pause before a step that could use more than `N` tokens in all")
	flags.IntVar(&l.limits.Steps, "max-steps", 0, "end the run when it would start more than `N` tasks")
	flags.IntVar(&l.limits.Parallel, "max-parallel", 0, "at most `N` attempts at once")
	l.addRuntime(flags)
}

// addToTask adds those that mean something for one task alone.
func (l *limitFlags) addToTask(flags *pflag.FlagSet) {
	flags.Float64Var(&l.limits.CostUSD, "max-cost", 0, "spend at most `USD` on it")
	flags.Int64Var(&l.limits.Tokens, "max-tokens", 0, "use at most `N` tokens for it")
	l.addRuntime(flags)
}

func (l *limitFlags) addRuntime(flags *pflag.FlagSet) {
	flags.DurationVar(&l.limits.Runtime, "max-runtime", 0, "end the run after this `TIME` of work, such as 90s or 2h")
}

// check refuses limits that bound nothing: zero would mean "not set".
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
			return usagef("without the flag, the limit is that of the workflow or of the run, or the default",
				"invalid --%s %s: want a limit above zero", v.flag, flags.Lookup(v.flag).Value)
		}
	}
	return nil
}
