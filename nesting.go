package hocket

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	Spent       bool   // the reason is the budget
}

func (e *NestedError) Error() string {
	if e.lowered() {
		return "cannot start a run: the hard limit of file locks of this process is so low that a step may have set it to hide, so it is not known how many runs this process is inside of"
	}
	if e.Most > 0 {
		return fmt.Sprintf("cannot start a run: it would be inside of %d other runs, and at most %d are allowed", e.Depth, e.Most)
	}
	return "cannot start a run inside of another one: " + e.Why
}

// Hint returns what to do about it; "" if that is not known.
func (e *NestedError) Hint() string {
	if e.lowered() {
		return "start it in a session without that limit, which `ulimit -Hx` shows"
	}
	if e.Most > 0 {
		return "an agent that runs Hocket may be starting itself; if this is meant, set `max_nesting` in ~/.config/hocket/config.yml"
	}
	if e.Spent {
		return "ask a person to raise the limits of the outer run with `hocket raise`"
	}
	return ""
}

// lowered reports whether the mark of this process tells nothing any more.
func (e *NestedError) lowered() bool { return e.Most > 0 && e.Depth == process.Lowered }

// CheckNesting returns a *[NestedError] if this process belongs to too many runs inside of each
// other to start another one.
func (p *Project) CheckNesting() error { return p.checkDepth(trust.Depth()) }

func (p *Project) checkDepth(depth int) error {
	if most := p.Config().MaxNesting; depth >= most {
		return &NestedError{Depth: depth, Most: most}
	}
	return nil
}

// place is where a project stores its runs.
type place struct {
	state string
	d     driver.Driver
}

// outer is a run whose attempt this process belongs to.
type outer struct {
	place
	id     string
	pid    int    // of the process that drives it
	around string // the run that it is inside of itself; "": none
}

// nested holds a run that an attempt of another run starts to what is left of the budget of that
// run, and labels it. plan is what the run needs at most, as far as that is known. Until the caller
// has recorded the run and calls done, no other run can start inside of the same one: each reserves
// its limits.
func (p *Project) nested(ctx context.Context, limits *workflow.Limits, labels *map[string]string, plan func() check.Plan) (done func(), err error) {
	depth := trust.Depth() // which reads about every process above this one
	if err := p.checkDepth(depth); err != nil || depth == 0 {
		return func() {}, err
	}
	var ends []func()
	done = func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	atEnd := func(end func()) { ends = append(ends, end) }
	o, err := p.outer(ctx, atEnd)
	if err != nil || o == nil {
		return done, err
	}
	lock, err := filelock.Wait(filepath.Join(o.state, "nested.lock"), 10*time.Second)
	if err != nil {
		return done, err
	}
	atEnd(func() { _ = lock.Release() })
	id, err := p.reserveInside(ctx, o, limits, plan(), atEnd)
	if err != nil {
		return done, err
	}
	all := maps.Clone(*labels)
	if all == nil {
		all = map[string]string{}
	}
	all[outerLabel], all[reservationLabel] = o.id, id
	*labels = all
	return done, nil
}

// reserveInside lowers limits to what a new run inside of an outer one may use, and reserves that, also on other machines.
func (p *Project) reserveInside(ctx context.Context, o *outer, limits *workflow.Limits, plan check.Plan, atEnd func(func())) (id string, err error) {
	const tries = 20
	for range tries {
		all, err := o.reserved(ctx, o.id)
		if err != nil {
			return "", err
		}
		share, err := p.shareOf(ctx, o, all, plan, atEnd)
		if err != nil {
			return "", err
		}
		lower := check.Lower(*limits, share)
		one := reservation{o.id, rand.Text(), p.State(), amounts(lower.Steps, lower.CostUSD, lower.Tokens)}
		if err = o.reserve(ctx, one, len(all)); !errors.Is(err, fs.ErrExist) {
			*limits = lower
			return one.ID, err
		}
	}
	return "", &NestedError{Why: fmt.Sprintf("other machines keep starting runs inside of run %s, so its limits could not be shared: try again", o.id)}
}

// reservation is what a run inside of another one may use. It is stored beside the outer run, in a file or where all workers find it,
// before the inner run is recorded, and stays there: deleting the inner run gives nothing back.
type reservation struct {
	Outer  string     `json:"outer"` // the run
	ID     string     `json:"id"`    // the label of the inner run
	State  string     `json:"state"` // where the inner run is stored
	Limits [3]float64 `json:"limits"`
}

