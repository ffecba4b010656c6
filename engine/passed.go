package engine

import (
	"cmp"
	"slices"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// passed is what a choice, a router or a person passes on to the next step: the outputs that
// reached it, and what was decided.
type passed struct {
	from     []*inst // whose results reached it, possibly through others that pass them on
	decision string
	reason   string
	workers  []*inst // of a choice: the steps that it follows
}

// hands reports whether a step after the node works on what reached the node.
func (n *node) hands() bool {
	switch n.does.(type) {
	case *workflow.Choice, *workflow.Human:
		return true
	case *workflow.Task:
		return len(n.place.Decide) > 0
	case *workflow.Call, *workflow.Combine, *workflow.Loop, *workflow.Each:
	}
	return false
}

// reach adds what an edge carries. A choice also passes on earlier decisions.
func (h *passed) reach(p *parcel, choice bool) {
	if before := p.decided(); before != nil && choice {
		h.decision, h.reason = cmp.Or(h.decision, before.decision), cmp.Or(h.reason, before.reason)
	}
	for _, in := range p.sources() {
		if !slices.Contains(h.from, in) {
			h.from = append(h.from, in)
		}
	}
}

// decided returns what the source of an edge passes on, or nil if it has its own result or
// failed.
func (p *parcel) decided() *passed {
	if p.failed == p.by {
		return nil
	}
	return p.by.passed
}

// sources returns the steps whose results, or errors, an edge carries.
func (p *parcel) sources() []*inst {
	if p.tolerated {
		return nil
	}
	if h := p.decided(); h != nil {
		return h.from
	}
	return []*inst{p.by}
}

// decided records what an instance decided, for the step after it. A choice without a question
// passes on what was decided before it.
func (in *inst) decided(v extract.Decision, said any) {
	if in.passed == nil || in.n.isChoice() && !in.n.place.Asks {
		return
	}
	in.passed.decision = cmp.Or(v.Label, in.passed.decision, string(workflow.OnElse))
	if reason, ok := extract.Field(whole(said), "reason"); ok {
		in.passed.reason = workflow.FormatText(reason)
	}
}

// received returns the outputs that a task receives.
func (r *Run) received(in *inst) []Received {
	if !in.n.receives || r.version < 2 {
		return nil
	}
	var list []Received
	seen := map[*inst]bool{} // an output that arrives on two paths is listed once
	for _, p := range in.from() {
		h := cmp.Or(p.decided(), &passed{})
		known := len(list)
		for _, source := range p.sources() {
			if value := source.result(); value != nil && !seen[source] {
				seen[source] = true
				list = append(list, Received{source.n.def.ID, shown(value), h.decision, h.reason})
			}
		}
		if len(list) == known && h.decision != "" {
			list = append(list, Received{Step: p.by.n.def.ID, Decision: h.decision, Reason: h.reason})
		}
	}
	return list
}

// result returns the output or the error of a step that has ended.
func (in *inst) result() any {
	if in.err != "" {
		return in.err
	}
	return in.output
}

// shown returns the output of the instance as shown to people: for a question, that is the
// answer.
func (in *inst) shown() any {
	if !in.wasAsked() || in.status != Success {
		return in.output
	}
	return map[string]any{"decision": in.passed.decision, "reason": in.passed.reason}
}

// wasAsked reports whether an agent was asked the question of a choice.
func (in *inst) wasAsked() bool { return in.n.place.Asks && in.attempt > 0 }

// isAnswered reports whether the question of a choice need not be asked: the value that reached
// it is exactly one of its labels, or is the answer of the person who is asked the question.
func (r *Run) isAnswered(in *inst, reached any) bool {
	byPerson := false
	for _, p := range in.from() {
		if byPerson = p.by.n.answers && p.failed != p.by; !byPerson {
			break
		}
	}
	v := r.label(in.n, whole(reached))
	return byPerson || v.Matched && !v.Loose
}

// about returns the inputs of a question that no step leads to: the inputs of its workflow and,
// in a for_each, the item.
func (in *inst) about() []Input {
	if !in.n.place.Asks {
		return nil
	}
	var list []Input
	if len(in.from()) == 0 {
		inputs := in.scope().frame.inputs
		for _, name := range sorted.Keys(inputs) {
			list = append(list, Input{name, inputs[name]})
		}
	}
	if each := in.scope().each(); each != nil {
		list = append(list, Input{"item", each.items[in.scope().item]})
	}
	return list
}
