package oracle

import (
	"slices"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// ready lets a task start as soon as the limits allow.
func (m *Model) ready(in *minst) {
	in.phase = "ready"
	m.consider(in)
}

func (m *Model) factsOf(in *minst) engine.TaskFacts {
	if f := in.reg.scope.frame; f.handoff != nil && f.facts != nil {
		return *f.facts
	} else if f.handoff != nil {
		return engine.NoFacts
	}
	if f, ok := m.facts[in.reg.scope.frame.w.Name+"/"+in.n.ID]; ok {
		return f
	}
	return engine.NoFacts
}

// framesOf returns the workflows that an instance is in, from inside out.
func framesOf(in *minst) (list []*mframe) {
	for f := in.reg.scope.frame; f != nil; f = f.around {
		list = append(list, f)
	}
	return list
}

func (m *Model) running(f *mframe) (n int) {
	for _, in := range m.attempts {
		if slices.Contains(framesOf(in), f) && !(in.phase == "running" && in.awaits()) {
			n++
		}
	}
	return n
}

// hasSlot reports whether the parallel limits let another attempt start.
func (m *Model) hasSlot(in *minst) bool {
	if slices.ContainsFunc(m.attempts, func(other *minst) bool { return other.address == in.address }) {
		return false // of an earlier plan
	}
	for _, f := range framesOf(in) {
		if f.limits.Parallel > 0 && m.running(f) >= f.limits.Parallel {
			return false
		}
	}
	return true
}

// usedUp returns the innermost workflow that has no step left for the task.
func (m *Model) usedUp(in *minst) *mframe {
	for _, f := range framesOf(in) {
		if !in.counted && f.limits.Steps > 0 && f.steps >= f.limits.Steps {
			return f
		}
	}
	return nil
}

// left returns what the limits of a workflow leave after what is spent and reserved.
func (m *Model) left(f *mframe) (usd, tokens float64) {
	usd, tokens = f.limits.CostUSD-f.spent.CostUSD, float64(f.limits.Tokens-f.spent.TokensIn-f.spent.TokensOut)
	for _, in := range m.attempts {
		if slices.Contains(framesOf(in), f) {
			u, _ := in.may.CostUSD.Amount()
			t, _ := in.may.Tokens.Amount()
			usd, tokens = usd-u, tokens-t
		}
	}
	return usd, tokens
}

// holder returns the innermost workflow whose budget holds a task back.
func (m *Model) holder(in *minst) *mframe {
	facts := m.factsOf(in)
	held := func(limited bool, left float64, may workflow.Bound) bool {
		need, known := may.Amount()
		switch {
		case !limited:
			return false
		case facts.Keeps:
			return left < 1e-9
		case known:
			return need > left+1e-9
		}
		return left < -1e-9 || !in.granted
	}
	for _, f := range framesOf(in) {
		usd, tokens := m.left(f)
		if held(f.limits.CostUSD > 0, usd, facts.May.CostUSD) || held(f.limits.Tokens > 0, tokens, facts.May.Tokens) {
			return f
		}
	}
	return nil
}

// consider starts a task if the engine started it next, or ends the workflow that has no
// step left for it.
func (m *Model) consider(in *minst) {
	if in.phase != "ready" || in.due {
		return
	}
	if len(m.starts) > 0 && m.starts[0].Address == in.address {
		m.start(in)
		return
	}
	if !m.hasSlot(in) || in.held && m.holder(in) != nil {
		return
	}
	if f := m.usedUp(in); f != nil {
		m.end(f.scope, engine.Failed, "steps")
	} else if m.holder(in) != nil {
		in.held = true
	} else if m.isTold(engine.QuestionAsked, in.address) && m.mayRepeat(in) {
		in.attempt, in.begun, in.phase, in.held = in.base, m.order, "asked", false
		m.render(in)
		m.ask(in, engine.LostQuestion)
	}
}

// seat considers all waiting tasks, in the engine's order.
func (m *Model) seat() {
	for len(m.starts) > 0 {
		for _, in := range m.insts {
			if in.phase == "ready" && m.triedFirst(in) {
				m.consider(in)
			}
		}
		i := slices.IndexFunc(m.insts, func(in *minst) bool {
			return in.phase == "ready" && !in.due && in.address == m.starts[0].Address
		})
		if i < 0 {
			break
		}
		m.start(m.insts[i])
	}
	for _, in := range m.insts {
		m.consider(in)
	}
}

// triedFirst reports whether the engine tried a task, which ended or paused it, before it started
// its next attempt, which may take the slot or the budget that the task would have needed.
func (m *Model) triedFirst(in *minst) bool {
	for _, f := range m.told {
		switch {
		case f.Kind == engine.AttemptStarted && f.Address == m.starts[0].Address:
			return false
		case (f.Kind == engine.StepEnded || f.Kind == engine.Paused || f.Kind == engine.QuestionAsked) && f.Address == in.address:
			return true
		}
	}
	return false
}

func (m *Model) start(in *minst) {
	c := m.starts[0]
	m.starts = m.starts[1:]
	if f := m.usedUp(in); f != nil {
		m.wrong("%s started, but workflow %q has no step left", in.address, f.w.Name)
	}
	if f := m.holder(in); f != nil {
		m.wrong("%s started, but the budget of workflow %q holds it back", in.address, f.w.Name)
	}
	if !m.hasSlot(in) {
		m.wrong("%s started, but there is no free slot", in.address)
	}
	repeats := m.mayRepeat(in)
	if max(0, in.attempt-in.base) == in.failures {
		in.attempt = in.base + in.failures + 1
	}
	if repeats {
		m.wrong("%s started, although its effect may have happened", in.address)
	}
	for _, f := range framesOf(in) {
		if !in.counted {
			f.steps++
		}
	}
	facts := m.factsOf(in)
	in.may = facts.May
	for _, f := range framesOf(in) {
		usd, tokens := m.left(f)
		if facts.Keeps && f.limits.CostUSD > 0 {
			in.may.CostUSD = in.may.CostUSD.Lower(workflow.AtMost(usd))
		}
		if facts.Keeps && f.limits.Tokens > 0 {
			in.may.Tokens = in.may.Tokens.Lower(workflow.AtMost(tokens))
		}
	}
	if in.attempt == in.base+1 && (!in.counted || in.unsent) {
		in.started, in.begun = m.clock, m.order
	}
	in.counted, in.held, in.expired, in.unsent, in.phase = true, false, false, m.unattended, "running"
	if in.sent = in.sent || !in.unsent; in.agreed && !in.unsent {
		if e := m.effect(in); len(m.plans.effects) > 0 && in.unsure && !in.happened { // a person says that it did not happen
			delete(m.plans.results, e+in.address)
			m.plans.effects[e] = slices.DeleteFunc(m.plans.effects[e], func(address string) bool { return address == in.address })
		}
		in.unsure, in.happened, in.moved, in.agreed = false, false, false, false
	}
	m.attempts = append(m.attempts, in)
	if d := m.timeout(in); d > 0 {
		m.setTimer(in, "timeout", mtimer{clock: m.clock + d})
	}
	m.compareStart(in, c)
}

func (m *Model) timeout(in *minst) time.Duration {
	if in.n.Timeout > 0 {
		return in.n.Timeout
	}
	return m.factsOf(in).Timeout
}

// vacate ends an attempt and settles what it used.
func (m *Model) vacate(in *minst, used engine.Usage) {
	if used.CostUnknown { // count the most it may have cost
		used.CostUSD, _ = in.may.CostUSD.Amount()
	}
	in.used = in.used.Plus(used)
	for _, f := range framesOf(in) {
		f.spent = f.spent.Plus(used)
	}
	in.unawait()
	in.left, in.unbegun = 0, false
	m.attempts = slices.DeleteFunc(m.attempts, func(other *minst) bool { return other == in })
	if id := in.timer("timeout"); m.timers[id].in == in {
		delete(m.timers, id)
	}
	for s := in.reg.scope; s != nil; s = s.parent() {
		if !slices.ContainsFunc(m.attempts, s.contains) && !m.handsOff(s) { // of scopes that end together, the order matters
			m.later(func() { m.maybeOver(s) })
		}
	}
}
