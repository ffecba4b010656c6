package engine

import (
	"fmt"

	"github.com/hocket-dev/hocket/workflow"
)

// region is one running graph: the body of a workflow, of an item, or of a loop (which uses the
// same region for every iteration).
//
// Invariant: every forward edge into a node of the region is settled exactly once per iteration,
// and open is the number of nodes that are not settled.
type region struct {
	g     *graph
	scope *scope
	loop  *rounds // of a loop's body; nil for the region of a scope
	nodes []nodeState
	open  int

	parcels  []parcel // what reaches the nodes, each node's from node.first on
	entryEnv *env     // what the entries start with, which they do at once
}

// entry returns the parcels that reach the entries.
func (reg *region) entry() []parcel {
	switch {
	case reg.loop != nil:
		return reg.loop.entry
	case reg.scope.each() != nil:
		return reg.scope.owner.from()
	default:
		return nil
	}
}

// nodeState is what has reached a node of a region so far.
type nodeState struct {
	inst     *inst
	left     int32 // number of in-edges that are not settled
	live     int32 // number of live in-edges
	counted  int32 // number of live in-edges that count for a join
	poisoned bool  // an in-edge is poisoned
	decided  bool  // it runs, or is skipped
	settled  bool  // its out-edges are settled
}

// parcel is what a live edge carries.
type parcel struct {
	by        *inst // the source of the edge
	env       *env
	failed    *inst // for an error edge, the node that failed
	live      bool
	tolerated bool // its source failed, but the run continues
	forced    bool // the source did not choose the edge: a loop reached its maximum
}

// value returns the value of previous.output.
func (p *parcel) value() any {
	if p.failed == p.by {
		return p.by.err
	}
	return p.by.output
}

// seq returns the sequence number of its source's success, or 0 if there is none.
func (p *parcel) seq() int {
	if p.failed == p.by || p.tolerated || p.forced {
		return 0
	}
	return p.by.seq
}

// edgeState is how an edge was settled.
type edgeState int8

const (
	dead edgeState = iota
	live
	poisoned
)

// enter starts the region, or its next iteration, from its entries.
func (r *Run) enter(reg *region, at *env) {
	reg.entryEnv = at
	reg.open = len(reg.g.nodes)
	if reg.nodes == nil {
		reg.nodes = make([]nodeState, reg.open)
		reg.parcels = make([]parcel, reg.g.parcels)
	}
	clear(reg.parcels)
	for i, n := range reg.g.nodes {
		reg.nodes[i] = nodeState{left: int32(len(n.in))}
	}
	r.push(job{enterRegion, reg, nil})
	if reg.open == 0 {
		r.push(job{settleRegion, reg, nil})
	}
}

func (reg *region) levels() int { return reg.scope.frame.p.depth }

// job is a decision that is due.
type job struct {
	what task
	reg  *region // for a job about a scope, the scope's own
	n    *node   // for decideNode
}

// task is the kind of a job.
type task int8

const (
	enterRegion  task = iota // its entries run
	decideNode               // enough of its in-edges are settled
	settleRegion             // all its nodes are settled
	endScope                 // it may be over
)

func (r *Run) push(j job) { r.jobs = append(r.jobs, j) }

// work does everything that is due, until only a new event can continue the run. It is a loop
// instead of a recursion because a chain of skipped nodes may be very long.
func (r *Run) work() {
	for r.drain(); r.unfold(); r.drain() {
	}
}

func (r *Run) drain() {
	for i := 0; i < len(r.jobs); i++ {
		switch j := r.jobs[i]; j.what {
		case enterRegion:
			for _, n := range j.reg.g.entries {
				r.decide(j.reg, n)
			}
		case decideNode:
			r.decide(j.reg, j.n)
		case settleRegion:
			r.regionSettled(j.reg)
		case endScope:
			r.scopeEnded(j.reg.scope)
		}
	}
	r.jobs = r.jobs[:0]
}

// settleEdge settles one edge from a node of reg.
func (r *Run) settleEdge(reg *region, e *edge, state edgeState, p parcel) {
	switch {
	case e.again:
		if state == live {
			reg.loop.again = append(reg.loop.again, p)
			if reg.loop.by == nil {
				reg.loop.by = reg.nodes[e.from.local].inst
			}
		}
	case len(e.leaves) > 0:
		reg.loop.exits[e.leaves[0]].settle(state, p)
	case e.to != nil:
		r.arrive(reg, e, state, p)
	}
}

// arrive passes the state of an edge to its target in reg.
func (r *Run) arrive(reg *region, e *edge, state edgeState, p parcel) {
	st := &reg.nodes[e.to.local]
	if st.left--; st.left < 0 {
		panic(fmt.Sprintf("engine: the edge from %s to %s was settled twice; it is now %d", reg.address(e.from), reg.address(e.to), state))
	}
	switch state {
	case dead:
	case live:
		if p.live = true; !st.decided {
			reg.parcels[e.to.first+e.slot] = p
		}
		st.live++
		if !p.tolerated || !e.to.wantsSuccess() {
			st.counted++
		}
	case poisoned:
		st.poisoned = true
	}
	if need := e.to.need; st.left == 0 || need > 0 && st.counted >= need {
		r.push(job{decideNode, reg, e.to})
	}
}

// wantsSuccess reports whether only edges of successful nodes count for the join until all edges
// are settled.
func (n *node) wantsSuccess() bool {
	c, ok := n.does.(*workflow.Combine)
	return ok && c.Strategy == workflow.First
}

