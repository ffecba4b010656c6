package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// ledger is what one workflow and everything that it calls have used. Every attempt counts in the
// ledger of its own workflow and of all workflows around it.
type ledger struct {
	steps    int           // tasks that have started
	running  int           // attempts that are running
	spent    Usage         // of attempts that have ended
	reserved Usage         // for attempts that are running
	waiting  []*inst       // the tasks that wait for a slot, first in, first out
	since    time.Duration // the run's clock when the workflow began
}

func (f *frame) full() bool { return f.limits.Parallel > 0 && f.running >= f.limits.Parallel }

// mayStart reports whether a task that has not started may do so. If a workflow has used up its
// steps, it ends; if it is exempt, the task waits for the limits of the fork.
func (r *Run) mayStart(in *inst) bool {
	for f := in.scope().frame; f != nil && !in.counted; f = f.around {
		most := f.limits.Steps
		switch {
		case most == 0 || f.steps < most:
		case r.rehearsal != "" && (in.granted || r.version < 2): // the other run had more steps
		case r.exempt(f):
			r.pause(in)
			return false
		default:
			why := fmt.Sprintf("the limit of %d steps was reached", most)
			if r.version >= 2 {
				in.err = why
			}
			r.end(f.scope, Failed, why+" before "+in.address)
			return false
		}
	}
	return true
}

// exempt reports whether the limits of a workflow do not end it: in a rehearsal, the workflows
// around the instance that is held back get the limits of the fork. Others end as they did in the
// other run; before version 3 they did not.
func (r *Run) exempt(f *frame) bool {
	return r.rehearsal != "" && (r.version < 3 || strings.HasPrefix(r.rehearsal, f.prefix))
}

// pause keeps a task from starting until resumeHeld.
func (r *Run) pause(in *inst) {
	in.phase = held
	r.paused = append(r.paused, in)
}

// hold is the limit that holds a task back.
type hold struct {
	f       *frame
	tokens  bool // the limit for tokens, otherwise the one for cost
	unknown bool // the usage of the task is unknown
}

// overBudget returns the limit that the next attempt might exceed, or nil if there is none.
func (r *Run) overBudget(in *inst) *hold {
	if in.granted && r.rehearsal != "" {
		return nil // the other run had raised its limit
	}
	facts := r.factsOf(in)
	for f := in.scope().frame; f != nil; f = f.around {
		left := f.left()
		if known, fits := facts.fit(facts.May.CostUSD, left.CostUSD); !fits && (known || !in.granted) {
			return &hold{f, false, !known}
		}
		if known, fits := facts.fit(facts.May.Tokens, left.Tokens); !fits && (known || !in.granted) {
			return &hold{f, true, !known}
		}
	}
	return nil
}

// left returns what remains of the limits of the workflow.
func (f *frame) left() workflow.Budget { return f.limits.Left(f.spent.Plus(f.reserved)) }

const epsilon = 1e-9 // sums of decimals are not exact

// fit reports whether the usage of an attempt is known, and whether it fits into what is left. An
// attempt that enforces its budget only needs something to be left.
func (t TaskFacts) fit(may, left workflow.Bound) (known, fits bool) {
	rest, limited := left.Amount()
	need, known := may.Amount()
	switch {
	case !limited:
		return true, true
	case t.Keeps:
		return true, rest > epsilon
	default:
		fits = need <= rest+epsilon
		return known || !fits, known && fits // if nothing is left, an unknown usage does not matter
	}
}

// text explains what holds a task back.
func (h *hold) text(facts TaskFacts) string {
	f, usd := h.f, workflow.FormatUSD
	need, known := facts.May.CostUSD.Amount()
	unknown, most, used, reserved, limit := "what it may cost", "cost "+usd(need), usd(f.spent.CostUSD), usd(f.reserved.CostUSD), usd(f.limits.CostUSD)
	if h.tokens {
		_, known = facts.May.Tokens.Amount()
		unknown, most = "how many tokens it may use", "use "+facts.May.Tokens.String()+" tokens"
		used, reserved, limit = fmt.Sprint(f.spent.Tokens()), fmt.Sprint(f.reserved.Tokens()), fmt.Sprintf("%d tokens", f.limits.Tokens)
	}
	if h.unknown {
		return fmt.Sprintf("%s is unknown, and workflow %q has a budget", unknown, f.p.w.Name)
	}
	if f.spent.CostUnknown { // what is not known counts as what it may have been
		used = "up to " + used
	}
	why := "it may " + most
	switch {
	case facts.Keeps:
		why = "nothing is left for it"
	case !known:
		why = unknown + " is unknown"
	}
	return fmt.Sprintf("%s; workflow %q has used %s and reserved %s of %s", why, f.p.w.Name, used, reserved, limit)
}

