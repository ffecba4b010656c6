package oracle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// fault is the reason why an instance, or an attempt, fails.
type fault struct {
	why       string
	timeout   bool
	permanent bool
	told      bool // shown to the next attempt
}

type mtimer struct {
	in    *minst // nil for the run time
	clock time.Duration
	at    time.Time
	least time.Duration // the earliest time that jitter allows; 0 means exactly clock
}

type mquestion struct {
	id, text string
	kind     engine.QuestionKind
	orphaned bool
}

// launch starts a node.
func (m *Model) launch(in *minst) {
	switch s := in.n.Step.(type) {
	case *workflow.Task:
		m.ready(in)
	case *workflow.Human:
		in.attempt, in.phase = 1, "asked"
		m.ask(in, engine.GateQuestion)
	case *workflow.Call:
		m.call(in, s)
	case *workflow.Choice:
		m.choose(in)
	case *workflow.Combine:
		in.attempt = 1
		value, err := m.combine(in, s)
		if err != nil {
			m.fail(in, fault{why: err.Error()})
			return
		}
		m.conclude(in, value)
	case *workflow.Loop:
		m.startLoop(in, s)
	case *workflow.Each:
		m.startEach(in, s)
	}
}

// choose decides at once, unless the question has to be asked.
func (m *Model) choose(in *minst) {
	value := reached(in.from)
	out := edgesFrom(in.reg.g, in.n.ID)
	if asks(in.n) && conditional(out) {
		byPerson := len(in.from) > 0
		for _, p := range in.from {
			human, ok := p.by.n.Step.(*workflow.Human)
			byPerson = byPerson && ok && !human.Custom && p.failed != p.by && p.by.reg.g.AskedBehind(p.by.n) != nil
		}
		if d := decisionIn(labelsOf(in.reg.g, in.n), value); !byPerson && (!d.Matched || d.Loose) {
			in.listed = true
			m.ready(in)
			return
		}
	}
	m.conclude(in, value)
}

// conclude ends an instance successfully, or fails it if its output cannot be used.
func (m *Model) conclude(in *minst, given any) {
	if f := m.succeed(in, given); f != nil {
		m.fail(in, *f)
	}
}

func (m *Model) succeed(in *minst, given any) *fault {
	said, err := read(in.n, given)
	if err != nil {
		return &fault{why: err.Error(), told: true}
	}
	value := said
	if asks(in.n) && in.attempt > 0 {
		value = reached(in.from) // a choice passes on what reached it
	}
	before := *in
	in.status, in.output, in.err = engine.Success, value, ""
	if name := in.n.Output.Var; name != "" && !isChoice(in.n) {
		in.vars = m.write(in.vars, name, value)
	}
	taken, f := m.route(in, said, false)
	if f != nil {
		in.status, in.output, in.vars, in.err = before.status, nil, before.vars, before.err
		return f
	}
	p := mparcel{by: in, vars: in.vars}
	if isChoice(in.n) {
		p.failed = failureOf(in.from)
	}
	m.over(in)
	ends := true
	for _, e := range edgesFrom(in.reg.g, in.n.ID) {
		state := "dead"
		if taken[e] {
			state, ends = "live", ends && e.To == workflow.End
		}
		m.settle(in.reg, e, state, p)
	}
	if ends {
		m.pathEnded(in)
	}
	m.nodeSettled(in.reg, in.n)
	return nil
}

// over records the end of an instance.
func (m *Model) over(in *minst) {
	m.order++
	in.order, in.phase, in.ended = m.order, "ended", m.clock
	in.questions, in.kept = nil, nil
	m.clearTimers(in)
	in.reg.scope.newest[in.n.ID] = in
}

// route returns which edges are taken (section 1).
func (m *Model) route(in *minst, said any, failed bool) (map[*workflow.Edge]bool, *fault) {
	out, taken := edgesFrom(in.reg.g, in.n.ID), map[*workflow.Edge]bool{}
	other := func() {
		for _, e := range out {
			if e.On == workflow.OnSuccess || e.On == workflow.OnElse {
				taken[e] = true
			}
		}
	}
	if !conditional(out) {
		other()
		return taken, nil
	}
	var d extract.Decision
	if labels := labelsOf(in.reg.g, in.n); len(labels) > 0 && !failed {
		if c, ok := in.n.Step.(*workflow.Choice); ok && c.On.Text != "" {
			value, err := parseExpr(c.On.Text).Eval(m.view(in, true))
			if err != nil {
				return nil, &fault{why: err.Error(), permanent: true}
			}
			said = value
		}
		d = decisionIn(labels, said)
	}
	holds := ""
	for _, e := range out {
		if e.On == workflow.OnWhen && holds == "" {
			ok, err := parseExpr(e.When.Text).Bool(m.view(in, true))
			if err != nil {
				return nil, &fault{why: err.Error(), permanent: true}
			}
			if ok {
				holds = e.When.Text
			}
		}
	}
	for _, e := range out {
		if e.On == workflow.OnLabel && d.Matched && e.Label == d.Label || e.On == workflow.OnWhen && holds != "" && e.When.Text == holds {
			taken[e] = true
		}
	}
	label := d.Label
	if len(taken) == 0 {
		label = ""
		other()
	}
	switch {
	case len(taken) == 0 && !failed:
		return nil, &fault{why: "no route", told: true}
	case len(taken) > 0 && !failed && in.passed != nil && (!isChoice(in.n) || asks(in.n)):
		if label != "" {
			in.passed.decision = label
		} else if in.passed.decision == "" {
			in.passed.decision = "else"
		}
		if reason, ok := extract.Field(said, "reason"); ok {
			in.passed.reason = workflow.FormatText(reason)
		}
	}
	return taken, nil
}