// decide decides whether a node runs, is skipped or fails, when enough of its in-edges are
// settled.
func (r *Run) decide(reg *region, n *node) {
	st := &reg.nodes[n.local]
	if st.decided {
		return
	}
	st.decided = true
	switch {
	case len(n.in) == 0, n.need > 0 && st.live >= n.need:
		r.run(reg, n)
	case st.poisoned:
		r.skip(reg, n, poisoned)
	case st.live == 0:
		r.skip(reg, n, dead)
	default:
		r.launch(r.newInst(reg, n))
	}
}

func (r *Run) run(reg *region, n *node) {
	in := r.newInst(reg, n)
	for _, other := range n.rest {
		r.dropRest(reg, other)
	}
	r.launch(in)
}

// newInst returns the instance of a node that is about to run.
func (r *Run) newInst(reg *region, n *node) *inst {
	in := r.instance(reg, n)
	in.status, in.env, in.ended = Running, reg.entryEnv, notYet
	reg.nodes[n.local].inst = in
	if n.isStep() {
		r.list(in)
	}
	if len(n.in) > 0 {
		in.env = nil
		came := reg.parcels[n.first:][:len(n.in)]
		for _, p := range came {
			if p.live {
				came[in.came] = p
				in.came++
				in.env = merge(in.env, p.env)
			}
		}
	}
	r.follow(in)
	return in
}

// instance returns a new instance that starts now.
func (r *Run) instance(reg *region, n *node) *inst {
	if r.fresh++; r.fresh > mostSteps {
		panic("one event leads to more than a million steps")
	}
	in := &inst{n: n, reg: reg, address: reg.address(n), started: r.elapsed, ended: r.elapsed, iteration: int32(reg.iterationHere())}
	r.continueCounts(in)
	return in
}

// launch starts what a node does, unless too few branches of its join succeeded.
func (r *Run) launch(in *inst) {
	if r.rehearsal != "" && in.address == r.rehearsal {
		in.phase, r.heldBack = held, in
		return
	}
	fault := r.receive(in)
	if st, need := &in.reg.nodes[in.n.local], in.n.need; len(in.n.in) > 0 && st.live < need {
		r.fail(in, &Fault{Kind: FaultError, Message: fmt.Sprintf("quorum: %d of the %d branches it needs came through", st.live, need)})
		return
	}
	if fault != nil {
		r.fail(in, fault)
		return
	}
	switch s := in.n.does.(type) {
	case *workflow.Task, *workflow.Human:
		r.ready(in)
	case *workflow.Call:
		r.call(in, s)
	case *workflow.Choice:
		r.choose(in)
	case *workflow.Combine:
		r.combine(in, s)
	case *workflow.Loop:
		r.startLoop(in)
	case *workflow.Each:
		r.startEach(in, s)
	}
}

// isStep reports whether instances of the node are listed as steps of the result.
func (n *node) isStep() bool {
	switch n.does.(type) {
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Combine:
		return true
	case *workflow.Choice, *workflow.Loop, *workflow.Each:
	}
	return false
}

// list adds an instance to the steps of the result.
func (r *Run) list(in *inst) { r.steps = append(r.steps, in) }

// skip settles a node that does not run.
func (r *Run) skip(reg *region, n *node, how edgeState) {
	r.noteSkipped(reg, n)
	r.settleAll(reg, n, how)
}

// settleAll settles all out-edges of a node in the same way; for a loop, these are its exits.
func (r *Run) settleAll(reg *region, n *node, how edgeState) {
	if n.isLoop() {
		for i, e := range n.body.exits {
			r.leave(reg, n.body, i, skipState(e, how), parcel{})
		}
	}
	for _, e := range n.out {
		r.settleEdge(reg, e, skipState(e, how), parcel{})
	}
	r.settled(reg, n)
}

// skipState returns the state of an edge of a skipped node: error edges are never poisoned.
func skipState(e *edge, how edgeState) edgeState {
	if e.def.On == workflow.OnFailure || e.def.On == workflow.OnTimeout {
		return dead
	}
	return how
}

// noteSkipped records that a node, and everything in it if it is a loop, will not run.
func (r *Run) noteSkipped(reg *region, n *node) {
	switch n.does.(type) {
	case *workflow.Loop:
		// Pretend that its first iteration has begun, so that the addresses are right.
		body := &region{g: n.body, scope: reg.scope, loop: &rounds{in: &inst{reg: reg}, iteration: 1}}
		for _, inner := range n.body.nodes {
			r.noteSkipped(body, inner)
		}
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Combine, *workflow.Each:
		in := r.instance(reg, n)
		in.status, in.phase = Skipped, finished
		in.scope().remember(in)
		r.list(in)
		r.tell(in, StepSkipped, "")
	case *workflow.Choice:
	}
}

// settled records that all out-edges of a node are settled.
func (r *Run) settled(reg *region, n *node) {
	reg.nodes[n.local].settled = true
	if reg.open--; reg.open == 0 {
		r.push(job{settleRegion, reg, nil})
	}
}

func (r *Run) regionSettled(reg *region) {
	if reg.open != 0 { // its scope has ended
		return
	}
	if reg.loop != nil {
		r.iterationSettled(reg)
		return
	}
	reg.scope.bodyDone = true
	r.scopeEnded(reg.scope)
}

// dropRest cancels a node that only leads to a join which has enough edges.
func (r *Run) dropRest(reg *region, n *node) {
	st := &reg.nodes[n.local]
	if st.settled {
		return
	}
	if !st.decided {
		st.decided = true
		r.skip(reg, n, dead)
		return
	}
	r.cancelInst(st.inst)
	r.settleAll(reg, n, dead)
}