// factsOf returns what is known about a task before it starts.
func (r *Run) factsOf(in *inst) TaskFacts {
	if known := cmp.Or(in.n.home.facts, r.tasks[in.n.factsKey]); known != nil {
		return *known
	}
	return NoFacts
}

// share returns what an attempt may use: its own bound, or what the limits leave if that is less.
func (r *Run) share(in *inst) workflow.Budget {
	facts := r.factsOf(in)
	may := facts.May
	for f := in.scope().frame; f != nil && facts.Keeps; f = f.around {
		may = may.Lower(f.left())
	}
	return may
}

// reserves returns what is reserved for an attempt.
func (c *StartTask) reserves() Usage {
	usd, _ := c.May.CostUSD.Amount()
	tokens, _ := c.May.Tokens.Amount()
	return Usage{CostUSD: usd, TokensOut: int64(tokens)}
}

// occupy takes a slot and reserves what the attempt may use.
func (r *Run) occupy(in *inst) {
	for f := in.scope().frame; f != nil && !in.counted; f = f.around {
		f.steps++
	}
	in.counted = true
	in.scope().frame.book(1, in.cmd.reserves())
	in.scope().expect(1)
}

// book adds attempts that run, and what is reserved for them, to a workflow and all workflows around it.
func (f *frame) book(attempts int, reserved Usage) {
	for ; f != nil; f = f.around {
		f.running += attempts
		f.reserved = f.reserved.Plus(reserved)
	}
}

// vacate releases the slot and records what the attempt used. An unknown cost counts as the
// amount that was reserved.
func (r *Run) vacate(in *inst, used Usage) {
	delete(r.attempts, in.address)
	r.unawait(in)
	r.lend(in, false)
	if in.unbegun = false; in.resting { // its questions become orphans
		in.resting = false
		r.clock.resting--
	}
	if in.cmd.Timeout > 0 {
		r.clearTimer(in.timerID(timeoutTimer))
	}
	reserved := in.cmd.reserves()
	if used.CostUnknown {
		used.CostUSD = reserved.CostUSD
	}
	in.usage = in.usage.Plus(used)
	in.scope().frame.book(-1, Usage{CostUSD: -reserved.CostUSD, TokensOut: -reserved.TokensOut})
	for f := in.scope().frame; f != nil; f = f.around {
		f.spent = f.spent.Plus(used)
	}
	r.release(in.scope())
}

// seatWaiting starts tasks that waited for a slot in f or around it.
func (r *Run) seatWaiting(f *frame) {
	for ; f != nil; f = f.around {
		for !f.full() && len(f.waiting) > 0 {
			in := f.waiting[0]
			if f.waiting = f.waiting[1:]; in.phase == queued {
				r.admitTask(in)
			}
		}
	}
}

// resumeHeld tries again to start tasks that a limit held back; with grant, also those whose cost
// is unknown.
func (r *Run) resumeHeld(grant bool) {
	waiting := r.paused
	r.paused = nil
	for _, in := range waiting {
		if in.phase != held {
			continue
		}
		in.granted = in.granted || grant
		if r.overBudget(in) != nil {
			r.paused = append(r.paused, in)
			continue
		}
		r.withdraw(in, "", r.ofBudget)
		r.admitTask(in)
	}
}

// limitRaised changes the run's limits.
func (r *Run) limitRaised(ev *LimitRaised) {
	raise(&r.root.frame.limits, ev.Limits, true)
	raiseFor(r.paused, ev.Limits)
	r.note(Fact{Kind: Raised, Text: ev.By})
	// A higher limit of steps does not allow an unknown cost. In version 1 it did.
	r.resumeHeld(r.version < 2 || ev.Limits.CostUSD > 0 || ev.Limits.Tokens > 0)
	r.seatWaiting(r.root.frame)
}

// raiseFor raises the limits of the workflows that hold tasks back, because raising a limit is
// meant to let these tasks start. A workflow without that limit does not get one.
func raiseFor(tasks []*inst, l workflow.Limits) {
	for _, in := range tasks {
		for f := in.scope().frame; f != nil; f = f.around {
			raise(&f.limits, l, true)
		}
	}
}

