package oracle

import (
	"slices"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func (s *mscope) tolerate(text string) {
	if s.tolerated == "" {
		s.tolerated = text
	}
}

func newScope(f *mframe, owner *minst, g *workflow.Graph, item int) *mscope {
	s := &mscope{frame: f, owner: owner, item: item, newest: map[string]*minst{}}
	s.body = &mregion{g: g, scope: s, round: 1}
	return s
}

// parent returns the scope around an item or a call.
func (s *mscope) parent() *mscope {
	if s.owner == nil {
		return nil
	}
	return s.owner.reg.scope
}

func (s *mscope) isItem() bool { return s.owner != nil && s.owner.each != nil }

// contains reports whether an instance is in the scope, or in what it calls and repeats.
func (s *mscope) contains(in *minst) bool {
	for at := in.reg.scope; at != nil; at = at.parent() {
		if at == s {
			return true
		}
	}
	return false
}

func (m *Model) end(s *mscope, status engine.Status, reason string) {
	if s.ending != "" || s.over {
		return
	}
	s.ending, s.reason = status, reason
	m.cancelRegion(s.body)
	for _, f := range m.frames {
		if f.handoff != nil && f.handoff.in.reg.scope == s {
			m.end(f.scope, engine.Cancelled, "")
		}
	}
	m.later(func() { m.maybeOver(s) })
}

func (m *Model) cancelRegion(reg *mregion) {
	for i := range reg.g.Nodes {
		n := &reg.g.Nodes[i]
		switch {
		case reg.settled[n.ID]:
		case !reg.decided[n.ID]:
			m.noteSkipped(reg, n)
		case reg.insts[n.ID] != nil:
			m.cancel(reg.insts[n.ID])
		}
		reg.decided[n.ID], reg.settled[n.ID] = true, true
	}
}

// cancel ends an instance from outside.
func (m *Model) cancel(in *minst) {
	status := engine.Cancelled
	switch in.phase {
	case "stopping", "ended":
		return
	case "ready":
		if in.attempt == 0 {
			status = engine.Skipped
		}
	case "asked":
		if in.status != engine.Running { // it waits for a new plan
			status = in.status
		}
	case "inside":
		switch {
		case in.body != nil:
			m.cancelRegion(in.body)
		case in.child != nil:
			m.end(in.child, engine.Cancelled, "")
		case in.each != nil:
			for i := range in.each.items {
				if s := in.each.open[i]; s != nil {
					m.end(s, engine.Cancelled, "")
				}
			}
		}
	}
	if s := in.reg.scope; s.frame.handoff != nil && s.ending == engine.TimedOut {
		status = engine.TimedOut // the limit of a handoff is that of its task
	}
	in.status, in.ended = status, m.clock
	in.unawait()
	for _, h := range in.handed {
		m.end(h.scope, engine.Cancelled, "")
	}
	m.clearTimers(in)
	in.questions, in.kept = nil, nil
	if in.phase == "running" {
		in.phase = "stopping"
	} else {
		in.phase = "ended"
	}
	if status != engine.Skipped {
		in.reg.scope.newest[in.n.ID] = in
	}
}

// maybeOver passes the result of a scope on when nothing in it is in progress.
func (m *Model) maybeOver(s *mscope) {
	if m.plans.old != nil && s.owner == nil {
		return // until it is clear what is cancelled
	}
	if s.over || s.ending == "" && !s.done || slices.ContainsFunc(m.attempts, s.contains) || m.handsOff(s) {
		return
	}
	s.over = true
	if s.owner != nil && s.frame.handoff == nil {
		s.owner.done = max(s.owner.done, s.latest)
	}
	status, output, reason := m.outcome(s)
	if s.isItem() || s.owner != nil && s.owner.child == s {
		if s.owner.phase != "inside" {
			return
		}
	}
	switch {
	case s.owner == nil:
		m.ended = &engine.Finish{Status: status, Output: output, Error: reason}
		m.timers = map[string]mtimer{}
	case s.frame.handoff != nil:
		m.handoffEnded(s, status, reason)
	case s.isItem():
		m.itemEnded(s, status, output, reason)
	default:
		m.callEnded(s, status, output, reason)
	}
}

func (m *Model) outcome(s *mscope) (engine.Status, any, string) {
	if s.ending != "" {
		return s.ending, nil, s.reason
	}
	sinks := map[string]*minst{} // a later round replaces an earlier one
	for _, in := range s.sinks {
		if in.status == engine.Success && !in.continued {
			sinks[in.n.ID] = in
		}
	}
	if s.tolerated != "" && len(sinks) == 0 {
		return engine.Failed, nil, s.tolerated
	}
	output := any(nil)
	if text := s.frame.w.Output.Text; text != "" && !s.isItem() {
		output = m.template(&mview{m: m, scope: s, reg: s.body, vars: s.vars}, text)
	} else if len(sinks) == 1 {
		for _, in := range sinks {
			output = in.output
		}
	} else if len(sinks) > 1 {
		all := map[string]any{}
		for id, in := range sinks {
			all[id] = in.output
		}
		output = all
	}
	if s.tolerated != "" {
		return engine.Partial, output, s.tolerated
	}
	return engine.Success, output, ""
}
