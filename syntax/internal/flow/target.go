package flow

import (
	"slices"
	"strconv"

	"github.com/hocket-dev/hocket/workflow"
)

// namer creates unused ids: a word, then the word with -2, -3, …
type namer struct {
	find  func() map[string]bool // finds the ids in use, when the first name is needed
	taken map[string]bool
	last  map[string]int // number of the last id made from a word
}

func (n *namer) name(word string) string {
	if n.taken == nil {
		n.taken, n.last = n.find(), map[string]int{}
	}
	for {
		n.last[word]++
		if id := numbered(word, n.last[word]); !n.taken[id] {
			n.taken[id] = true
			return id
		}
	}
}

func numbered(word string, number int) string {
	if number == 1 {
		return word
	}
	return word + "-" + strconv.Itoa(number)
}

// nameLoops names the drawn loops in the order of their first items.
func (l *lifter) nameLoops() {
	l.names = namer{find: l.taken}
	order := make([]int, len(l.heads))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return l.rank[l.heads[a]] - l.rank[l.heads[b]] })
	l.loopIDs = make([]string, len(l.heads))
	for _, i := range order {
		l.loopIDs[i] = l.names.name("loop")
	}
}

// taken returns the ids of the model that is being built.
func (l *lifter) taken() map[string]bool {
	taken := make(map[string]bool, len(l.around))
	for i, reached := range l.reached {
		if !reached {
			continue
		}
		taken[l.id(i)] = true
		if body := l.node(i).Body(); body != nil {
			body.Walk(func(_ *workflow.Graph, n *workflow.Node) { taken[n.ID] = true })
		}
	}
	return taken
}

// idOf returns the id of a part or of a drawn loop.
func (l *lifter) idOf(item int) string {
	if l.isDrawn(item) {
		return l.loopIDs[item-len(l.around)]
	}
	return l.id(item)
}

// nameTargets determines the target of every edge of the model.
func (l *lifter) nameTargets() {
	l.choices, l.hops = map[exit]*hop{}, map[int][]*hop{}
	l.findPoison()
	for _, i := range l.inOrder() {
		if !l.reached[i] {
			continue
		}
		for j := l.starts[i]; j < l.starts[i+1]; j++ {
			l.nameTarget(&l.arrows[j])
		}
	}
	l.warnDeadEnds()
}

func (l *lifter) nameTarget(a *arrow) {
	from, to := a.from, a.to
	switch to {
	case none:
		return
	case toEnd:
		a.name, a.meets = workflow.End, none
		return
	case toAgain:
		for l.up[from] != a.in {
			from = l.up[from]
		}
	default:
		for l.up[from] != l.up[to] {
			if l.regionDepth(l.up[from]) >= l.regionDepth(l.up[to]) {
				from = l.up[from]
			} else {
				to = l.up[to]
			}
		}
	}
	a.meets = l.up[from]
	switch {
	case to != toAgain && !(a.meets != none && l.isDrawn(a.meets) && l.headOf(a.meets) == to):
		a.name = l.idOf(to)
	case from == a.from:
		a.name = workflow.Again
	default:
		a.name = l.hop(a, from).ID
	}
}

// exit is an edge out of an inner loop that begins the next iteration of the loop around it.
type exit struct {
	loop int // the inner loop
	from int // the node that it leaves; none means all of them
}

// hop is the choice that such an exit leads to, because only an edge of the outer body can begin
// its next iteration.
//
// All exits of the inner loop may lead to the same choice, unless one of them can be poisoned while
// another one is live: then the choice would be skipped, and the next iteration would not begin.
// The edges of one node are poisoned together.
type hop struct{ workflow.Node }

func (l *lifter) hop(a *arrow, inner int) *hop {
	key := exit{inner, none}
	if l.poison[inner] {
		key.from = a.from
	}
	h := l.choices[key]
	if h == nil {
		h = &hop{workflow.Node{ID: l.names.name("choice"), Step: &workflow.Choice{}, Pos: a.Pos}}
		l.choices[key] = h
		l.hops[inner] = append(l.hops[inner], h)
	}
	return h
}

// findPoison marks the regions in which a node skips its dependents.
func (l *lifter) findPoison() {
	l.poison = make([]bool, len(l.up))
	for i, reached := range l.reached {
		if !reached || l.node(i).OnError != workflow.SkipDependents {
			continue
		}
		for region := l.up[i]; region != none && !l.poison[region]; region = l.up[region] {
			l.poison[region] = true
		}
	}
}

// warnDeadEnds reports steps next to a drawn loop that lead nowhere and are reached in an iteration
// that continues: they look as if they ran in every iteration.
func (l *lifter) warnDeadEnds() {
	if len(l.heads) == 0 {
		return
	}
	var closed []bool
	for i, reached := range l.reached {
		out := l.arrows[l.starts[i]:l.starts[i+1]]
		if !reached || l.meetAlike(out) {
			continue
		}
		stays := l.staysIn(out)
		for j := range out {
			a := &out[j]
			if a.to < 0 || a.On == workflow.OnFailure || !l.leavesDrawn(stays[wayOf(a.Edge)], a.meets) {
				continue
			}
			if closed == nil {
				closed = l.closed()
			}
			if closed[a.to] {
				l.warnDeadEnd(a, stays[wayOf(a.Edge)])
			}
		}
	}
}

// meetAlike reports whether the edges of a node stay in the same region, so that
// none leaves a loop in which another one stays.
func (l *lifter) meetAlike(out []arrow) bool {
	for i := range out {
		if out[i].meets != out[0].meets {
			return false
		}
	}
	return true
}

// staysIn returns the innermost regions in which those edges of a node stay that are taken
// together.
func (l *lifter) staysIn(out []arrow) map[way]int {
	stays := map[way]int{}
	for i := range out {
		a := &out[i]
		if a.name == "" || a.to == toEnd {
			continue
		}
		if region, ok := stays[wayOf(a.Edge)]; !ok || l.regionDepth(region) < l.regionDepth(a.meets) {
			stays[wayOf(a.Edge)] = a.meets
		}
	}
	return stays
}

// leavesDrawn reports whether a drawn loop is left on the way from a region out to another.
func (l *lifter) leavesDrawn(region, out int) bool {
	for ; region != out; region = l.up[region] {
		if l.isDrawn(region) {
			return true
		}
	}
	return false
}

func (l *lifter) warnDeadEnd(a *arrow, region int) {
	for ; region != a.meets; region = l.up[region] {
		if l.isDrawn(region) {
			l.doubted[region-len(l.around)] = true
		}
	}
	l.report(workflow.Warningf(a.Pos, codeDeadEnd, `draw a frame around the loop and "`+l.id(a.to)+`" if it is part of every iteration`,
		"%q runs once, after the loop", l.id(a.to)))
}

// way is the condition for taking an edge.
type way struct {
	on          workflow.On
	label, when string
}

func wayOf(e *workflow.Edge) way { return way{e.On, e.Label, e.When.Text} }
