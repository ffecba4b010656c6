package engine

import (
	"fmt"
	"slices"
	"strconv"
	"time"

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
	open   int
	suffix string // of the addresses in it, e.g. "#2[3]"

	entry    []parcel // what reaches the entries
	entryEnv *env

	// of a loop's body
	iteration int
	again     []parcel // what its live back edges bring
	againBy   *inst    // the node that took the first of them
	exits     []exitState
}

// nodeState is what has reached a node of a region so far.
type nodeState struct {
	left     int  // in-edges that are not settled
	live     int  // live ones
	counted  int  // live ones that count for a join
	poisoned bool // one is poisoned
	decided  bool // runs, or is skipped
	settled  bool // its out-edges are settled
	from     []parcel
	inst     *inst
}

// parcel is what a live edge brings.
type parcel struct {
	slot   int // of the edge at its target
	value  any // what previous.output gives
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

// inst is one instance of a node: it ran, runs, or was skipped.
type inst struct {
	n       *node
	reg     *region
	scope   *scope
	address string
	phase   phase
	status  Status
	started time.Time
	ended   time.Time
	output  any
	err     string
	seq     int // of its end
	usage   Usage
	from    []parcel
	env     *env // at its start; after success, with its own write

	// of a task
	attempt  int // number of the attempt under way or last made
	failures int // attempts used up
	losses   int
	issued   int
	expired  bool // its time is over, and it was told to stop
	granted  bool // a person let it go on although its cost is unknown
	counted  bool // it counts among the steps of the run
	feedback string
	cmd      *StartTask
	gate     *AskHuman
	bound    TaskFacts // reserved for the attempt under way

	// of a composite
	body  *region
	child *scope
	each  *each
}

// phase is where an instance stands between its decision and its end.
type phase int8

const (
	queued   phase = iota // for a slot among the parallel attempts
	held                  // a budget would be exceeded
	running               // an attempt is under way
	delayed               // until a retry
	parked                // until a quota is reset
	asked                 // a person is asked
	nested                // a loop, a call or an each runs
	stopping              // cancelled, and its attempt has not ended yet
	finished
)

func (r *Run) newRegion(g *graph, s *scope, parent *region, loop *inst) *region {
	reg := &region{g: g, scope: s, parent: parent, loop: loop, nodes: make([]nodeState, len(g.nodes))}
	if loop != nil {
		reg.exits = make([]exitState, len(g.exits))
	}
	return reg
}

// enter starts the region, or its next iteration, from its entries.
func (r *Run) enter(reg *region, from []parcel, at *env) {
	reg.entry, reg.entryEnv = from, at
	reg.open = len(reg.nodes)
	reg.suffix = reg.makeSuffix()
	total := 0
	for _, n := range reg.g.nodes {
		total += len(n.in)
	}
	parcels := make([]parcel, total)
	for i, n := range reg.g.nodes {
		reg.nodes[i] = nodeState{left: len(n.in), from: parcels[:0:len(n.in)]}
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

// makeSuffix numbers the iterations, unless they are all the first.
func (reg *region) makeSuffix() string {
	text, first := "", true
	at := reg
	for ; at.loop != nil; at = at.parent {
		first = first && at.iteration == 1
		text = "#" + strconv.Itoa(at.iteration) + text
	}
	if first {
		text = ""
	}
	return at.scope.suffix + text
}

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
		p.slot = e.slot
		st.from = append(st.from, p)
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
	in := &inst{n: n, reg: reg, scope: reg.scope, started: r.now, from: st.from, env: reg.entryEnv, status: Running}
	in.address = reg.address(n)
	st.inst = in
	if n.isStep() {
		r.list(in)
	}
	if len(n.in) == 0 {
		in.from = reg.entry
		return in
	}
	level := reg.levels()
	for i, p := range in.from {
		if i == 0 {
			in.env = p.env
		} else {
			in.env = merge(level, in.env, p.env)
		}
	}
	if len(in.from) > 1 {
		slices.SortFunc(in.from, func(a, b parcel) int { return a.slot - b.slot })
	}
	return in
}

func (reg *region) address(n *node) string {
	if reg.scope.frame.prefix == "" && reg.suffix == "" {
		return n.def.ID
	}
	return reg.scope.frame.prefix + n.def.ID + reg.suffix
}

// launch starts what a node does.
func (r *Run) launch(in *inst) {
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
		for _, inner := range n.body.nodes {
			r.noteSkipped(reg, inner)
		}
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Combine, *workflow.Each:
		in := &inst{n: n, reg: reg, scope: reg.scope, started: r.now, ended: r.now, status: Skipped, phase: finished}
		in.address = reg.address(n)
		r.list(in)
		r.tellOf(in, StepSkipped, "")
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
