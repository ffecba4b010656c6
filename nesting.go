package hocket

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// MarkPrograms makes everything that attempts start from now on recognizable as their work, also
// if it hides: it cannot act as a person, and the depth of runs that it starts is known. Call it
// at the start of a program whose only purpose is to run Hocket.
func MarkPrograms() { process.Mark() }

// outerLabel is the label of a run that an attempt of another run started: the id of that run.
const outerLabel = "outer"

// NestedError reports that an attempt of a run cannot start another run: because such runs are
// nested too deeply, or because nothing is left of the budget of the run that it belongs to.
type NestedError struct {
	Depth, Most int    // Most is 0 if the depth is not the reason
	Why         string // otherwise
}

func (e *NestedError) Error() string {
	if e.Most > 0 {
		return fmt.Sprintf("cannot start a run: it would be inside of %d other runs, and at most %d are allowed", e.Depth, e.Most)
	}
	return "cannot start a run inside of another one: " + e.Why
}

// Hint returns what to do about it.
func (e *NestedError) Hint() string {
	if e.Most > 0 {
		return "an agent that runs Hocket may be starting itself; if this is meant, set `max_nesting` in ~/.config/hocket/config.yml"
	}
	return "ask a person to raise the limits of the outer run with `hocket raise`"
}

// CheckNesting returns a *[NestedError] if this process belongs to too many runs inside of each
// other to start another one.
func (p *Project) CheckNesting() error {
	most := p.Config().MaxNesting
	if depth := trust.Depth(); depth >= most {
		return &NestedError{Depth: depth, Most: most}
	}
	return nil
}

// nested holds a run that an attempt of another run starts to what is left of the budget of that
// run, and returns the labels of the new one.
func (p *Project) nested(ctx context.Context, limits workflow.Limits, labels map[string]string) (workflow.Limits, map[string]string, error) {
	if err := p.CheckNesting(); err != nil {
		return limits, labels, err
	}
	state, run, hidden := trust.Outer(os.Environ())
	if hidden {
		return limits, labels, &NestedError{Why: "the outer run cannot be found"}
	}
	if run == "" {
		return limits, labels, nil
	}
	left, err := p.leftOf(ctx, state, run)
	if err != nil {
		return limits, labels, err
	}
	all := map[string]string{outerLabel: run}
	maps.Copy(all, labels)
	return check.Lower(limits, left), all, nil
}

// leftOf returns what is left of the limits of an outer run, after what it and the runs inside of
// it have used.
func (p *Project) leftOf(ctx context.Context, state, run string) (left workflow.Limits, err error) {
	d, err := p.runs()
	if err == nil && state != p.State() {
		var open OpenDriver
		if open, err = p.openDriver(); err == nil {
			if d, err = open(state); err == nil {
				defer d.Close()
			}
		}
	}
	if err != nil {
		return left, err
	}
	s, err := p.handle(d, run).State(ctx)
	if errors.As(err, new(*UnknownRunError)) {
		return left, &NestedError{Why: "there is no run " + run + " in " + state}
	}
	if err != nil {
		return left, err
	}
	used := s.Result.Usage
	inside, err := d.Runs(ctx, driver.Filter{Label: outerLabel})
	if err != nil {
		return left, err
	}
	for _, info := range inside {
		if info.Owner.Labels[outerLabel] == run {
			used.Steps, used.Usage = used.Steps+info.Usage.Steps, used.Plus(info.Usage.Usage)
		}
	}
	left = s.Result.Limits
	for _, of := range []struct {
		name string
		gone bool
	}{
		{"max_steps", spend(&left.Steps, used.Steps)}, {"max_cost_usd", spend(&left.CostUSD, used.CostUSD)}, {"max_tokens", spend(&left.Tokens, used.TokensIn+used.TokensOut)},
	} {
		if of.gone {
			return left, &NestedError{Why: fmt.Sprintf("nothing is left of %s of run %s", of.name, run)}
		}
	}
	left.Depth = 0 // of calls, which start anew
	return left, nil
}

// spend subtracts what was used from a limit, and reports whether nothing is left. Zero means no
// limit.
func spend[N int | int64 | float64](limit *N, used N) (gone bool) {
	if *limit == 0 {
		return false
	}
	*limit -= used
	return *limit <= 0
}
