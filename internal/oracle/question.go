package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// ask asks a person about a step.
func (m *Model) ask(in *minst, kind engine.QuestionKind) {
	in.questions = append(in.questions, &mquestion{id: in.address, kind: kind})
	if kind == engine.ReplanQuestion || kind == engine.GateQuestion && tried(in.n) {
		return
	}
	wait := 24 * time.Hour
	if _, human := in.n.Step.(*workflow.Human); human && in.n.Timeout > 0 {
		wait = in.n.Timeout
	}
	m.setTimer(in, "answer", mtimer{at: m.now.Add(wait)})
}

// withdraw withdraws the open questions of an attempt.
func (m *Model) withdraw(in *minst) {
	in.questions = slices.DeleteFunc(in.questions, (*mquestion).waitedFor)
}

// attemptAsks asks people the question of an attempt, unless it was answered before.
func (m *Model) attemptAsks(in *minst, ev *engine.Asked) {
	for i, k := range in.kept {
		if text, _, _ := strings.Cut(k, "\x00"); text == ev.Text {
			in.kept = slices.Delete(in.kept, i, i+1)
			return
		}
	}
	for _, q := range in.questions {
		if q.orphaned && q.text == ev.Text {
			q.orphaned = false
			m.rest(in)
			return
		}
	}
	in.numbered++
	in.questions = append(in.questions, &mquestion{id: fmt.Sprintf("%s@%d", in.address, in.numbered), text: ev.Text, kind: engine.PermissionQuestion})
	m.rest(in)
}

// asked returns the instance that asks a question.
func (m *Model) asked(id string) (*minst, *mquestion) {
	for _, in := range m.insts {
		for _, q := range in.questions {
			if q.id == id {
				return in, q
			}
		}
	}
	return nil, nil
}

// onlyQuestion returns the question that the address of its step names, if it is its only one.
func (m *Model) onlyQuestion(address string) (*minst, *mquestion) {
	for _, in := range m.insts {
		if in.address == address && !in.held && len(in.questions) == 1 {
			return in, in.questions[0]
		}
	}
	return nil, nil
}

func (m *Model) answered(ev *engine.Answered) {
	in, q := m.asked(ev.ID)
	if q == nil {
		in, q = m.onlyQuestion(ev.ID)
	}
	if q == nil { // the question of a budget
		m.budgetAnswered(ev)
		return
	}
	in.questions = slices.DeleteFunc(in.questions, func(other *mquestion) bool { return other == q })
	if q.kind != engine.PermissionQuestion {
		delete(m.timers, in.timer("answer"))
	}
	switch {
	case q.kind == engine.PermissionQuestion && q.orphaned:
		in.kept = append(in.kept, q.text+"\x00"+ev.Value)
	case q.kind == engine.PermissionQuestion:
		in.heard = append(in.heard, q.id+"\x00"+q.text+"\x00"+ev.Value)
		m.rest(in)
	case q.kind == engine.LostQuestion && ev.Value == "rerun":
		in.agreed = true
		m.ready(in)
	case q.kind == engine.LostQuestion && ev.Value == "done":
		in.unsure = false
		m.leaveDone(in)
	case q.kind == engine.LostQuestion:
		if past := m.plans.memo[in.address]; past != nil && in.happened && !in.unsure {
			past.disowned = true
		}
		m.fail(in, fault{why: "given up"})
	case q.kind == engine.ReplanQuestion && in.atLimit:
		in.phase, in.reg.settled[in.n.ID] = "ended", true
		m.end(in.reg.scope, engine.Failed, in.address+": "+in.err)
	case q.kind == engine.ReplanQuestion:
		m.failFinally(in)
	case tried(in.n):
		in.answer = ev.Value + " " + ev.Comment
		m.ready(in)
	default:
		human := in.n.Step.(*workflow.Human)
		value, ok := workflow.Chosen(in.reg.g.Offered(in.n), ev.Value)
		if !ok {
			value = ev.Value
		}
		in.passed.decision, in.passed.reason = value, ev.Comment
		labelled := has(edgesFrom(in.reg.g, in.n.ID), workflow.OnLabel)
		if value == "reject" && len(human.Options) == 0 && !labelled && !human.Custom {
			m.fail(in, fault{why: "rejected"})
			return
		}
		m.conclude(in, value)
	}
}

func (m *Model) budgetAnswered(ev *engine.Answered) {
	var in *minst
	for _, at := range m.insts {
		if at.address == ev.ID && at.held {
			in = at
		}
	}
	switch {
	case in == nil:
		m.wrong("the budget question of %s was answered, but no budget holds it back", ev.ID)
	case ev.Value == "allow":
		in.granted = true
	case ev.Value == "abort":
		m.end(m.root, engine.Cancelled, "aborted")
	default:
		var limits workflow.Limits
		usd, _ := m.left(m.holder(in))
		f := m.holder(in)
		need, _ := m.factsOf(in).May.CostUSD.Amount()
		if keeps := m.factsOf(in).Keeps; f.limits.CostUSD > 0 && (!keeps && need > usd+1e-9 || keeps && usd < 1e-9) {
			fmt.Sscan(strings.TrimPrefix(ev.Value, "$"), &limits.CostUSD)
		} else {
			fmt.Sscan(ev.Value, &limits.Tokens)
		}
		m.raised(limits)
	}
}

// raised raises the limits of the run, and those of workflows in it that hold tasks back.
// It never adds a limit.
func (m *Model) raised(l workflow.Limits) {
	raise := func(f *mframe) {
		higher(&f.limits.Steps, l.Steps)
		higher(&f.limits.Parallel, l.Parallel)
		higher(&f.limits.Depth, l.Depth)
		higher(&f.limits.Runtime, l.Runtime)
		higher(&f.limits.CostUSD, l.CostUSD)
		higher(&f.limits.Tokens, l.Tokens)
	}
	raise(m.root.frame)
	for _, in := range m.insts {
		if in.phase == "ready" && in.held {
			for _, f := range framesOf(in) {
				raise(f)
			}
			in.granted = in.granted || l.CostUSD > 0 || l.Tokens > 0
		}
	}
}

func higher[N int | int64 | float64 | time.Duration](limit *N, to N) {
	if *limit > 0 {
		*limit = max(*limit, to)
	}
}