// reservationLabel is the label of a run inside of another one: the id of its reservation.
const reservationLabel = "reserved"

func (at place) reservations() string { return filepath.Join(at.state, "nested") }

// reserve adds a reservation after so many others. The caller holds the lock, which keeps only processes of this machine out.
func (o *outer) reserve(ctx context.Context, r reservation, after int) error {
	if w, ok := o.d.(driver.Workers); ok {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		return w.Reserve(ctx, o.id, after, text)
	}
	f, err := os.OpenFile(o.reservations(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(r), f.Sync(), f.Close())
}

// reserved returns the reservations inside of a run of a place.
func (at place) reserved(ctx context.Context, run string) (all []reservation, err error) {
	if w, ok := at.d.(driver.Workers); ok {
		texts, err := w.Reserved(ctx, run)
		for _, text := range texts {
			var r reservation
			err = errors.Join(err, json.Unmarshal(text, &r))
			all = append(all, r)
		}
		return all, err
	}
	f, err := os.Open(at.reservations())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for dec := json.NewDecoder(f); ; {
		var r reservation
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("hocket: %s: %w", at.reservations(), err)
		}
		if r.Outer == run {
			all = append(all, r)
		}
	}
}

// outer finds the run that the nearest ancestor of this process drives. If that drives several, it has
// noted which one the program below it works for, as every worker does. What the environment says only tells where to look: a
// step can change it. Elsewhere than on Linux, it is all there is. A process that drives runs already belongs where they do;
// nil means that this is nowhere.
func (p *Project) outer(ctx context.Context, atEnd func(func())) (*outer, error) {
	line := trust.Lineage()
	places, err := p.places(append(variables(line, process.StateVariable), p.State()), atEnd)
	if err != nil {
		return nil, err
	}
	driven, err := drivenIn(ctx, places)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" {
		if names := variables(line, process.RunVariable); len(names) > 0 {
			return p.outerOf(ctx, names[len(names)-1], driven, places) // of the process that the driver started
		}
		return nil, errNoOuter
	}
	for i, above := range line {
		own := slices.DeleteFunc(slices.Clone(driven), func(o *outer) bool { return o.pid != above.PID })
		switch {
		case i == 0 && len(own) > 0:
			return p.outerIn(ctx, own[0].around, places)
		case i == 0:
		case len(own) == 1:
			return own[0], nil
		default:
			for _, at := range places {
				if o, err := p.outerOf(ctx, process.RunOf(at.state, line[i-1].PID), own, []place{at}); o != nil || !errors.Is(err, errNoOuter) {
					return o, err
				}
			}
		}
	}
	return nil, errNoOuter
}

var errNoOuter = &NestedError{Why: "the outer run cannot be found"}

// drivenIn returns the runs that processes drive.
func drivenIn(ctx context.Context, places []place) (driven []*outer, err error) {
	for _, at := range places {
		if at.isWorkers() {
			continue
		}
		runs, err := at.d.Runs(ctx, driver.Filter{Status: []engine.Status{engine.Running, engine.Waiting}})
		if err != nil {
			return nil, err
		}
		for _, info := range runs {
			if info.Driven {
				driven = append(driven, &outer{at, info.ID, info.Holder.PID, info.Owner.Labels[outerLabel]})
			}
		}
	}
	return driven, nil
}

func (at place) isWorkers() bool {
	_, ok := at.d.(driver.Workers)
	return ok
}

// outerOf finds the run that a program works for: one of those that a process drives, or one of workers.
func (p *Project) outerOf(ctx context.Context, run string, driven []*outer, places []place) (*outer, error) {
	if run == "" {
		return nil, errNoOuter
	}
	for _, o := range driven {
		if o.id == run && slices.ContainsFunc(places, func(at place) bool { return at.state == o.state }) {
			return o, nil
		}
	}
	return p.outerIn(ctx, run, slices.DeleteFunc(slices.Clone(places), func(at place) bool { return !at.isWorkers() }))
}

// outerIn finds an outer run, which may be over.
func (p *Project) outerIn(ctx context.Context, run string, places []place) (*outer, error) {
	if run == "" {
		return nil, nil
	}
	for _, at := range places {
		if _, err := p.handle(at.d, run).Info(ctx); err == nil {
			return &outer{place: at, id: run}, nil
		}
	}
	return nil, errNoOuter
}

