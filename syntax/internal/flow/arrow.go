package flow

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// arrow is an edge between two parts of the future model. An edge to or from a frame stands for
// several edges.
type arrow struct {
	*workflow.Edge
	from int // a node or a for_each
	place
	item int // in the body at in: the item that the arrow leaves
	// Set once the drawn loops are known:
	name  string // the To of its edge; "": it is dropped
	meets int    // the region around both of its ends
}

// place is where an edge ends.
type place struct {
	in int // the loop or for_each in whose body both ends are, or none
	to int // an item of that body, toEnd, or toAgain: the next iteration of the loop
}

// landing is where an edge ends, and what is wrong with that; the problems are none if it is valid.
type landing struct {
	place
	left  int // the for_each that the edge leaves
	outer int // the outermost of those
	into  int // the loop or for_each that the edge enters in the middle
}

// land follows an edge to one of its targets.
func (e *ends) land(k *link, to int) landing {
	l := landing{place{none, to}, none, none, none}
	if to == toEnd {
		return l
	}
	at := e.inside(k.from)
	l.in, l.to = e.descend(at, to, func(body, item int) {
		if e.head[body] != item && l.into == none {
			l.into = body
		}
	})
	again := e.kind[to] == loop && e.within(at, to)
	for ; at != l.in; at = e.home[at] {
		if e.kind[at] != each {
			continue
		}
		if l.outer = at; l.left == none {
			l.left = at
		}
	}
	switch {
	case again:
		l.in, l.to = to, toAgain
	case l.in != none && e.kind[l.in] == loop && e.head[l.in] == l.to:
		l.to = toAgain
	}
	return l
}

// makeArrows creates the arrows of all edges, sorted by their source: those of part p are starts[p]
// to starts[p+1].
func (e *ends) makeArrows() (arrows []arrow, starts []int) {
	drawn := make([]arrow, 0, len(e.links))
	for i := range e.links {
		k := &e.links[i]
		from, to := e.sources(k), e.targets(k)
		if len(from) == 0 || len(to) == 0 {
			e.reportEmpty(k)
		}
		if len(drawn)+len(from)*len(to) > maxEdges {
			e.report(workflow.Errorf(k.Pos, codeTooManyEdges, "put a step between large frames, so that each waits for one",
				"the frames are joined by more than %d edges", maxEdges))
			e.tooMany = true
			break
		}
		for _, t := range to {
			l := e.land(k, t)
			if l.left != none || l.into != none {
				e.reportLanding(k, t, l)
			}
			if l.left != none && l.outer != l.to { // the intended target is reached anyway
				drawn = append(drawn, arrow{Edge: k.Edge, from: l.outer, place: l.place})
			}
			for _, f := range from {
				if l.left == none {
					drawn = append(drawn, arrow{Edge: k.Edge, from: f, place: l.place})
				}
			}
		}
	}
	return e.sortArrows(drawn)
}

// sortArrows is a counting sort. Usually the arrows are already sorted.
func (e *ends) sortArrows(drawn []arrow) (arrows []arrow, starts []int) {
	starts = make([]int, len(e.around)+1)
	for i := range drawn {
		starts[drawn[i].from+1]++
	}
	for p := range e.around {
		starts[p+1] += starts[p]
	}
	if slices.IsSortedFunc(drawn, func(a, b arrow) int { return a.from - b.from }) {
		return drawn, starts
	}
	arrows = make([]arrow, len(drawn))
	for i := range drawn {
		p := drawn[i].from
		arrows[starts[p]] = drawn[i]
		starts[p]++
	}
	copy(starts[1:], starts)
	starts[0] = 0
	return arrows, starts
}

// reportEmpty reports an edge to or from a frame without steps. An empty loop or for_each has
// already been reported.
func (e *ends) reportEmpty(k *link) {
	frame := k.to
	if len(e.sources(k)) == 0 {
		frame = k.from
	}
	if e.node(frame).Step == nil {
		e.report(workflow.Errorf(k.Pos, codeEdgeTarget, "put a step into it, or lead the edge elsewhere", "there is no step in %q", e.id(frame)))
	}
}

// reportLanding reports an invalid edge.
func (e *ends) reportLanding(k *link, to int, l landing) {
	if l.left == none {
		e.reportEntry(k.Pos, l.into, to, `, from "`+k.From+`",`)
		return
	}
	e.report(workflow.Errorf(k.Pos, codeLeavesEach,
		`an item cannot leave the for_each; for a step after all items, draw the edge from "`+e.id(l.outer)+`"`,
		"%q leads out of for_each %q to %q", k.From, e.id(l.left), k.To))
}

// reportEntry reports an edge into the middle of a body.
func (e *ends) reportEntry(pos workflow.Pos, body, to int, from string) {
	word := "for_each"
	if e.kind[body] == loop {
		word = "loop"
	}
	first := e.id(e.body[body][0])
	if other := e.body[body]; first == e.id(to) && len(other) > 1 {
		first = e.id(other[1])
	}
	e.report(workflow.Errorf(pos, codeTwoEntries, `lead to "`+e.id(body)+`" instead, or move the step into it`,
		"%s %q has two entries: %q and%s %q", word, e.id(body), first, from, e.id(to)))
}

// roots returns the items where the flow begins.
func (e *ends) roots() []int {
	var list []int
	for i, id := range e.Entry {
		var pos workflow.Pos
		if i < len(e.EntryPos) {
			pos = e.EntryPos[i]
		}
		part, known := e.byID[id]
		if !known {
			e.reportUnknown(pos, id)
			continue
		}
		for _, to := range e.targets(&link{to: part}) {
			_, item := e.descend(none, to, func(body, item int) {
				if e.head[body] != item {
					e.reportEntry(pos, body, item, "")
				}
			})
			list = append(list, item)
		}
	}
	if len(list) > 0 {
		return list
	}
	all := e.items(none)
	if list = e.shallow(all, e.deepIn, none); len(list) == 0 && len(all) > 0 {
		list = all[:1]
	}
	return list
}
