package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// mhandoff is work that an attempt has handed off.
type mhandoff struct {
	in       *minst // the task that handed it off
	given    string // the work
	scope    *mscope
	spawned  bool // without waiting for it
	awaited  bool // by the attempt that is running
	detached bool
	gone     bool // with the workspace of the attempt that handed it off
}

func (h *mhandoff) task() *minst { return h.scope.body.insts[h.scope.body.g.Nodes[0].ID] }

// result returns the status and output of the work.
func (h *mhandoff) result() string {
	if t := h.task(); t != nil && t.phase == "ended" && t.status != engine.Cancelled && t.status != engine.Skipped {
		return fmt.Sprintf("%s %s %s", t.address, t.status, workflow.FormatJSON(t.output))
	}
	if h.scope.over {
		return fmt.Sprintf("%s %s null", h.in.address+"/"+h.scope.body.g.Nodes[0].ID, h.scope.ending)
	}
	return fmt.Sprintf("%s running null", h.in.address+"/"+h.scope.body.g.Nodes[0].ID)
}

// mayHandOff reports whether an attempt may hand off work to an agent.
func (m *Model) mayHandOff(in *minst, ev *engine.HandoffAsked) bool {
	if ev.ID != "" {
		return in.byID(ev.ID) != nil
	}
	top, depth := in, 1
	for ; top.reg.scope.frame.handoff != nil; depth++ {
		top = top.reg.scope.frame.handoff.in
	}
	may := top.n.Task().Handoffs
	if may == nil {
		return false
	}
	count := 0
	for _, other := range m.insts { // what was over when the plan changed belongs to the task at the same address
		if other != top && other.top().address == top.address && !other.gone() {
			count++
		}
	}
	if ev.Detach && (!may.Detach || in.same(ev) == nil && !in.reserves(ev)) {
		return false
	}
	most, deepest := may.Limits()
	return depth <= deepest && slices.Contains(may.To, ev.Definition.Body.Nodes[0].Task().Agent) && (count < most || in.same(ev) != nil)
}

// handedOffBy returns the task that handed off the work of an instance, or nil.
func (in *minst) handedOffBy() *minst {
	if h := in.reg.scope.frame.handoff; h != nil {
		return h.in
	}
	return nil
}

// Admits reports whether an attempt may hand work off.
func (m *Model) Admits(ev *engine.HandoffAsked) bool {
	i := slices.IndexFunc(m.attempts, func(in *minst) bool { return in.address == ev.Address && in.attempt == ev.Attempt })
	return i >= 0 && m.attempts[i].phase == "running" && !m.attempts[i].expired && m.mayHandOff(m.attempts[i], ev)
}

func (in *minst) same(ev *engine.HandoffAsked) *mhandoff {
	for _, h := range slices.Backward(in.handed) {
		t := h.task()
		works := h.scope.ending == "" && !h.scope.over && (t == nil || t.phase != "ended")
		if h.given == given(ev) && !h.gone && (works || t != nil && t.status == engine.Success) {
			return h
		}
	}
	return nil
}

// byID returns earlier work of an instance by its id.
func (in *minst) byID(id string) *mhandoff {
	for _, h := range in.handed {
		if in.address+"/"+h.scope.body.g.Nodes[0].ID == id && !h.gone {
			return h
		}
	}
	return nil
}

// gone reports whether the work of an instance was forgotten.
func (in *minst) gone() bool {
	for h := in.reg.scope.frame.handoff; h != nil; h = h.in.reg.scope.frame.handoff {
		if h.gone {
			return true
		}
	}
	return false
}

// forgetHandoffs forgets what an attempt that has ended handed off, if the files went with its workspace.
func (m *Model) forgetHandoffs(in *minst) {
	_, task := in.n.Step.(*workflow.Task)
	if !task || !own(in) && !merges(in) {
		return
	}
	for _, h := range in.handed {
		if h.detached {
			continue
		}
		if t := h.task(); !h.gone && (t == nil || t.phase != "ended") {
			m.end(h.scope, engine.Cancelled, "")
		}
		h.gone = true
	}
}

