package oracle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

type mtimer struct {
	in    *minst // nil for the run time
	clock time.Duration
	at    time.Time
	least time.Duration // the earliest time that jitter allows; 0 means exactly clock
}

func (in *minst) timer(what string) string {
	if what == "answer" {
		return what + " " + in.address
	}
	return fmt.Sprintf("%s %s@%d", what, in.address, in.attempt)
}

func (m *Model) setTimer(in *minst, what string, t mtimer) {
	t.in = in
	m.timers[in.timer(what)] = t
}

func (m *Model) clearTimers(in *minst) {
	maps.DeleteFunc(m.timers, func(_ string, t mtimer) bool { return t.in == in })
}

// busy reports whether the clock of the run time runs: an attempt is running and not
// waiting for a person, or a retry is pending.
func (m *Model) busy() bool {
	return slices.ContainsFunc(m.insts, func(in *minst) bool { return in.phase == "delayed" }) ||
		slices.ContainsFunc(m.attempts, func(in *minst) bool { return !in.waits() })
}

// waits reports whether an attempt only waits for a person, for what it handed off, or for a machine.
func (in *minst) waits() bool {
	return in.phase == "running" && !in.expired && (in.unbegun || in.awaits() || slices.ContainsFunc(in.questions, (*mquestion).waitedFor))
}

func (q *mquestion) waitedFor() bool { return q.kind == engine.PermissionQuestion && !q.orphaned }

// rest stops the timeout of an attempt that waits for a person, and restarts it
// afterwards.
func (m *Model) rest(in *minst) {
	id := in.timer("timeout")
	t, set := m.timers[id]
	switch {
	case in.waits() && set:
		in.left = t.clock - m.clock
		delete(m.timers, id)
	case !in.waits() && in.left > 0 && in.phase == "running" && !in.expired:
		m.setTimer(in, "timeout", mtimer{clock: m.clock + in.left})
		in.left = 0
	}
}

// runtimeDue returns when the first workflow will exceed its run time.
func (m *Model) runtimeDue() (due time.Duration, ok bool) {
	for _, f := range m.frames {
		if f.limits.Runtime > 0 && m.busy() && !f.scope.over && f.scope.ending == "" {
			if at := m.clock + f.since + f.limits.Runtime - m.active; !ok || at < due {
				due, ok = at, true
			}
		}
	}
	return due, ok
}

func (m *Model) fired(id string) {
	if id == "runtime" {
		for _, f := range m.frames {
			if f.limits.Runtime > 0 && m.active >= f.since+f.limits.Runtime && !f.scope.over {
				m.end(f.scope, engine.TimedOut, "runtime")
			}
		}
		return
	}
	t, ok := m.timers[id]
	if !ok {
		m.wrong("the timer %q fired, but is not set", id)
		return
	}
	delete(m.timers, id)
	in := t.in
	switch {
	case in.phase == "delayed" || in.phase == "parked":
		m.ready(in)
	case in.phase == "running":
		in.expired = true
		m.withdraw(in)
	case in.phase == "asked":
		in.questions = nil
		m.fail(in, fault{why: "nobody answered", timeout: true})
	case in.phase == "inside":
		m.end(in.child, engine.TimedOut, "timeout")
	}
}
