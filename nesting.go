package hocket

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/filelock"
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

// outer is a run whose attempt this process belongs to.
type outer struct {
	id, state string
	d         driver.Driver
}

// nested holds a run that an attempt of another run starts to what is left of the budget of that
// run, and labels it. plan is what the run needs at most, as far as that is known. Until the caller
// has recorded the run and calls done, no other run can start inside of the same one: each reserves
// its limits.
func (p *Project) nested(ctx context.Context, limits *workflow.Limits, labels *map[string]string, plan func() check.Plan) (done func(), err error) {
	if err := p.CheckNesting(); err != nil || trust.Depth() == 0 {
		return func() {}, err
	}
	var ends []func()
	done = func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	o, err := p.outer(ctx, func(end func()) { ends = append(ends, end) })
	if err == nil {
		var lock *filelock.Lock
		if lock, err = filelock.Wait(filepath.Join(o.state, "nested.lock"), 10*time.Second); err == nil {
			ends = append(ends, func() { _ = lock.Release() })
		}
	}
	var left workflow.Limits
	if err == nil {
		left, err = p.leftOf(ctx, o)
	}
	if err != nil {
		done()
		return nil, err
	}
	share(&left, plan())
	*limits = check.Lower(*limits, left)
	all := map[string]string{outerLabel: o.id}
	maps.Copy(all, *labels)
	*labels = all
	return done, nil
}

// outer finds the run that the nearest ancestor of this process drives. What the environment says
// only tells where to look, and which of several runs of one process it is: a step can change it.
// Elsewhere than on Linux, it is all there is.
func (p *Project) outer(ctx context.Context, atEnd func(func())) (*outer, error) {
	line := trust.Lineage()
	held := map[int][]*outer{} // by process
	var states []string
	for _, one := range append([]string{p.State()}, variables(line, process.StateVariable)...) {
		if info, err := os.Stat(one); err == nil && info.IsDir() && !slices.Contains(states, one) {
			states = append(states, one)
		}
	}
	for _, state := range states {
		d, err := p.driverIn(state, atEnd)
		if err != nil {
			return nil, err
		}
		runs, err := d.Runs(ctx, driver.Filter{Status: []engine.Status{engine.Running, engine.Waiting}})
		if err != nil {
			return nil, err
		}
		for _, info := range runs {
			pid := info.Holder.PID
			if runtime.GOOS != "linux" {
				pid = line[0].PID // the ancestors are not known
			}
			if info.Driven {
				held[pid] = append(held[pid], &outer{info.ID, state, d})
			}
		}
	}
	known := runtime.GOOS == "linux"
	for i := range line {
		if known && i == 0 {
			continue // its own runs are not around it
		}
		own := held[line[i].PID]
		if len(own) > 1 || !known {
			named := variables(line[:max(i, 1)], "HOCKET_RUN")
			own = slices.DeleteFunc(own, func(o *outer) bool { return len(named) == 0 || o.id != named[len(named)-1] })
		}
		if len(own) == 1 {
			return own[0], nil
		}
	}
	return nil, &NestedError{Why: "the outer run cannot be found"}
}

// variables returns the values of an environment variable in processes that have it.
func variables(of []trust.Process, name string) (all []string) {
	for _, one := range of {
		if value := one.Variable(name); value != "" {
			all = append(all, value)
		}
	}
	return all
}

// driverIn returns the driver of a state directory, which may belong to another project.
func (p *Project) driverIn(state string, atEnd func(func())) (driver.Driver, error) {
	if state == p.State() {
		return p.runs()
	}
	open, err := p.openDriver()
	if err != nil {
		return nil, err
	}
	d, err := open(state)
	if err == nil {
		atEnd(func() { _ = d.Close() })
	}
	return d, err
}

// leftOf returns what is left of the limits of an outer run, after what it has used, and what the
// runs inside of it have used or, until they are over, may use.
func (p *Project) leftOf(ctx context.Context, o *outer) (left workflow.Limits, err error) {
	s, err := p.handle(o.d, o.id).State(ctx)
	if err != nil {
		return left, err
	}
	left = s.Result.Limits
	gone := spend(&left, s.Result.Usage, workflow.Limits{})
	inside, err := o.d.Runs(ctx, driver.Filter{Label: outerLabel})
	if err != nil {
		return left, err
	}
	for _, info := range inside {
		if info.Owner.Labels[outerLabel] != o.id {
			continue
		}
		var reserved workflow.Limits
		if !info.Status.Done() {
			inner, err := p.handle(o.d, info.ID).State(ctx)
			if err != nil {
				return left, err
			}
			reserved = inner.Result.Limits
		}
		gone = cmp.Or(spend(&left, info.Usage, reserved), gone)
	}
	if gone != "" {
		return left, &NestedError{Why: fmt.Sprintf("nothing is left of %s of run %s that other runs inside of it have not reserved", gone, o.id)}
	}
	left.Depth = 0 // of calls, which start anew
	return left, nil
}

// spend subtracts what a run has used, or reserved if that is more, and returns the name of a limit
// of which nothing is left. Zero means no limit, and stays zero.
func spend(left *workflow.Limits, used engine.RunUsage, reserved workflow.Limits) (gone string) {
	return cmp.Or(
		spendOne("max_steps", &left.Steps, max(used.Steps, reserved.Steps)),
		spendOne("max_cost_usd", &left.CostUSD, max(used.CostUSD, reserved.CostUSD)),
		spendOne("max_tokens", &left.Tokens, max(used.Tokens(), reserved.Tokens)))
}

func spendOne[N int | int64 | float64](name string, limit *N, used N) (gone string) {
	if *limit == 0 {
		return ""
	}
	if *limit -= used; *limit <= 0 {
		*limit = -1 // gone, and not unlimited
		return name
	}
	return ""
}

// share lowers what is left to what a run gets of it: half, so that others can start beside it, or
// what it needs at most if that is more.
func share(left *workflow.Limits, plan check.Plan) {
	shareOne(&left.Steps, plan.Steps, 1)
	shareOne(&left.CostUSD, plan.CostUSD, 0)
	shareOne(&left.Tokens, plan.Tokens, 1)
}

func shareOne[N int | int64 | float64](left *N, most workflow.Bound, rounding N) {
	need, _ := most.Amount()
	*left = min(*left, max(N(need), (*left+rounding)/2))
}
