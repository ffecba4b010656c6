package engine

import (
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// exitState is the state of an edge out of a loop, over all iterations.
type exitState struct {
	now  edgeState // in this iteration
	ever bool      // live in at least one of them
	p    parcel    // the newest that it carries
}

// rounds is the progress of a loop.
type rounds struct {
	in        *inst // the loop
	iteration int
	entry     []parcel // what the iteration began with
	again     []parcel // what the live back edges carry
	by        *inst    // the node that took the first of them
	exits     []exitState
}

// settle records the state of the edge in this iteration. The value of the newest live one is
// kept, and the latest of all writes that the live ones carry.
func (x *exitState) settle(state edgeState, p parcel) {
	x.now = state
	if state == live {
		p.env = merge(p.env, x.p.env)
		x.ever, x.p = true, p
	}
}

// final returns the state of the exit when the loop has ended.
func (x *exitState) final() edgeState {
	switch {
	case x.now == poisoned:
		return poisoned
	case x.ever:
		return live
	default:
		return dead
	}
}

func (r *Run) startLoop(in *inst) {
	in.phase = nested
	body := &region{g: in.n.body, scope: in.scope()}
	body.loop = &rounds{in: in, iteration: 1, entry: slices.Clone(in.from()), exits: make([]exitState, len(in.n.body.exits))}
	in.body = body
	r.enter(body, in.env)
}

// iterationSettled starts the next iteration, or ends the loop.
func (r *Run) iterationSettled(reg *region) {
	l := reg.loop
	if len(l.again) == 0 {
		r.endLoop(reg)
		return
	}
	if l.iteration >= maxIterations(l.in.n) {
		r.limitLoop(reg)
		return
	}
	from, at := l.again, l.again[0].env
	for _, p := range from[1:] {
		at = merge(at, p.env)
	}
	// The entry parcels of the settled iteration are no longer needed.
	l.by, l.again, l.entry = nil, l.entry[:0], from
	for i := range l.exits {
		l.exits[i].now = dead
	}
	l.iteration++
	f := l.in.fact(Iterated, "")
	f.Attempt, f.Status = l.iteration, ""
	r.note(f)
	r.enter(reg, at)
}

func maxIterations(n *node) int {
	if m := n.does.(*workflow.Loop).Max; m > 0 {
		return m
	}
	return workflow.DefaultMaxIterations
}

// limitLoop ends a loop that has reached its maximum: through the exit that was live, through the
// only exit that may be taken automatically, or by failing the node that took the back edge.
func (r *Run) limitLoop(reg *region) {
	l, by := reg.loop, reg.loop.by
	l.again, l.by = nil, nil
	for i := range l.exits {
		if l.exits[i].ever {
			r.endLoop(reg)
			return
		}
	}
	forced := reg.g.onlyExit()
	if forced == nil || reg.scope.newest(forced.from) == nil {
		r.failLimit(reg, by)
		return
	}
	why := fmt.Sprintf("the loop ended after %d iterations without its condition", l.iteration)
	if by.status == Failed && r.version >= 8 {
		why += ": " + by.err
	}
	r.warn(by, "%s", why)
	for i, e := range reg.g.exits {
		if sameExit(e, forced) {
			from := reg.scope.newest(e.from)
			l.exits[i].settle(live, parcel{by: from, env: from.env, forced: true})
			if e.ends() {
				from.scope().pathEnded(from)
			}
		}
	}
	r.endLoop(reg)
}

// onlyExit returns the exit that may be taken without its condition: the only else, otherwise the
// only exit, but never one that depends on a person's decision. Edges of one node with the same
// condition count as one exit.
func (g *graph) onlyExit() *edge {
	var exit, other *edge
	exits, elses := 0, 0
	for _, e := range g.exits {
		if e.def.On == workflow.OnFailure || e.def.On == workflow.OnTimeout {
			continue
		}
		if e.def.On == workflow.OnElse && (other == nil || !sameExit(e, other)) {
			other = e
			elses++
		}
		if exit == nil || !sameExit(e, exit) {
			exit = e
			exits++
		}
	}
	switch {
	case elses == 1:
		exit = other
	case exits != 1:
		return nil
	}
	if _, human := exit.from.does.(*workflow.Human); human {
		return nil
	}
	return exit
}

func sameExit(a, b *edge) bool {
	return a.from == b.from && a.def.On == b.def.On && a.def.Label == b.def.Label && a.def.When.Text == b.def.When.Text
}

// failLimit fails the node that took the back edge. Inside the body everything is settled, so
// only an error edge that leaves the loop can handle the failure.
func (r *Run) failLimit(reg *region, by *inst) {
	by.status, by.output, by.limited, by.atLimit = Failed, nil, by.output, true
	by.err = "the loop reached its limit without an exit"
	leaving := func(e *edge) bool { return e.def.On == workflow.OnFailure && len(e.leaves) > 0 }
	handled := slices.ContainsFunc(by.n.out, leaving)
	r.tell(by, StepEnded, by.err)
	if r.mayReplan(by, handled) && r.version >= 4 {
		reg.reopen(by)
		r.askReplan(by)
		return
	}
	onError := by.n.def.OnError
	for _, e := range by.n.out {
		switch {
		case leaving(e):
			reg.loop.exits[e.leaves[0]].settle(live, parcel{by: by, env: by.env, failed: by})
		case len(e.leaves) > 0 && !handled && onError == workflow.SkipDependents:
			reg.loop.exits[e.leaves[0]].settle(skipState(e, poisoned), parcel{})
		}
	}
	text := by.address + ": " + by.err
	switch {
	case handled:
	case onError == workflow.Stop || onError == workflow.Replan:
		r.end(by.scope(), Failed, text)
		return
	default:
		by.scope().tolerate(text)
	}
	r.endLoop(reg)
}

// reopen makes a region wait again for an instance whose edges are settled, so that the instance is
// cancelled with the region.
func (reg *region) reopen(in *inst) {
	reg.nodes[in.n.local].settled = false
	reg.open++
}

// endLoop settles the exits in the region around the loop.
func (r *Run) endLoop(reg *region) {
	loop, exits := reg.loop.in, reg.loop.exits
	loop.status = Success
	r.over(loop)
	for i := range exits {
		if exits[i].final() == live {
			loop.output, loop.trees = exits[i].p.value(), exits[i].p.by.trees // the loop's result is what leaves it
			break
		}
	}
	loop.scope().remember(loop)
	for i := range exits {
		x := &exits[i]
		r.leave(loop.reg, reg.g, i, x.final(), x.p)
	}
	r.settled(loop.reg, loop.n)
}

// leave passes the state of exit i of a loop's body g to the region around the loop: to its
// target, or to the next loop that it leaves.
func (r *Run) leave(around *region, g *graph, i int, state edgeState, p parcel) {
	e := g.exits[i]
	depth := 1
	for at := e.from.g; at != g; at = at.owner.g {
		depth++
	}
	switch {
	case depth < len(e.leaves):
		around.loop.exits[e.leaves[depth]].settle(state, p)
	case e.to != nil:
		r.arrive(around, e, state, p)
	}
}