// fail fails an instance for good (section 4).
func (m *Model) fail(in *minst, f fault) {
	in.status, in.output, in.err = engine.Failed, nil, m.worded(in, f.why)
	if f.timeout {
		in.status = engine.TimedOut
	}
	m.over(in)
	out, s := edgesFrom(in.reg.g, in.n.ID), in.reg.scope
	handle := func(on workflow.On) {
		for _, e := range out {
			state := "dead"
			if e.On == on {
				state = "live"
			}
			m.settle(in.reg, e, state, mparcel{by: in, vars: in.vars, failed: in})
		}
		m.nodeSettled(in.reg, in.n)
	}
	switch {
	case f.timeout && has(out, workflow.OnTimeout):
		handle(workflow.OnTimeout)
	case has(out, workflow.OnFailure):
		handle(workflow.OnFailure)
	case in.n.OnError == workflow.Stop:
		in.reg.settled[in.n.ID] = true
		m.end(s, engine.Failed, in.err)
	case in.n.OnError == workflow.SkipDependents:
		s.tolerate(in.err)
		m.settleAll(in.reg, in.n, "poisoned")
	case isLoop(in.n):
		s.tolerate(in.err)
		m.settleAll(in.reg, in.n, "dead")
	default:
		s.tolerate(in.err)
		taken, _ := m.route(in, nil, true)
		for _, e := range out {
			state := "dead"
			if taken[e] {
				state = "live"
			}
			m.settle(in.reg, e, state, mparcel{by: in, vars: in.vars, tolerated: true})
		}
		m.nodeSettled(in.reg, in.n)
	}
}

// ready lets a task start as soon as the limits allow.
func (m *Model) ready(in *minst) {
	in.phase = "ready"
	m.consider(in)
}

func (m *Model) factsOf(in *minst) engine.TaskFacts {
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
		if slices.Contains(framesOf(in), f) {
			n++
		}
	}
	return n
}

// hasSlot reports whether the parallel limits let another attempt start.
func (m *Model) hasSlot(in *minst) bool {
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
	if in.phase != "ready" {
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
		i := slices.IndexFunc(m.insts, func(in *minst) bool { return in.phase == "ready" && in.address == m.starts[0].Address })
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
		case (f.Kind == engine.StepEnded || f.Kind == engine.Paused) && f.Address == in.address:
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
	if in.attempt == in.failures {
		in.attempt++
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
	if in.attempt == 1 && (!in.counted || in.unsent) {
		in.started = m.clock
	}
	in.counted, in.held, in.expired, in.unsent, in.phase = true, false, false, m.unattended, "running"
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
	for _, f := range framesOf(in) {
		f.spent = f.spent.Plus(used)
	}
	m.attempts = slices.DeleteFunc(m.attempts, func(other *minst) bool { return other == in })
	delete(m.timers, in.timer("timeout"))
	for s := in.reg.scope; s != nil; s = s.parent() {
		s := s
		m.later(func() { m.maybeOver(s) })
	}
}

func (m *Model) attemptEnded(in *minst, ev *engine.TaskEnded) {
	lost := ev.Fault != nil && ev.Fault.Kind == engine.FaultLost
	if !lost {
		m.withdraw(in)
	}
	m.vacate(in, ev.Usage)
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
	default:
		if f := m.succeed(in, ev.Output); f != nil {
			m.attemptFailed(in, *f)
		}
	}
}

func (m *Model) attemptFailed(in *minst, f fault) {
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
	case in.n.Once:
		in.phase = "asked"
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
		m.vacate(in, engine.Usage{CostUnknown: in.may != workflow.Free && !in.unsent})
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

// waits reports whether an attempt only waits for a person.
func (in *minst) waits() bool {
	return in.phase == "running" && !in.expired && slices.ContainsFunc(in.questions, (*mquestion).waitedFor)
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
