package oracle

import (
	"fmt"
	"maps"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func (m *Model) call(in *minst, s *workflow.Call) {
	in.attempt = 1
	w, above := m.bundle.Called[s.Workflow], in.reg.scope.frame
	f := &mframe{w: w, around: above, prefix: in.address + "/", limits: w.Limits, since: m.active, inputs: map[string]any{}}
	if w == nil {
		m.fail(in, fault{why: "there is no such workflow"})
		return
	}
	depth := 1
	for at := f; at != nil; at = at.around {
		depth++
	}
	if depth-1 > m.root.frame.limits.Depth {
		m.fail(in, fault{why: "depth"})
		return
	}
	for _, name := range m.takes(w) {
		if v, ok := above.inputs[name]; ok {
			f.inputs[name] = v
		}
	}
	for _, b := range s.Inputs {
		f.inputs[b.Name] = m.fill(m.view(in, false), b.Value)
	}
	in.phase = "inside"
	if in.n.Timeout > 0 {
		m.setTimer(in, "timeout", mtimer{clock: m.clock + in.n.Timeout})
	}
	m.continueCall(in, f)
	m.begin(f, in)
}

// begin starts a workflow.
func (m *Model) begin(f *mframe, by *minst) {
	s := newScope(f, by, &f.w.Body, 0)
	f.scope = s
	if by == nil {
		m.root = s
	} else {
		by.child = s
	}
	m.frames = append(m.frames, f)
	given := f.inputs
	f.inputs = map[string]any{}
	for _, p := range f.w.Inputs {
		if p.HasDefault {
			f.inputs[p.Name] = p.Default
		}
	}
	maps.Copy(f.inputs, given)
	for name, value := range f.w.State {
		s.body.vars = s.body.vars.merge(mvars{name: {0, value}})
	}
	m.enter(s.body)
}

func (m *Model) callEnded(s *mscope, status engine.Status, output any, reason string) {
	in := s.owner
	m.clearTimers(in)
	switch status {
	case engine.Success, engine.Partial:
		in.reg.scope.tolerate(reason)
		m.conclude(in, output)
	default:
		m.fail(in, fault{why: reason, timeout: status == engine.TimedOut})
	}
}

func (m *Model) startEach(in *minst, s *workflow.Each) {
	value, err := parseExpr(s.Items.Text).Eval(m.view(in, false))
	items, ok := value.([]any)
	if err != nil || !ok {
		in.listed = true
		m.fail(in, fault{why: "for_each needs a list"})
		return
	}
	in.phase = "inside"
	in.each = &meach{items: items, open: map[int]*mscope{}, outputs: make([]any, len(items)), left: make([][]engine.Tree, len(items))}
	m.moreItems(in)
}

func (m *Model) moreItems(in *minst) {
	x, s := in.each, in.n.Step.(*workflow.Each)
	for ; !x.stopped && x.next < len(x.items) && (s.Parallel == 0 || len(x.open) < s.Parallel); x.next++ {
		item := newScope(in.reg.scope.frame, in, &s.Body, x.next)
		item.body.entry, item.body.vars = in.from, in.vars
		if s.As != "" {
			item.body.vars = m.write(in.vars, s.As, x.items[x.next])
		}
		x.open[x.next] = item
		m.enter(item.body)
	}
	if len(x.open) > 0 {
		return
	}
	for ; x.next < len(x.items); x.next++ { // items that did not start because another one failed
		never := newScope(in.reg.scope.frame, in, &s.Body, x.next)
		for i := range s.Body.Nodes {
			m.noteSkipped(never.body, &s.Body.Nodes[i])
		}
	}
	if x.failed != "" && in.n.OnError != workflow.Continue {
		m.fail(in, fault{why: x.failed})
		return
	}
	m.conclude(in, x.outputs)
}

func (m *Model) itemEnded(s *mscope, status engine.Status, output any, reason string) {
	in := s.owner
	x := in.each
	delete(x.open, s.item)
	switch {
	case status == engine.Success || status == engine.Partial:
		x.outputs[s.item] = output
		m.keepItem(in, s)
		in.reg.scope.tolerate(reason)
	default:
		if x.failed == "" {
			x.failed = fmt.Sprintf("item %d: %s", s.item, reason)
		}
		if in.n.OnError == workflow.Continue {
			in.reg.scope.tolerate(in.address + ": " + x.failed)
		} else if in.n.OnError != workflow.SkipDependents && !x.stopped {
			x.stopped = true
			for i := range x.items {
				if other := x.open[i]; other != nil {
					m.end(other, engine.Cancelled, "another item failed")
				}
			}
		}
	}
	m.moreItems(in)
}
