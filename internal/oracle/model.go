// Package oracle helps tests to check runs: it has a second interpreter of the rules, and
// generates random workflows for it and the engine to run. The simulation of the engine
// and the test of the whole program share it.
package oracle

import (
	"fmt"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Model is a second implementation of docs/semantics.md. It shares no code with the
// engine and stores nothing that it can compute. It is slow, but each rule is in one
// place and can be compared with the page. It receives every event of a run, and computes
// what must be in progress then and how the run must end.
//
// Where the page leaves a choice, the model follows the engine and checks its choice:
// which of several waiting tasks is tried first, by how much jitter shortens a delay, and about
// which of the tasks that a budget holds back a person is asked.
type Model struct {
	bundle *workflow.Bundle
	facts  map[string]engine.TaskFacts
	base   string // the workspace with which the run began
	now    time.Time
	clock  time.Duration // the run's own clock
	active time.Duration // the part of it that counts as run time
	root   *mscope
	order  int // of results and writes

	todo   []func()            // consequences of settled edges, first in first out
	starts []*engine.StartTask // attempts that the engine started at this event and the model has not
	sent   map[string]*engine.SetTimer
	told   []engine.Fact // at this event

	insts       []*minst            // all instances decided so far
	attempts    []*minst            // in progress, in the order in which they started
	timers      map[string]mtimer   // by their ids
	budgetAsked map[string]bool     // tasks that a person is asked about because of a budget
	ended       *engine.Finish      // nil while in progress
	broken      error               // what the engine did wrong
	unattended  bool                // no driver carries out the commands of this event
	frames      []*mframe           // of workflows in progress
	inputsOf    map[string][]string // input names by workflow name

	given map[string]any // the inputs of the run
	plans plans
}

// mframe is one running workflow.
type mframe struct {
	w      *workflow.Workflow
	around *mframe
	scope  *mscope
	prefix string
	inputs map[string]any
	limits workflow.Limits
	steps  int
	spent  engine.Usage
	since  time.Duration

	handoff *mhandoff         // whose task it runs; nil for other workflows
	facts   *engine.TaskFacts // of that task
}

// mscope is what a failure can end: a workflow, or an item of a for_each.
type mscope struct {
	frame     *mframe
	owner     *minst // the call or the for_each
	item      int
	body      *mregion
	newest    map[string]*minst
	done      bool // every path has ended
	over      bool
	ending    engine.Status
	reason    string
	tolerated string
	sinks     []*minst
	vars      mvars // at the ends of paths
	latest    int   // the latest result in it
}

// mregion is one round through a graph.
type mregion struct {
	g     *workflow.Graph
	scope *mscope
	loop  *minst // the loop whose body it is; nil for a scope's graph
	round int
	entry []mparcel
	vars  mvars

	edges   map[*workflow.Edge]edge // how each in-edge of a node was settled
	insts   map[string]*minst       // those that were decided to run
	decided map[string]bool
	settled map[string]bool
	again   []mparcel // of live back edges
	by      *minst    // the node whose edge was the first of them
}

// edge is how an edge was settled, and the value that it brings.
type edge struct {
	state  string // live, dead, poisoned
	parcel mparcel
}

type mparcel struct {
	by        *minst
	vars      mvars
	failed    *minst // for an error edge, also through choices
	tolerated bool   // its source failed, with on_error: continue
	forced    bool   // a loop took it at its bound
}

func (p *mparcel) value() any {
	if p.failed == p.by {
		return p.by.err
	}
	return p.by.output
}

// mexit is an edge out of a loop, over all rounds.
type mexit struct {
	last   string // state in the last round
	ever   bool   // live in any round
	parcel mparcel
}

// minst is one instance of a node.
type minst struct {
	n       *workflow.Node
	reg     *mregion
	address string
	status  engine.Status
	output  any
	err     string
	vars    mvars
	from    []mparcel
	order   int // when it ended
	listed  bool
	started time.Duration // on the run's clock
	ended   time.Duration

	phase     string // ready, running, delayed, parked, asked, inside, stopping, ended
	held      bool   // a budget holds it back
	granted   bool   // a person allowed it to start although its cost is unknown
	counted   bool
	expired   bool
	unbegun   bool // its attempt waits for a machine
	unsent    bool // started while no driver was there to carry it out
	attempt   int
	failures  int
	losses    int
	feedback  bool
	rendered  bool
	prompt    string
	given     string // its incoming value, as shown to its agent
	inputs    string
	may       workflow.Budget
	questions []*mquestion
	numbered  int
	base      int    // number of the last attempt at its address in earlier plans
	unsure    bool   // an attempt of an earlier plan may have had its effect, which must happen once
	happened  bool   // it was done in an earlier plan, must happen once, and has not run since
	once      bool   // its effect must happen once, whatever its plan says
	moved     bool   // an earlier plan had its effect, or may have, at another address
	agreed    bool   // a person wants it to run nevertheless
	sent      bool   // somebody was given an attempt
	due       bool   // it is not clear yet whether an earlier plan has its result
	refused   bool   // that result leads nowhere
	question  string // that a gate asks
	begun     int    // the newest order when it began
	done      int    // when it really ended, whichever the plan; of what is computed, the latest that it depends on
	limited   any    // its output before it failed at the limit of its loop
	atLimit   bool
	used      engine.Usage
	kept      []string // answers to texts, for the next attempt
	heard     []string // the same, for answers that were sent to an attempt
	left      time.Duration

	passed    *mpassed
	continued bool
	continues string // the workspace with which the attempt ended that asked
	handed    []*mhandoff
	answer    string        // to the question with which its attempt ended
	made      []engine.Tree // the workspaces with which its attempt succeeded

	body  *mregion // of a loop
	exits map[*workflow.Edge]*mexit
	child *mscope // of a call
	each  *meach
}

type meach struct {
	items   []any
	next    int
	open    map[int]*mscope
	outputs []any
	left    [][]engine.Tree // what the items have left
	failed  string
	stopped bool
}

// mpassed is what routers, people and choices pass on.
type mpassed struct {
	sources          []*minst
	workers          []*minst // of a choice: the steps that it follows
	decision, reason string
}

func (m *Model) later(f func()) { m.todo = append(m.todo, f) }

// enter begins a round of a region.
func (m *Model) enter(reg *mregion) {
	reg.edges, reg.insts = map[*workflow.Edge]edge{}, map[string]*minst{}
	reg.decided, reg.settled = map[string]bool{}, map[string]bool{}
	m.later(func() {
		for i := range reg.g.Nodes {
			if n := &reg.g.Nodes[i]; len(edgesTo(reg.g, n.ID)) == 0 {
				m.decide(reg, n)
			}
		}
	})
	if len(reg.g.Nodes) == 0 {
		m.later(func() { m.regionSettled(reg) })
	}
}

// settle settles an edge of a node of the region.
func (m *Model) settle(reg *mregion, e *workflow.Edge, state string, p mparcel) {
	switch {
	case e.To == workflow.Again && state == "live":
		if len(reg.again) == 0 {
			reg.by = p.by
		}
		reg.again = append(reg.again, p)
	case e.To == workflow.Again:
	case reg.loop != nil && slices.Contains(exitsOf(reg.g), e):
		reg.loop.exits[e].settle(state, p)
	case e.To != workflow.End:
		m.arrive(reg, e, state, p)
	}
}

func (x *mexit) settle(state string, p mparcel) {
	x.last = state
	if state == "live" {
		p.vars = x.parcel.vars.merge(p.vars)
		x.ever, x.parcel = true, p
	}
}

func (x *mexit) final() string {
	switch {
	case x.last == "poisoned":
		return "poisoned"
	case x.ever:
		return "live"
	}
	return "dead"
}

func (m *Model) arrive(reg *mregion, e *workflow.Edge, state string, p mparcel) {
	if reg.edges[e].state != "" {
		panic("the model settles an edge twice: " + e.From + " → " + e.To)
	}
	reg.edges[e] = edge{state, p}
	n := reg.g.Node(e.To)
	if counts, _, _, left := m.count(reg, n); left == 0 || n.Join.Need > 0 && counts >= n.Join.Need {
		m.later(func() { m.decide(reg, n) })
	}
}

// count counts the in-edges of a node: the live ones that count for its join, all live
// ones, whether one is poisoned, and how many are not settled.
func (m *Model) count(reg *mregion, n *workflow.Node) (counts, live int, poisoned bool, left int) {
	c, ok := n.Step.(*workflow.Combine)
	first := ok && c.Strategy == workflow.First
	for _, e := range edgesTo(reg.g, n.ID) {
		switch is := reg.edges[e]; is.state {
		case "":
			left++
		case "poisoned":
			poisoned = true
		case "live":
			live++
			if !first || !is.parcel.tolerated {
				counts++
			}
		}
	}
	return counts, live, poisoned, left
}

func (m *Model) decide(reg *mregion, n *workflow.Node) {
	if reg.decided[n.ID] {
		return
	}
	counts, live, poisoned, left := m.count(reg, n)
	need, entry := n.Join.Need, len(edgesTo(reg.g, n.ID)) == 0
	switch {
	case entry:
		m.run(reg, n)
	case need > 0 && counts >= need:
		m.run(reg, n)
	case left > 0:
		panic("the model decides too early: " + n.ID)
	case need > 0 && live >= need:
		m.run(reg, n)
	case poisoned:
		m.skip(reg, n, "poisoned")
	case live == 0:
		m.skip(reg, n, "dead")
	case need > 0:
		reg.decided[n.ID] = true
		m.fail(m.instance(reg, n), fault{why: fmt.Sprintf("quorum: %d of the %d branches it needs came through", live, need)})
	default:
		m.run(reg, n)
	}
}

func (m *Model) run(reg *mregion, n *workflow.Node) {
	reg.decided[n.ID] = true
	in := m.instance(reg, n)
	if n.Join.Need > 0 && !n.Join.Keep {
		for i := range reg.g.Nodes {
			if other := &reg.g.Nodes[i]; other != n && leadsOnlyTo(reg.g, other, n.ID) {
				m.drop(reg, other)
			}
		}
	}
	m.launch(in)
}

// leadsOnlyTo reports whether all paths from a node lead to the join.
func leadsOnlyTo(g *workflow.Graph, n *workflow.Node, join string) bool {
	out := edgesFrom(g, n.ID)
	if loop, ok := n.Step.(*workflow.Loop); ok {
		out = slices.DeleteFunc(allEdges(&loop.Body), func(e *workflow.Edge) bool { return e.To == workflow.Again || within(&loop.Body, e.To) })
	}
	out = slices.DeleteFunc(slices.Clone(out), onlyOnTrouble)
	for _, e := range out {
		if e.To == join {
			continue
		}
		if next := g.Node(e.To); next == nil || !leadsOnlyTo(g, next, join) {
			return false
		}
	}
	return len(out) > 0
}

// drop ends a node that has become pointless.
func (m *Model) drop(reg *mregion, n *workflow.Node) {
	switch {
	case reg.settled[n.ID]:
	case !reg.decided[n.ID]:
		m.skip(reg, n, "dead")
	default:
		m.cancel(reg.insts[n.ID])
		m.settleAll(reg, n, "dead")
	}
}

func (m *Model) skip(reg *mregion, n *workflow.Node, how string) {
	reg.decided[n.ID] = true
	m.noteSkipped(reg, n)
	m.settleAll(reg, n, how)
}

func (m *Model) settleAll(reg *mregion, n *workflow.Node, how string) {
	state := func(e *workflow.Edge) string {
		if onlyOnTrouble(e) {
			return "dead"
		}
		return how
	}
	if loop, ok := n.Step.(*workflow.Loop); ok {
		for _, e := range exitsOf(&loop.Body) {
			m.leave(reg, e, state(e), mparcel{})
		}
	}
	for _, e := range edgesFrom(reg.g, n.ID) {
		m.settle(reg, e, state(e), mparcel{})
	}
	m.nodeSettled(reg, n)
}

// leave passes an exit of a finished loop to the region around it.
func (m *Model) leave(reg *mregion, e *workflow.Edge, state string, p mparcel) {
	switch {
	case e.To == workflow.End:
	case reg.g.Node(e.To) != nil:
		m.arrive(reg, e, state, p)
	default:
		reg.loop.exits[e].settle(state, p)
	}
}

// noteSkipped records a node, and the nodes in a loop, as skipped.
func (m *Model) noteSkipped(reg *mregion, n *workflow.Node) {
	switch s := n.Step.(type) {
	case *workflow.Loop:
		body := &mregion{g: &s.Body, scope: reg.scope, loop: &minst{reg: reg}, round: 1}
		for i := range s.Body.Nodes {
			m.noteSkipped(body, &s.Body.Nodes[i])
		}
	case *workflow.Choice:
	default:
		m.insts = append(m.insts, &minst{n: n, reg: reg, address: reg.address(n), status: engine.Skipped, phase: "ended", listed: true})
	}
}

func (m *Model) nodeSettled(reg *mregion, n *workflow.Node) {
	if reg.settled[n.ID] = true; len(reg.settled) == len(reg.g.Nodes) {
		m.later(func() { m.regionSettled(reg) })
	}
}

func (m *Model) regionSettled(reg *mregion) {
	s := reg.scope
	switch {
	case s.ending != "" || s.over || reg.loop != nil && reg.loop.phase != "inside":
	case reg.loop != nil:
		m.roundSettled(reg)
	default:
		s.done = true
		m.maybeOver(s)
	}
}

// instance creates the instance of a node that is to run.
func (m *Model) instance(reg *mregion, n *workflow.Node) *minst {
	in := &minst{n: n, reg: reg, address: reg.address(n), status: engine.Running, vars: reg.vars, started: m.clock}
	switch n.Step.(type) {
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Combine:
		in.listed = true
	}
	m.insts = append(m.insts, in)
	reg.insts[n.ID] = in
	if in.from = reg.entry; len(edgesTo(reg.g, n.ID)) > 0 {
		in.from, in.vars = nil, nil
		for _, e := range edgesTo(reg.g, n.ID) {
			if is := reg.edges[e]; is.state == "live" {
				in.from = append(in.from, is.parcel)
				in.vars = in.vars.merge(is.parcel.vars)
			}
		}
	}
	m.follow(in)
	m.continueCounts(in)
	return in
}

// pathEnded records the last steps of a path.
func (m *Model) pathEnded(in *minst) {
	s := in.reg.scope
	s.vars = s.vars.merge(in.vars)
	if !isChoice(in.n) {
		s.sinks = append(s.sinks, in)
		return
	}
	for _, w := range in.passed.workers {
		if w.reg.scope == s {
			s.sinks = append(s.sinks, w)
		}
	}
}

// follow records which steps an instance continues from, and what reaches a node that
// passes it on.
func (m *Model) follow(in *minst) {
	if isLoop(in.n) {
		return // the nodes in it do
	}
	if passesOn(in) {
		in.passed = &mpassed{}
	}
	for _, p := range in.from {
		if in.passed != nil {
			if before := p.decided(); before != nil && isChoice(in.n) {
				if in.passed.decision == "" {
					in.passed.decision = before.decision
				}
				if in.passed.reason == "" {
					in.passed.reason = before.reason
				}
			}
			for _, source := range p.sources() {
				if !slices.Contains(in.passed.sources, source) {
					in.passed.sources = append(in.passed.sources, source)
				}
			}
		}
		behind := []*minst{p.by}
		if isChoice(p.by.n) {
			behind = p.by.passed.workers
		}
		if isChoice(in.n) {
			in.passed.workers = append(in.passed.workers, behind...)
			continue
		}
		for _, w := range behind {
			w.continued = true
		}
	}
}

func passesOn(in *minst) bool {
	switch in.n.Step.(type) {
	case *workflow.Choice, *workflow.Human:
		return true
	case *workflow.Task:
		return has(edgesFrom(in.reg.g, in.n.ID), workflow.OnLabel)
	}
	return false
}

func (p *mparcel) decided() *mpassed {
	if p.failed == p.by {
		return nil
	}
	return p.by.passed
}

func (p *mparcel) sources() []*minst {
	switch h := p.decided(); {
	case p.tolerated:
		return nil
	case h != nil:
		return h.sources
	}
	return []*minst{p.by}
}

func (reg *mregion) around() *mregion {
	switch {
	case reg.loop != nil:
		return reg.loop.reg
	case reg.scope.isItem():
		return reg.scope.owner.reg
	}
	return nil
}

func (reg *mregion) address(n *workflow.Node) string {
	suffix, repeated := "", false
	for at := reg; at.around() != nil; at = at.around() {
		repeated = repeated || at.loop != nil && at.round > 1
	}
	for at := reg; at.around() != nil; at = at.around() {
		switch {
		case at.loop == nil:
			suffix = fmt.Sprintf("[%d]", at.scope.item) + suffix
		case repeated:
			suffix = fmt.Sprintf("#%d", at.round) + suffix
		}
	}
	return reg.scope.frame.prefix + n.ID + suffix
}

// graphs caches facts about graphs.
var graphs = map[any]any{}

func remember[K comparable, V any](key K, f func() V) V {
	if v, ok := graphs[key]; ok {
		return v.(V)
	}
	v := f()
	graphs[key] = v
	return v
}
