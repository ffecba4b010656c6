package oracle

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// New returns the model of a run of the bundle that has not started.
func New(b *workflow.Bundle) *Model {
	clear(graphs)
	return &Model{bundle: b, timers: map[string]mtimer{}, inputsOf: map[string][]string{}}
}

func (m *Model) wrong(format string, args ...any) {
	if m.broken == nil {
		m.broken = fmt.Errorf("the model: "+format, args...)
	}
}

// worded returns the engine's text for a failure, which is a value that steps may see. A step
// can fail twice: by itself and at the limit of its loop.
func (m *Model) worded(in *minst, why string) string {
	for i, f := range m.told {
		if f.Kind == engine.StepEnded && f.Address == in.address && f.Text != "" {
			m.told = slices.Delete(m.told, i, i+1)
			return f.Text
		}
	}
	return why
}

// Step processes an event, with the attempts that the engine started and the facts that
// it reported, and returns what the engine did wrong.
func (m *Model) Step(e engine.Envelope, commands []engine.Command, told []engine.Fact) error {
	m.told, m.starts, m.unattended = told, nil, e.Unattended
	m.sent = map[string]*engine.SetTimer{}
	for _, c := range commands {
		switch c := c.(type) {
		case *engine.StartTask:
			m.starts = append(m.starts, c)
		case *engine.SetTimer:
			m.sent[c.ID] = c
		}
	}
	m.advance(e)
	m.take(e)
	m.seat()
	m.work()
	m.seat()
	m.work()
	if len(m.starts) > 0 {
		m.wrong("%s was started, but is not ready", m.starts[0].Address)
	}
	return m.broken
}

// work does everything that is due.
func (m *Model) work() {
	for m.broken == nil {
		for len(m.todo) > 0 && m.broken == nil {
			next := m.todo[0]
			m.todo = m.todo[1:]
			next()
		}
		if !m.unfold() {
			return
		}
	}
}

// advance moves the clocks. The time before a process resumed the run does not count.
func (m *Model) advance(e engine.Envelope) {
	if _, first := e.Event.(*engine.Started); first {
		m.now = e.Time
	}
	passed := max(0, e.Clock-m.clock)
	if _, taken := e.Event.(*engine.Recovered); !taken && m.root != nil && m.busy() {
		m.active += passed
	}
	m.clock += passed
	if e.Time.After(m.now) {
		m.now = e.Time
	}
}

func (m *Model) take(e engine.Envelope) {
	attempt := func(address string) *minst {
		i := slices.IndexFunc(m.attempts, func(in *minst) bool { return in.address == address })
		return m.attempts[i]
	}
	switch ev := e.Event.(type) {
	case *engine.Started:
		m.facts, m.given, m.base = ev.Tasks, ev.Inputs, ev.Base
		m.begin(&mframe{w: m.bundle.Root, limits: ev.Limits, inputs: ev.Inputs}, nil)
	case *engine.TaskEnded:
		m.attemptEnded(attempt(ev.Address), ev)
	case *engine.TimerFired:
		m.fired(ev.ID)
	case *engine.Asked:
		m.attemptAsks(attempt(ev.Address), ev)
	case *engine.Answered:
		m.answered(ev)
	case *engine.HandoffAsked:
		m.handOff(attempt(ev.Address), ev)
	case *engine.Withdrawn:
		in, q := m.asked(ev.ID)
		if q == nil || !q.waitedFor() {
			m.unawaited(ev.ID)
			return
		}
		in.questions = slices.DeleteFunc(in.questions, func(other *mquestion) bool { return other == q })
		m.rest(in)
	case *engine.Queued:
		in := attempt(ev.Address)
		in.unbegun = !ev.Begun
		if ev.Begun && in.attempt == in.base+1 {
			in.started = m.clock
		}
		m.rest(in)
	case *engine.CancelAsked:
		m.end(m.root, engine.Cancelled, "cancelled")
	case *engine.LimitRaised:
		m.raised(ev.Limits)
	case *engine.Recovered:
		m.recovered()
	case *engine.Replanned:
		m.replanned(ev)
	case *engine.Forked:
	}
}