// lowers returns an error if a raise would lower a limit.
func lowers(l, to workflow.Limits) error {
	for _, x := range []struct {
		name    string
		is, set float64
	}{
		{"max_steps", float64(l.Steps), float64(to.Steps)},
		{"max_parallel", float64(l.Parallel), float64(to.Parallel)},
		{"max_depth", float64(l.Depth), float64(to.Depth)},
		{"max_runtime in seconds", l.Runtime.Seconds(), to.Runtime.Seconds()},
		{"max_cost_usd", l.CostUSD, to.CostUSD},
		{"max_tokens", float64(l.Tokens), float64(to.Tokens)},
	} {
		switch {
		case x.set > 0 && x.is == 0:
			return fmt.Errorf("the run has no %s, so there is nothing to raise", x.name)
		case x.set > 0 && x.set < x.is:
			return fmt.Errorf("%s is already %g; a limit can only be raised", x.name, x.is)
		}
	}
	return nil
}

// raise sets the given limits; with bound, only those that are already limited.
func raise(l *workflow.Limits, to workflow.Limits, bound bool) {
	set(&l.Steps, to.Steps, bound)
	set(&l.Parallel, to.Parallel, bound)
	set(&l.Depth, to.Depth, bound)
	set(&l.Runtime, to.Runtime, bound)
	set(&l.CostUSD, to.CostUSD, bound)
	set(&l.Tokens, to.Tokens, bound)
}

func set[N int | int64 | float64 | time.Duration](limit *N, to N, bound bool) {
	if to > 0 && (!bound || *limit > 0 && *limit < to) {
		*limit = to
	}
}

// clock is the run's own time. It advances only while an attempt runs or a retry is awaited under
// a driver.
type clock struct {
	active  time.Duration
	delays  int      // number of retries that are awaited
	resting int      // number of attempts that wait for a person, a handoff or a machine
	frames  []*frame // running workflows, which may have a limit
}

func (r *Run) busy() bool { return len(r.attempts) > r.clock.resting || r.clock.delays > 0 }

// advance moves both clocks to the time of the event. They never go back. The time before
// Recovered and Forked does not count as the run's own, because no driver was running.
func (r *Run) advance(e Envelope) {
	at := e.Time.Round(0) // the wall clock only, as in a replay
	taken := false
	switch e.Event.(type) {
	case *Started:
		r.began, r.now = at, at
	case *Recovered, *Forked:
		taken = true
	case *TaskEnded, *TimerFired, *Asked, *Answered, *Withdrawn, *HandoffAsked, *Queued, *CancelAsked, *LimitRaised, *Replanned:
	}
	passed := e.Clock - r.elapsed
	if e.Clock == 0 {
		passed = at.Sub(r.now)
	}
	if passed = max(0, passed); r.busy() && !taken {
		r.clock.active += passed
	}
	r.elapsed += passed
	if at.After(r.now) {
		r.now = at
	}
}

// ClockAt returns the time on the run's clock when a process continues the run at a given time.
// The wall clock is used for the time that no process measured.
func (r *Run) ClockAt(now time.Time) time.Duration {
	return r.elapsed + max(0, now.Round(0).Sub(r.now))
}

// watchRuntime keeps one timer set to the time at which the first workflow will exceed its
// runtime. That time does not change while the run is busy, so this costs nothing per step.
func (r *Run) watchRuntime() {
	r.clock.frames = slices.DeleteFunc(r.clock.frames, func(f *frame) bool { return f.scope.closed() })
	due := notYet
	for _, f := range r.clock.frames {
		if most := f.limits.Runtime; most > 0 && r.busy() && (r.version < 3 || !r.exempt(f)) {
			if left := f.since + most - r.clock.active; due == notYet || r.elapsed+left < due {
				due = r.elapsed + left
			}
		}
	}
	t := r.timers[runtimeTimer]
	switch {
	case due == notYet:
		r.clearTimer(runtimeTimer)
	case t == nil || t.Clock != due:
		r.setTimer(runtimeTimer, nil, due-r.elapsed, time.Time{})
	}
}

// runtimeOver ends every workflow that has exceeded its runtime, the outermost first.
func (r *Run) runtimeOver() {
	for _, f := range r.clock.frames {
		if most := f.limits.Runtime; most > 0 && r.clock.active >= f.since+most && !r.exempt(f) {
			r.end(f.scope, TimedOut, fmt.Sprintf("workflow %q ran longer than %s", f.p.w.Name, most))
		}
	}
}
