package engine

import (
	"fmt"

	"github.com/hocket-dev/hocket/workflow"
)

// region is one running graph: the body of a workflow, of an item, or of a loop
// (which uses the same region for every iteration).
//
// Invariant: every forward edge into a node of the region is settled exactly
// once per iteration, and open is the number of nodes that are not settled.
type region struct {
	g      *graph
	scope  *scope
	parent *region // the region that the loop stands in; nil for a scope's own
	loop   *inst   // the loop whose body this is; nil for a scope's own
	nodes  []nodeState
	one    [1]nodeState // nodes of a region with one node
	open   int

	parcels  []parcel // room for what reaches the nodes
	entry    []parcel // what reaches the entries
	entryEnv *env

	// of a loop's body
	iteration int
	number    any      // the iteration as a value, once somebody asks for it
	again     []parcel // what its live back edges bring
	againBy   *inst    // the node that took the first of them
	exits     []exitState
}

// nodeState is what has reached a node of a region so far.
type nodeState struct {
	left     int      // in-edges that are not settled
	live     int      // live ones
	counted  int      // live ones that count for a join
	poisoned bool     // one is poisoned
	decided  bool     // runs, or is skipped
	settled  bool     // its out-edges are settled
	from     []parcel // by in-edge, until the node is decided
	inst     *inst
}

// parcel is what a live edge brings.
type parcel struct {
	live   bool
	by     *inst // whose edge it is
	value  any   // what previous.output gives
	env    *env
	failed *inst // the node that failed, for an error edge

	seq       int  // when its source ended
	tolerated bool // its source failed, and the run goes on all the same
}

// edgeState is how an edge was settled.
type edgeState int8

const (
	dead edgeState = iota
	live
	poisoned
)

// enter starts the region, or its next iteration, from its entries.
func (r *Run) enter(reg *region, from []parcel, at *env) {
	reg.entry, reg.entryEnv = from, at
	reg.open = len(reg.g.nodes)
	if reg.nodes == nil {
		if reg.nodes = reg.one[:]; reg.open != 1 {
			reg.nodes = make([]nodeState, reg.open)
		}
		reg.parcels = make([]parcel, reg.g.parcels)
	}
	parcels := reg.parcels
	clear(parcels)
	for i, n := range reg.g.nodes {
		reg.nodes[i] = nodeState{left: len(n.in), from: parcels[:len(n.in):len(n.in)]}
		parcels = parcels[len(n.in):]
	}
	for _, n := range reg.g.entries {
		r.push(job{reg: reg, n: n})
	}
	if reg.open == 0 {
		r.push(job{reg: reg})
	}
}

func (reg *region) levels() int { return reg.scope.frame.p.depth }

// job is a decision that is due: about a node; about a region that has settled,
// where n is nil; about a scope that has ended, where reg is nil.
type job struct {
	reg   *region
	n     *node
	scope *scope
}

func (r *Run) push(j job) { r.jobs = append(r.jobs, j) }

// work does what is due, until only the outside can bring news. It is a loop
// and not a recursion because a chain of skipped nodes may be very long.
func (r *Run) work() {
	for r.next < len(r.jobs) {
		j := r.jobs[r.next]
		r.next++
		switch {
		case j.n != nil:
			r.decide(j.reg, j.n)
		case j.reg != nil:
			r.regionSettled(j.reg)
		default:
			r.scopeEnded(j.scope)
		}
	}
	r.jobs, r.next = r.jobs[:0], 0
}

// settleEdge settles one edge from a node of reg.
func (r *Run) settleEdge(reg *region, e *edge, state edgeState, p parcel) {
	switch {
	case e.again:
		if state == live {
			reg.again = append(reg.again, p)
			if reg.againBy == nil {
				reg.againBy = reg.nodes[e.from.local].inst
			}
		}
	case len(e.leaves) > 0:
		reg.exits[e.leaves[0]].settle(state, p, reg.levels())
	case e.to != nil:
		r.arrive(reg, e, state, p)
	}
}

// arrive brings the state of an edge to its target in reg.
func (r *Run) arrive(reg *region, e *edge, state edgeState, p parcel) {
	st := &reg.nodes[e.to.local]
	if st.left--; st.left < 0 {
		panic(fmt.Sprintf("engine: the edge from %s to %s was settled twice; it is now %d", reg.address(e.from), reg.address(e.to), state))
	}
	switch state {
	case dead:
	case live:
		if p.live = true; !st.decided {
			st.from[e.slot] = p
		}
		st.live++
		if !p.tolerated || !e.to.wantsSuccess() {
			st.counted++
		}
	case poisoned:
		st.poisoned = true
	}
	if need := e.to.def.Join.Need; st.left == 0 || need > 0 && st.counted >= need {
		r.push(job{reg: reg, n: e.to})
	}
}