// compareStart compares what an attempt receives.
func (m *Model) compareStart(in *minst, c *engine.StartTask) {
	c, err := c.Whole()
	if err != nil {
		m.wrong("%v", err)
		return
	}
	m.render(in)
	usd, known := in.may.CostUSD.Amount()
	got, gotKnown := c.May.CostUSD.Amount()
	tokens, _ := in.may.Tokens.Amount()
	gotTokens, _ := c.May.Tokens.Amount()
	if where, is := m.places(in), placed(c); where != is {
		m.wrong("%s works %s, but the engine says %s", in.address, where, is)
	}
	answer := ""
	if c.Answer != nil {
		answer = c.Answer.Value + " " + c.Answer.Comment
	}
	if answer != in.answer || c.Continues != in.continues {
		m.wrong("%s has the answer %q and continues %q, but the engine says %q and %q", in.address, in.answer, in.continues, answer, c.Continues)
	}
	want := fmt.Sprintf("attempt %d of %q given %s %s decide %q feedback %t again %t timeout %s bound %t", in.attempt, in.prompt, in.given, in.inputs, labelsOf(in.reg.g, in.n), in.feedback, in.losses > 0, m.timeout(in), known)
	handed, gotHanded := "", ""
	for _, h := range in.handed {
		if h.gone {
			continue
		}
		handed += h.result() + "\n"
	}
	for _, h := range c.Handed {
		gotHanded += fmt.Sprintf("%s %s %s\n", h.ID, h.Status, workflow.FormatJSON(h.Output))
	}
	if handed != gotHanded {
		m.wrong("%s has handed off\n%sbut the engine says\n%s", in.address, handed, gotHanded)
	}
	is := fmt.Sprintf("attempt %d of %q given %s %s decide %q feedback %t again %t timeout %s bound %t", c.Attempt, c.Prompt, workflow.FormatJSON(c.Received), workflow.FormatJSON(c.Inputs), c.Decide, c.Feedback != "", c.Again, c.Timeout, gotKnown)
	if is != want || math.Abs(usd-got) > 1e-6 || math.Abs(tokens-gotTokens) > 0.5 {
		m.wrong("%s is %s (%g USD, %g tokens), but the engine has %s (%g USD, %g tokens)", in.address, want, usd, tokens, is, got, gotTokens)
	}
}

// render fills in the texts of a task, once for all attempts.
func (m *Model) render(in *minst) {
	if in.rendered {
		return
	}
	task := in.n.Task()
	in.rendered = true
	in.prompt = m.text(m.view(in, false), task.Prompt.Text)
	in.given = workflow.FormatJSON(m.received(in))
	var inputs []engine.Input
	for _, b := range task.Inputs {
		inputs = append(inputs, engine.Input{Name: b.Name, Value: m.fill(m.view(in, false), b.Value)})
	}
	if asks(in.n) && len(in.from) == 0 {
		for _, name := range sorted.Keys(in.reg.scope.frame.inputs) {
			inputs = append(inputs, engine.Input{Name: name, Value: in.reg.scope.frame.inputs[name]})
		}
	}
	if asks(in.n) && in.reg.scope.isItem() {
		inputs = append(inputs, engine.Input{Name: "item", Value: in.reg.scope.owner.each.items[in.reg.scope.item]})
	}
	in.inputs = workflow.FormatJSON(inputs)
}

