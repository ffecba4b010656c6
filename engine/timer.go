package engine

import (
	"strconv"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// timer is a SetTimer that has not fired.
type timer struct {
	SetTimer
	in     *inst // nil for the run's own
	issued int32
}

// The timers of an instance, and the timer of the run.
const (
	timeoutTimer = "timeout" // of an attempt or a call
	retryTimer   = "retry"   // the next attempt is due
	answerTimer  = "answer"  // a person took too long
	runtimeTimer = "runtime"
)

func (in *inst) timerID(what string) string {
	if what == answerTimer || in.attempt == 0 {
		return what + " " + in.address
	}
	return what + " " + in.address + "@" + strconv.Itoa(int(in.attempt))
}

// setTimer sets a timer that fires after a duration, or at a time if it is given.
func (r *Run) setTimer(id string, in *inst, after time.Duration, at time.Time) {
	r.issued++
	t := &timer{SetTimer{ID: id, At: at}, in, r.issued}
	if at.IsZero() {
		t.Clock = r.elapsed + after
	}
	r.timers[id] = t
	r.command(&t.SetTimer)
}

func (r *Run) clearTimer(id string) {
	t := r.timers[id]
	if t == nil {
		return
	}
	r.dropTimer(id, t)
	r.command(&CancelTimer{ID: id})
}

func (r *Run) dropTimer(id string, t *timer) {
	delete(r.timers, id)
	if t.in != nil && t.in.phase == delayed {
		r.clock.delays--
	}
}

func (r *Run) timerFired(ev *TimerFired) {
	t := r.timers[ev.ID]
	r.dropTimer(ev.ID, t)
	if t.in == nil {
		r.runtimeOver()
		return
	}
	in := t.in
	switch in.phase {
	case delayed, parked:
		r.admitTask(in)
	case running:
		in.expired = true
		r.withdraw(in, "its attempt has timed out", (*question).asks)
		r.command(&CancelTask{Address: in.address, Attempt: int(in.attempt)})
	case asked:
		r.unanswered(in)
	case nested:
		r.end(in.child, TimedOut, "took longer than "+in.n.def.Timeout.String())
	case queued, held, stopping, finished:
	}
}

// Due returns the time on the wall clock at which the next timer is due, or zero if there is
// none.
func (r *Run) Due() (first time.Time) {
	for _, t := range r.timers {
		at := t.At
		if at.IsZero() {
			at = r.now.Add(t.Clock - r.elapsed)
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// unanswered fails a question that was not answered in time.
func (r *Run) unanswered(in *inst) {
	r.fail(in, &Fault{Kind: FaultTimeout, Message: "nobody answered in " + gateTimeout(in.n).String()})
}

// gateTimeout returns how long a question stays open.
func gateTimeout(n *node) time.Duration {
	if _, human := n.does.(*workflow.Human); human && n.def.Timeout > 0 {
		return n.def.Timeout
	}
	return 24 * time.Hour
}
