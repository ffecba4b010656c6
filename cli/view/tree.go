package view

import (
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Tree is the state of a run for display: the structure of its workflows, updated by
// facts. It is not safe for concurrent use.
type Tree struct {
	run      string
	bundle   *workflow.Bundle
	layouts  map[*workflow.Workflow]*layout
	root     *scope
	known    map[string]*item // that facts were about, by address
	began    time.Time
	ended    time.Time
	status   engine.Status
	reason   string
	steps    int
	usage    engine.Usage
	warnings []string
	cut      bool   // it was interrupted
	stopping bool   // it was asked to stop
	stalled  string // what it lacks to go on
}

// state is the state of a node for display.
type state int

const (
	pending state = iota
	running
	retrying
	waiting
	succeeded
	failed
	skipped
	cancelled
)

func (s state) live() bool { return s == running || s == retrying || s == waiting }

// scope is one execution of a graph: a workflow's body, a round of a loop, or an item of
// an Each. Its counts include everything below it.
type scope struct {
	owner *item // nil for the root
	index int   // of an Each's item
	nodes []item
	live  int
	fails int
	seen  bool // something in it has begun
}

// item is one node in one scope.
type item struct {
	def     *workflow.Node
	in      *scope
	state   state
	attempt int
	began   time.Time
	ended   time.Time
	until   time.Time
	usage   engine.Usage
	note    string
	log     []byte // the end of its output, while it runs
	body    *scope // the called workflow, or the current round of a loop
	round   int
	total   int      // the number of items of an Each, as far as known
	items   []*scope // of an Each, in the order in which they began
	byIndex map[int]*scope
}

// NewTree returns the tree of a run before its first fact.
func NewTree(run string, b *workflow.Bundle) *Tree {
	t := &Tree{run: run, status: engine.Running}
	t.plan(b)
	return t
}

// plan begins with the structure of a bundle.
func (t *Tree) plan(b *workflow.Bundle) {
	t.bundle, t.layouts, t.known = b, map[*workflow.Workflow]*layout{}, map[string]*item{}
	t.root = newScope(nil, &b.Root.Body)
}

func newScope(owner *item, g *workflow.Graph) *scope {
	s := &scope{owner: owner, nodes: make([]item, len(g.Nodes))}
	for i := range g.Nodes {
		s.nodes[i] = item{def: &g.Nodes[i], in: s}
	}
	return s
}

// find returns the item with an address, nil if the workflow has none. It creates the
// scopes on the way.
func (t *Tree) find(address string) *item {
	w, s := t.bundle.Root, t.root
	var it *item
	for _, seg := range splitAddress(address) {
		if it != nil {
			if w = t.called(it); w == nil {
				return nil
			}
			if it.body == nil {
				it.body = newScope(it, &w.Body)
			}
			s = it.body
		}
		if it = t.descend(w, s, seg); it == nil {
			return nil
		}
	}
	return it
}

func (t *Tree) called(it *item) *workflow.Workflow {
	if call, ok := it.def.Step.(*workflow.Call); ok {
		return t.bundle.Called[call.Workflow]
	}
	return nil
}

func (t *Tree) layout(w *workflow.Workflow) *layout {
	l := t.layouts[w]
	if l == nil {
		l = newLayout(w)
		t.layouts[w] = l
	}
	return l
}

func (t *Tree) descend(w *workflow.Workflow, s *scope, seg segment) *item {
	p, ok := t.layout(w).find(seg)
	if !ok {
		return nil
	}
	rounds, items := seg.rounds, seg.items
	for _, i := range p.path[:len(p.path)-1] {
		it := &s.nodes[i]
		if it.def.Kind() == "loop" {
			round := 1
			if len(rounds) > 0 {
				round, rounds = rounds[0], rounds[1:]
			}
			s = it.enterRound(round)
		} else {
			s = it.enterItem(items[0])
			items = items[1:]
		}
	}
	return &s.nodes[p.path[len(p.path)-1]]
}

// enterRound returns the scope of a loop's round. A new round replaces the previous one.
func (it *item) enterRound(round int) *scope {
	if it.body == nil || round > it.round {
		if it.body != nil {
			it.in.count(-it.body.live, -it.body.fails, time.Time{})
		}
		it.body = newScope(it, it.def.Body())
		it.round = round
	}
	return it.body
}

func (it *item) enterItem(index int) *scope {
	if s := it.byIndex[index]; s != nil {
		return s
	}
	s := newScope(it, it.def.Body())
	s.index = index
	if it.byIndex == nil {
		it.byIndex = map[int]*scope{}
	}
	it.byIndex[index] = s
	it.items = append(it.items, s)
	it.total = max(it.total, len(it.items))
	return s
}

// count adds to the counts of a scope and of all that contain it. A composite step begins
// with the first of its children and ends with the last.
func (s *scope) count(live, fails int, now time.Time) {
	for s != nil {
		s.live += live
		s.fails += fails
		s.seen = true
		if s.owner == nil {
			return
		}
		s.owner.touch(now)
		s = s.owner.in
	}
}

func (it *item) touch(now time.Time) {
	if now.IsZero() {
		return
	}
	if it.began.IsZero() {
		it.began = now
	}
	it.ended = now
}

func (it *item) set(to state, now time.Time) {
	live, fails := btoi(to.live())-btoi(it.state.live()), btoi(to == failed)-btoi(it.state == failed)
	if it.began.IsZero() && to.live() {
		it.began = now
	}
	if !to.live() {
		it.ended, it.log = now, nil
	}
	it.state = to
	it.in.count(live, fails, now)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