// Compare compares the state of a run, and its requests, with what must be in progress.
func (m *Model) Compare(run *engine.Run, w *World) error {
	if m.ended != nil || w.Ended != nil {
		return m.compareEnd(run, w)
	}
	var attempts, asked, timers []string
	for _, in := range m.attempts {
		attempts = append(attempts, fmt.Sprintf("%s@%d stop=%t", in.address, in.attempt, in.phase == "stopping" || in.expired))
	}
	for _, in := range m.insts {
		for _, q := range in.questions {
			asked = append(asked, fmt.Sprintf("%s %s orphaned=%t", q.id, q.kind, q.orphaned))
		}
		if in.phase == "ready" && m.hasSlot(in) && m.holder(in) == nil {
			return fmt.Errorf("the model: %s could start", in.address)
		}
	}
	for id, t := range m.timers {
		// The engine chooses the jitter.
		if sent := m.sent[id]; sent != nil && t.least > 0 && t.least <= sent.Clock && sent.Clock <= t.clock {
			t.clock, t.least = sent.Clock, 0
			m.timers[id] = t
		}
		timers = append(timers, timerText(id, t))
	}
	if due, ok := m.runtimeDue(); ok {
		timers = append(timers, timerText("runtime", mtimer{clock: due}))
	}
	status := engine.Waiting
	if m.busy() {
		status = engine.Running
	}
	if got := run.Status(); got != status {
		return fmt.Errorf("the model: the run is %s, but the engine says %s", status, got)
	}
	var gotAttempts, gotAsked, gotTimers []string
	for _, c := range w.Tasks {
		gotAttempts = append(gotAttempts, fmt.Sprintf("%s@%d stop=%t", c.Address, c.Attempt, w.Stopped[c.Address]))
	}
	budget, budgetAsked := map[*mframe]bool{}, map[string]bool{}
	for _, q := range w.Questions {
		if q.Kind != engine.BudgetQuestion {
			gotAsked = append(gotAsked, fmt.Sprintf("%s %s orphaned=%t", q.ID, q.Kind, q.Orphaned))
			continue
		}
		i := slices.IndexFunc(m.insts, func(in *minst) bool { return in.address == q.ID && in.phase == "ready" && in.held })
		if i < 0 {
			return fmt.Errorf("the model: no budget holds %s back", q.ID)
		}
		f := m.holder(m.insts[i])
		if f == nil || !m.budgetAsked[q.ID] && (budget[f] || m.running(f) > 0) {
			return fmt.Errorf("the model: a person is asked about %s too early or twice", q.ID)
		}
		budget[f], budgetAsked[q.ID] = true, true
	}
	m.budgetAsked = budgetAsked
	for _, in := range m.insts {
		if f := m.heldBy(in); f != nil && m.running(f) == 0 && !budget[f] {
			return fmt.Errorf("the model: no one is asked about %s", in.address)
		}
	}
	for id, t := range w.Timers {
		gotTimers = append(gotTimers, timerText(id, mtimer{clock: t.Clock, at: t.At}))
	}
	return firstError(same("attempts", attempts, gotAttempts), same("questions", asked, gotAsked), same("timers", timers, gotTimers))
}

func (m *Model) heldBy(in *minst) *mframe {
	if in.phase != "ready" || !in.held {
		return nil
	}
	return m.holder(in)
}

func timerText(id string, t mtimer) string {
	if !t.at.IsZero() {
		return fmt.Sprintf("%s at %s", id, t.at)
	}
	return fmt.Sprintf("%s after %s", id, t.clock)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func same(what string, want, got []string) error {
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		return fmt.Errorf("the model: the %s are\n%s\nbut the engine has\n%s", what, strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
	return nil
}

// compareEnd compares how the run ended, and all its steps.
func (m *Model) compareEnd(run *engine.Run, w *World) error {
	if m.ended == nil || w.Ended == nil {
		return fmt.Errorf("the model: the run ended as %+v, but the engine says %+v", m.ended, w.Ended)
	}
	result := run.Result()
	got := End(result.Status, w.Ended.Output, result.Error != "", result.Usage)
	for i := range result.Steps {
		step := &result.Steps[i]
		value, err := step.Value()
		if err != nil {
			return err
		}
		got = append(got, Step(step.Address, step.Status, value, step.Attempts))
	}
	return same("end and its steps", m.Outcome(), got)
}

// Outcome returns how the run must end, and with which steps, in lines as End and Step
// write them. It returns nil while the run is in progress.
func (m *Model) Outcome() []string {
	if m.ended == nil {
		return nil
	}
	lines := End(m.ended.Status, m.ended.Output, m.ended.Error != "", engine.RunUsage{Steps: m.root.frame.steps, Usage: m.root.frame.spent})
	for _, in := range m.insts {
		if in.listed {
			output := in.output
			if asks(in.n) && in.status == engine.Success {
				output = map[string]any{"decision": in.passed.decision, "reason": in.passed.reason}
			}
			lines = append(lines, Step(in.address, in.status, output, in.attempt))
		}
	}
	return lines
}

// End returns the compared properties of a finished run.
func End(status engine.Status, output any, reason bool, used engine.RunUsage) []string {
	return []string{
		fmt.Sprintf("ended %s %s, reason %t", status, workflow.FormatJSON(output), reason),
		fmt.Sprintf("used %d steps, %.6f USD, %d and %d tokens", used.Steps, used.CostUSD, used.TokensIn, used.TokensOut),
	}
}

// Step returns the compared properties of a step.
func Step(address string, status engine.Status, output any, attempts int) string {
	return fmt.Sprintf("step %s %s %s attempts=%d", address, status, workflow.FormatJSON(output), attempts)
}
