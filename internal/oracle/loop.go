package oracle

import (
	"slices"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func (m *Model) startLoop(in *minst, s *workflow.Loop) {
	in.phase = "inside"
	in.body = &mregion{g: &s.Body, scope: in.reg.scope, loop: in, round: 1, entry: in.from, vars: in.vars}
	in.exits = map[*workflow.Edge]*mexit{}
	for _, e := range exitsOf(&s.Body) {
		in.exits[e] = &mexit{}
	}
	m.enter(in.body)
}

func (m *Model) roundSettled(reg *mregion) {
	loop := reg.loop
	most := loop.n.Step.(*workflow.Loop).Max
	if most == 0 {
		most = 50
	}
	switch {
	case len(reg.again) == 0:
		m.endLoop(loop)
	case reg.round >= most:
		m.limitLoop(loop)
	default:
		next := &mregion{g: reg.g, scope: reg.scope, loop: loop, round: reg.round + 1, entry: reg.again}
		for _, p := range reg.again {
			next.vars = next.vars.merge(p.vars)
		}
		for _, x := range loop.exits {
			x.last = "dead"
		}
		loop.body = next
		m.enter(next)
	}
}

// limitLoop ends a loop that would continue at its bound.
func (m *Model) limitLoop(loop *minst) {
	exits := exitsOf(loop.body.g)
	if slices.ContainsFunc(exits, func(e *workflow.Edge) bool { return loop.exits[e].ever }) {
		m.endLoop(loop)
		return
	}
	var forced []*workflow.Edge
	if only := theOnly(exits, func(e *workflow.Edge) bool { return e.On == workflow.OnElse }); only != nil {
		forced = only
	} else {
		forced = theOnly(exits, func(e *workflow.Edge) bool { return !onlyOnTrouble(e) })
	}
	if forced == nil || m.isHuman(loop, forced[0].From) || loop.reg.scope.newest[forced[0].From] == nil {
		m.failAtLimit(loop)
		return
	}
	from := loop.reg.scope.newest[forced[0].From]
	for _, e := range forced {
		loop.exits[e].settle("live", mparcel{by: from, vars: from.vars, forced: true})
		if e.To == workflow.End {
			m.pathEnded(from)
		}
	}
	m.endLoop(loop)
}

// theOnly returns the edges of one node under one condition, if no others qualify.
func theOnly(exits []*workflow.Edge, qualifies func(*workflow.Edge) bool) []*workflow.Edge {
	var list []*workflow.Edge
	for _, e := range exits {
		if !qualifies(e) {
			continue
		}
		if len(list) > 0 && (e.From != list[0].From || e.On != list[0].On || e.Label != list[0].Label || e.When.Text != list[0].When.Text) {
			return nil
		}
		list = append(list, e)
	}
	return list
}

func (m *Model) isHuman(loop *minst, id string) (human bool) {
	loop.body.g.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if n.ID == id {
			_, human = n.Step.(*workflow.Human)
		}
	})
	return human
}

// failAtLimit fails the node that took the back edge. Its body is settled, so only its
// exits can still change.
func (m *Model) failAtLimit(loop *minst) {
	by := loop.body.by
	by.limited, by.atLimit = by.output, true
	by.status, by.output, by.err = engine.Failed, nil, m.worded(by, "the loop reached its limit without an exit")
	leaves := func(e *workflow.Edge) bool { return e.From == by.n.ID && e.On == workflow.OnFailure }
	handled := slices.ContainsFunc(exitsOf(loop.body.g), leaves)
	if m.waitsForPlan(by, handled) {
		delete(by.reg.settled, by.n.ID)
		return
	}
	text := by.address + ": " + by.err
	for _, e := range exitsOf(loop.body.g) {
		if leaves(e) {
			loop.exits[e].settle("live", mparcel{by: by, vars: by.vars, failed: by})
		}
	}
	switch {
	case handled:
	case by.n.OnError == workflow.Stop || by.n.OnError == workflow.Replan:
		m.end(by.reg.scope, engine.Failed, text)
		return
	case by.n.OnError == workflow.SkipDependents:
		by.reg.scope.tolerate(text)
		for _, e := range exitsOf(loop.body.g) {
			if e.From == by.n.ID && !onlyOnTrouble(e) {
				loop.exits[e].settle("poisoned", mparcel{})
			}
		}
	default:
		by.reg.scope.tolerate(text)
	}
	m.endLoop(loop)
}

func (m *Model) endLoop(loop *minst) {
	loop.status, loop.phase, loop.ended = engine.Success, "ended", m.clock
	exits := exitsOf(loop.body.g)
	for _, e := range exits {
		if x := loop.exits[e]; x.final() == "live" {
			loop.output, loop.made = x.parcel.value(), m.trees(x.parcel.by)
			break
		}
	}
	loop.reg.scope.newest[loop.n.ID] = loop
	for _, e := range exits {
		m.leave(loop.reg, e, loop.exits[e].final(), loop.exits[e].parcel)
	}
	m.nodeSettled(loop.reg, loop.n)
}
