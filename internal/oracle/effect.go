package oracle

import (
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// once reports whether the effect of an instance must happen once.
func once(in *minst) bool { return in.n.Once || in.once }

// effect describes what an instance does to the world, wherever it is in a plan.
func (m *Model) effect(in *minst) string {
	only := workflow.Node{ID: in.n.ID, Step: in.n.Step}
	return workflow.Print(&workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{only}}}) + m.asksFor(in)
}

// place records that the newest plan has an effect where an earlier one had it.
func (m *Model) place(in *minst) {
	if x := &m.plans; tried(in.n) && len(x.effects) > 0 {
		if e := m.effect(in); slices.Contains(x.effects[e], in.address) {
			x.placed[e+in.address] = true
		}
	}
}

// mayRepeat reports whether the first attempt of an instance may repeat an effect that must happen once:
// that of its own address in any plan, or one that is no longer at its place.
func (m *Model) mayRepeat(in *minst) bool {
	if in.agreed || in.attempt > in.base {
		return false
	}
	if in.moved = false; len(m.plans.effects) > 0 {
		e := m.effect(in)
		in.moved = slices.ContainsFunc(m.plans.effects[e], func(address string) bool {
			return address == in.address || !m.plans.placed[e+address]
		})
	}
	in.once = in.once || in.moved
	return in.unsure || in.happened || in.moved
}

// leaveDone ends a step whose effect has happened: with the result of the same effect in an earlier plan, if
// there is one that the step would read in the same way, otherwise with an empty output.
func (m *Model) leaveDone(in *minst) {
	ran := in.attempt > in.base
	in.attempt = max(1, in.attempt)
	e, newest := m.effect(in), (*mpast)(nil)
	usable := func(past *mpast) bool {
		return past != nil && past.status == engine.Success && reads(past.n) == reads(in.n)
	}
	for _, address := range m.plans.effects[e] {
		if past := m.plans.results[e+address]; usable(past) && (newest == nil || past.done > newest.done) {
			newest = past
		}
	}
	own := m.plans.memo[in.address]
	var f *fault
	switch kept := usable(own) && m.effect(own.minst) == e; {
	case kept && !ran:
		m.recall(in, own)
	case kept:
		f = m.endLike(in, own)
	case newest != nil:
		f = m.endLike(in, newest)
	default:
		f = m.succeed(in, "")
	}
	if f != nil {
		in.happened = true // only its output is missing
		m.fail(in, *f)
	}
}

// reads describes how a node gets its value from an output.
func reads(n *workflow.Node) string {
	out := n.Output
	out.Var = ""
	return fmt.Sprintf("%T %s", n.Step, workflow.FormatJSON(out))
}
