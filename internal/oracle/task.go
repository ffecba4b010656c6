package oracle

import (
	"fmt"
	"strings"

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

type mquestion struct {
	id, text string
	kind     engine.QuestionKind
	orphaned bool
}

// launch starts a node.
func (m *Model) launch(in *minst) {
	if why := m.meets(in); why != "" {
		m.fail(in, fault{why: why})
		return
	}
	switch s := in.n.Step.(type) {
	case *workflow.Task, *workflow.Human:
		m.isReady(in)
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
			m.isReady(in)
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
	return m.endWith(in, said, value)
}

// endWith ends an instance with its value, and takes the edges that what it said leads to.
func (m *Model) endWith(in *minst, said, value any) *fault {
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
	m.noteDone(in)
	in.questions, in.kept = nil, nil
	m.clearTimers(in)
	in.reg.scope.newest[in.n.ID] = in
	m.handoffOver(in)
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
		why := "no condition holds, and there is no else"
		if labels := labelsOf(in.reg.g, in.n); len(labels) > 0 {
			why = fmt.Sprintf("the decision “%s” matches none of the labels %s, and there is no else", d.Said, strings.Join(labels, ", "))
		}
		return nil, &fault{why: why, told: true}
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
	out := edgesFrom(in.reg.g, in.n.ID)
	if m.waitsForPlan(in, has(out, workflow.OnFailure) || f.timeout && has(out, workflow.OnTimeout)) {
		return
	}
	m.failFinally(in)
}

// failFinally settles the edges of an instance that has failed.
func (m *Model) failFinally(in *minst) {
	in.err = m.worded(in, in.err) // only now, if it waited for a new plan
	m.over(in)
	out, s, text := edgesFrom(in.reg.g, in.n.ID), in.reg.scope, in.address+": "+in.err
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
	case in.status == engine.TimedOut && has(out, workflow.OnTimeout):
		handle(workflow.OnTimeout)
	case has(out, workflow.OnFailure):
		handle(workflow.OnFailure)
	case in.n.OnError == workflow.Stop || in.n.OnError == workflow.Replan:
		in.reg.settled[in.n.ID] = true
		m.end(s, engine.Failed, text)
	case in.n.OnError == workflow.SkipDependents:
		s.tolerate(text)
		m.settleAll(in.reg, in.n, "poisoned")
	case isLoop(in.n):
		s.tolerate(text)
		m.settleAll(in.reg, in.n, "dead")
	default:
		s.tolerate(text)
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
