package oracle

import (
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func (m *Model) attemptEnded(in *minst, ev *engine.TaskEnded) {
	lost := ev.Fault != nil && ev.Fault.Kind == engine.FaultLost
	if !lost {
		m.withdraw(in)
	}
	for _, a := range ev.Unheard {
		for _, h := range in.heard {
			if id, answer, _ := strings.Cut(h, "\x00"); id == a.ID {
				in.kept = append(in.kept, answer)
			}
		}
	}
	in.heard = nil
	m.vacate(in, ev.Usage)
	m.forgetHandoffs(in)
	switch {
	case in.phase == "stopping":
		in.phase, in.ended, in.questions, in.kept = "ended", m.clock, nil, nil
	case in.expired:
		m.attemptFailed(in, fault{why: "timeout", timeout: true})
	case lost:
		m.lost(in)
	case ev.Fault != nil && ev.Fault.Kind == engine.FaultQuota && ev.Fault.Until.After(m.now):
		in.err, in.phase = ev.Fault.Message, "parked"
		m.setTimer(in, "retry", mtimer{at: ev.Fault.Until})
	case ev.Fault != nil:
		m.attemptFailed(in, fault{why: ev.Fault.Message, timeout: ev.Fault.Kind == engine.FaultTimeout, permanent: ev.Fault.Permanent})
	case ev.Asks != nil:
		in.phase, in.continues = "asked", ev.Workspace
		m.ask(in, engine.GateQuestion)
	default:
		m.makes(in, ev.Workspace)
		if f := m.succeed(in, ev.Output); f != nil {
			in.made = nil
			in.unsure = in.unsure || once(in) // only its output cannot be used
			m.attemptFailed(in, *f)
		}
	}
}

func (m *Model) attemptFailed(in *minst, f fault) {
	in.unsure = in.unsure || once(in) && f.timeout
	in.failures++
	retry := in.n.Retry
	if retry.Attempts == 0 {
		retry = m.factsOf(in).Retry
	}
	if f.permanent || in.failures >= retry.Attempts {
		m.fail(in, f)
		return
	}
	in.err, in.feedback = f.why, f.told
	delay := retry.Delay
	switch retry.Backoff {
	case workflow.Linear:
		delay *= time.Duration(in.failures)
	case workflow.Exponential:
		delay <<= in.failures - 1
	}
	if retry.MaxDelay > 0 {
		delay = min(delay, retry.MaxDelay)
	}
	if delay == 0 {
		m.ready(in)
		return
	}
	in.phase = "delayed"
	m.setTimer(in, "retry", mtimer{clock: m.clock + delay, least: m.clock + delay*9/10})
}

// lost repeats an attempt, or asks a person if it must happen only once.
func (m *Model) lost(in *minst) {
	for _, q := range in.questions {
		q.orphaned = true
	}
	in.losses++
	switch {
	case once(in):
		in.phase, in.unsure = "asked", true
		m.ask(in, engine.LostQuestion)
	case in.losses > 10:
		in.failures++
		m.fail(in, fault{why: "lost"})
	default:
		m.ready(in)
	}
}

func (m *Model) recovered() {
	open := slices.Clone(m.attempts)
	for _, in := range open {
		for _, q := range in.questions {
			q.orphaned = true
		}
		repeated := m.factsOf(in).Repeats && in.phase != "stopping" && !in.expired
		m.vacate(in, engine.Usage{CostUnknown: in.may != workflow.Free && !in.unsent && !repeated})
	}
	for _, in := range open {
		m.forgetHandoffs(in)
	}
	for _, in := range open {
		switch {
		case in.phase == "stopping":
			in.phase, in.ended, in.questions, in.kept = "ended", m.clock, nil, nil
		case in.expired:
			m.attemptFailed(in, fault{why: "timeout", timeout: true})
		case in.unsent:
			m.ready(in)
		default:
			in.losses = min(in.losses, 9)
			m.lost(in)
		}
	}
}