// wantsSuccess says whether only edges of successful nodes count for the join,
// until all are settled.
func (n *node) wantsSuccess() bool {
	c, ok := n.def.Step.(*workflow.Combine)
	return ok && c.Strategy == workflow.First
}

// decide says whether a node runs, is skipped or fails, now that enough of its
// in-edges are settled.
func (r *Run) decide(reg *region, n *node) {
	st := &reg.nodes[n.local]
	if st.decided {
		return
	}
	st.decided = true
	need := n.def.Join.Need
	switch {
	case len(n.in) == 0, need > 0 && (st.counted >= need || st.live >= need):
		r.run(reg, n)
	case st.poisoned:
		r.skip(reg, n, poisoned)
	case st.live == 0:
		r.skip(reg, n, dead)
	case need > 0:
		in := r.newInst(reg, n)
		r.fail(in, &Fault{Kind: FaultError, Message: fmt.Sprintf("quorum: %d of the %d branches it needs came through", st.live, need)})
	default:
		r.run(reg, n)
	}
}

func (r *Run) run(reg *region, n *node) {
	in := r.newInst(reg, n)
	for _, other := range n.rest {
		r.dropRest(reg, other)
	}
	r.launch(in)
}

// newInst makes the instance of a node that was decided to run.
func (r *Run) newInst(reg *region, n *node) *inst {
	st := &reg.nodes[n.local]
	in := &inst{n: n, reg: reg, scope: reg.scope, started: r.now, from: st.from, env: reg.entryEnv, status: Running, iteration: int32(reg.iterationHere())}
	in.address = reg.address(n)
	st.inst = in
	if n.isStep() {
		r.list(in)
	}
	if len(n.in) == 0 {
		in.from = reg.entry
	} else {
		in.from, in.env = st.from[:0], nil
		for _, p := range st.from {
			if p.live {
				in.from = append(in.from, p)
				in.env = merge(reg.levels(), in.env, p.env)
			}
		}
	}
	in.follow()
	return in
}

// launch starts what a node does.
func (r *Run) launch(in *inst) {
	if r.rehearsal != "" && in.address == r.rehearsal {
		in.phase, r.heldBack = held, in
		return
	}
	switch s := in.n.def.Step.(type) {
	case *workflow.Task:
		r.admitTask(in)
	case *workflow.Human:
		r.ask(in, s)
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

// isStep says whether instances of the node are steps of the result.
func (n *node) isStep() bool {
	switch n.def.Step.(type) {
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Combine:
		return true
	case *workflow.Choice, *workflow.Loop, *workflow.Each:
	}
	return false
}

// list puts an instance among the steps of the result.
func (r *Run) list(in *inst) { r.steps = append(r.steps, in) }

// skip settles a node that does not run.
func (r *Run) skip(reg *region, n *node, how edgeState) {
	r.noteSkipped(reg, n)
	r.settleAll(reg, n, how)
}

// settleAll settles all out-edges of a node alike; a loop's are its exits.
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

// skipState is what a skipped node does to an edge: error edges are never
// poisoned.
func skipState(e *edge, how edgeState) edgeState {
	if e.def.On == workflow.OnFailure || e.def.On == workflow.OnTimeout {
		return dead
	}
	return how
}

// noteSkipped records that a node, and what is in a loop, will not run.
func (r *Run) noteSkipped(reg *region, n *node) {
	switch n.def.Step.(type) {
	case *workflow.Loop:
		// As if its first iteration had begun, for the sake of the addresses.
		body := &region{g: n.body, scope: reg.scope, parent: reg, loop: &inst{}, iteration: 1}
		for _, inner := range n.body.nodes {
			r.noteSkipped(body, inner)
		}
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Combine, *workflow.Each:
		in := &inst{n: n, reg: reg, scope: reg.scope, started: r.now, ended: r.now, status: Skipped, phase: finished, iteration: int32(reg.iterationHere())}
		in.address = reg.address(n)
		in.scope.remember(in)
		r.list(in)
		r.tell(in, StepSkipped, "")
	case *workflow.Choice:
	}
}

// settled notes that all out-edges of a node are settled.
func (r *Run) settled(reg *region, n *node) {
	reg.nodes[n.local].settled = true
	if reg.open--; reg.open == 0 {
		r.push(job{reg: reg})
	}
}

func (r *Run) regionSettled(reg *region) {
	if reg.open != 0 || reg.scope.closed() {
		return
	}
	if reg.loop != nil {
		r.iterationSettled(reg)
		return
	}
	reg.scope.bodyDone = true
	if reg.scope.outstanding == 0 {
		r.scopeEnded(reg.scope)
	}
}

// dropRest cancels a node that only fed a join which has enough.
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