// places opens state directories that exist, which may belong to other projects.
func (p *Project) places(states []string, atEnd func(func())) (all []place, err error) {
	for _, state := range states {
		if info, err := os.Stat(state); err != nil || !info.IsDir() || slices.ContainsFunc(all, func(at place) bool { return at.state == state }) {
			continue
		}
		at := place{state: state}
		if state == p.State() {
			at.d, err = p.runs()
		} else if at.d, err = p.openElsewhere(state); err == nil {
			atEnd(func() { _ = at.d.Close() })
		}
		if err != nil {
			return nil, err
		}
		all = append(all, at)
	}
	return all, nil
}

func (p *Project) openElsewhere(state string) (driver.Driver, error) {
	p.opened.Lock()
	defer p.opened.Unlock()
	return p.openDriver(state, false)
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

// budgets are the limits that runs inside of a run share, and how much of each cannot be divided.
var budgets = [3]struct {
	name string
	unit float64
}{{"max_steps", 1}, {"max_cost_usd", 0}, {"max_tokens", 1}}

func amounts(steps int, usd float64, tokens int64) [3]float64 {
	return [3]float64{float64(steps), usd, float64(tokens)}
}

// shareOf returns the limits of a new run inside of an outer one: half of what is left, so that others can
// start beside it, or what its plan needs at most if that is more.
func (p *Project) shareOf(ctx context.Context, o *outer, reserved []reservation, plan check.Plan, atEnd func(func())) (workflow.Limits, error) {
	s, err := p.handle(o.d, o.id).State(ctx)
	if err != nil {
		return workflow.Limits{}, err
	}
	limits := s.Result.Limits
	used, err := p.usedBy(ctx, o.place, reserved, atEnd)
	if err != nil {
		return limits, err
	}
	own := amounts(s.Result.Usage.Steps, s.Result.Usage.CostUSD, s.Result.Usage.Tokens())
	left := amounts(limits.Steps, limits.CostUSD, limits.Tokens)
	for i, need := range []workflow.Bound{plan.Steps, plan.CostUSD, plan.Tokens} {
		if left[i] == 0 {
			continue // no limit
		}
		if left[i] -= own[i] + used[i]; left[i] <= 0 {
			return limits, &NestedError{Spent: true, Why: fmt.Sprintf("nothing is left of %s of run %s that other runs inside of it have not reserved", budgets[i].name, o.id)}
		}
		most, _ := need.Amount()
		left[i] = min(left[i], max(most, (left[i]+budgets[i].unit)/2))
	}
	return workflow.Limits{Steps: int(left[0]), CostUSD: left[1], Tokens: int64(left[2]), Parallel: limits.Parallel, Runtime: limits.Runtime}, nil
}

// usedBy returns what runs of the project inside of one of a place, and those inside of them, have used or, until they are over, may use. A run
// that does not exist any more counts with all that it was allowed.
func (p *Project) usedBy(ctx context.Context, around place, all []reservation, atEnd func(func())) (sum [3]float64, err error) {
	for _, r := range all {
		amount, err := p.usedOf(ctx, around, r, atEnd)
		if err != nil {
			return sum, err
		}
		for i := range sum {
			sum[i] += amount[i]
		}
	}
	return sum, nil
}

func (p *Project) usedOf(ctx context.Context, around place, r reservation, atEnd func(func())) (sum [3]float64, err error) {
	at := around
	if _, ok := at.d.(driver.Workers); !ok { // otherwise they are in the same place, whatever its directory here
		places, err := p.places([]string{r.State}, atEnd)
		if err != nil || len(places) == 0 {
			return r.Limits, err
		}
		at = places[0]
	}
	runs, err := at.d.Runs(ctx, driver.Filter{Label: reservationLabel})
	if err != nil {
		return sum, err
	}
	i := slices.IndexFunc(runs, func(i Info) bool { return i.Owner.Labels[reservationLabel] == r.ID })
	if i < 0 || !runs[i].Status.Done() {
		return r.Limits, nil
	}
	inside, err := at.reserved(ctx, runs[i].ID)
	if err == nil {
		sum, err = p.usedBy(ctx, at, inside, atEnd)
	}
	used := runs[i].Usage
	for i, n := range amounts(used.Steps, used.CostUSD, used.Tokens()) {
		sum[i] += n
	}
	return sum, err
}