// reserves reports whether detached work names an amount for every budget that applies.
func (in *minst) reserves(ev *engine.HandoffAsked) bool {
	may := engine.NoFacts.May
	if ev.Facts != nil {
		may = ev.Facts.May
	}
	_, cost := may.CostUSD.Amount()
	_, tokens := may.Tokens.Amount()
	for f := in.reg.scope.frame; f != nil; f = f.around {
		if f.limits.CostUSD > 0 && !cost || f.limits.Tokens > 0 && !tokens {
			return false
		}
	}
	return true
}

func given(ev *engine.HandoffAsked) string {
	return cmp.Or(ev.Key, workflow.Print(ev.Definition)+workflow.FormatJSON(ev.Inputs))
}

func (m *Model) handOff(in *minst, ev *engine.HandoffAsked) {
	if !m.mayHandOff(in, ev) {
		m.wrong("%s may not hand work off", in.address)
		return
	}
	h := in.byID(ev.ID)
	if ev.ID == "" {
		h = in.same(ev)
	}
	if h == nil {
		n := ev.Definition.Body.Nodes[0]
		n.ID = fmt.Sprintf("handoff-%d", len(in.handed)+1)
		f := &mframe{w: &workflow.Workflow{Name: ev.Definition.Name, Body: workflow.Graph{Nodes: []workflow.Node{n}}}, around: in.reg.scope.frame, prefix: in.address + "/", since: m.active, facts: ev.Facts, inputs: ev.Inputs, limits: ev.Definition.Limits}
		h = &mhandoff{in: in, given: given(ev), detached: ev.Detach}
		f.handoff = h
		f.scope = newScope(f, in, &f.w.Body, 0)
		h.scope = f.scope
		m.frames = append(m.frames, f)
		in.handed = append(in.handed, h)
		m.enter(f.scope.body)
	}
	h.spawned = h.spawned || !ev.Blocking
	h.awaited = h.awaited || ev.Blocking && strings.HasSuffix(h.result(), " running null")
	m.rest(in)
}

func (in *minst) awaits() bool {
	return slices.ContainsFunc(in.handed, func(h *mhandoff) bool { return h.awaited })
}

// unawait records that an attempt no longer waits for its handoffs.
func (in *minst) unawait() {
	for _, h := range in.handed {
		h.awaited = false
	}
}

// unawaited records that nobody waits for a handoff any more.
func (m *Model) unawaited(id string) {
	for _, in := range m.attempts {
		for _, h := range in.handed {
			if h.awaited && in.address+"/"+h.scope.body.g.Nodes[0].ID == id {
				h.awaited = false
				m.rest(in)
				return
			}
		}
	}
	m.wrong("no attempt waits for %s", id)
}

// handoffOver passes a result to the attempt that waits for it, and cancels other work that the
// instance would still have waited for.
func (m *Model) handoffOver(in *minst) {
	if h := in.reg.scope.frame.handoff; h != nil && h.awaited {
		h.awaited = false
		m.rest(h.in)
	}
	for _, h := range in.handed {
		if t := h.task(); (!h.spawned || folderOf(in) != "" && in.status != engine.Success) && (t == nil || t.phase != "ended") {
			m.end(h.scope, engine.Cancelled, "")
		}
	}
}

// handoffEnded records that no part of a handoff is running any more.
func (m *Model) handoffEnded(s *mscope, status engine.Status, reason string) {
	h := s.frame.handoff
	if h.awaited {
		h.awaited = false
		m.rest(h.in)
	}
	if status == engine.Partial || h.spawned && (status == engine.Failed || status == engine.TimedOut) {
		h.in.reg.scope.tolerate(reason)
	}
	for at := h.in.reg.scope; at != nil; at = at.parent() {
		m.later(func() { m.maybeOver(at) })
	}
}

// handsOff reports whether work that was handed off in a scope is in progress.
func (m *Model) handsOff(s *mscope) bool {
	return slices.ContainsFunc(m.frames, func(f *mframe) bool {
		return f.handoff != nil && !f.scope.over && f.scope != s && s.contains(f.handoff.in)
	})
}
