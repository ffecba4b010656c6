package flow

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// ends finds the nodes that an edge to or from a frame joins.
//
// Whether a part is an entry of a frame depends only on the edges inside that frame. So for every
// part it is enough to know the depth of the innermost frame that an edge to it stays in. The
// deepest edges are processed first, so the entries of a frame are known before an edge that leads
// to it is processed.
type ends struct {
	*parts
	links  []link
	deepIn []int // by part: level of the innermost frame around an edge to it; none if there is no edge
	// deepOut is the same for the edges that leave a part.
	deepOut []int
	firsts  map[int][]int // entries of frames, computed when needed
	lasts   map[int][]int
	body    map[int][]int // by loop and for_each: its entries
	head    []int         // its only entry, or none

	self    []int // every part, so that lists of one are slices of it
	unknown int   // edges with an end that does not exist
	tooMany bool  // the edges stand for more than a workflow can have
}

// link is an edge whose ends exist.
type link struct {
	*workflow.Edge
	from, to int // as they are drawn; to may be toEnd
	meet     int // the innermost frame around both of them
}

func newEnds(p *parts) *ends {
	e := &ends{parts: p, firsts: map[int][]int{}, lasts: map[int][]int{}, body: map[int][]int{}}
	size := len(p.around)
	all := slices.Repeat([]int{none}, 4*size)
	e.deepIn, e.deepOut, e.head, e.self = all[:size], all[size:2*size], all[2*size:3*size], all[3*size:]
	for i := range e.self {
		e.self[i] = i
	}
	e.link()
	order := e.deepestFirst()
	e.findFirst(order)
	e.findHeads()
	e.findLast(order)
	return e
}

// link looks up the ends of the edges.
func (e *ends) link() {
	e.links = make([]link, 0, len(e.Edges))
	last := none
	for i := range e.Edges {
		edge := &e.Edges[i]
		k := link{Edge: edge, to: toEnd, meet: none}
		var known bool
		if k.from, known = e.find(edge.From, last); !known {
			e.reportUnknown(edge.Pos, edge.From)
			continue
		}
		last = k.from
		if edge.To != workflow.End {
			if k.to, known = e.find(edge.To, last); !known {
				e.reportUnknown(edge.Pos, edge.To)
				continue
			}
			k.meet = e.meet(e.frameOf(k.from), e.around[k.to])
		}
		e.links = append(e.links, k)
	}
}

// frameOf returns the frame in which an edge begins. An edge from the frame of a loop begins in
// that loop.
func (e *ends) frameOf(from int) int {
	if e.kind[from] == loop {
		return from
	}
	return e.around[from]
}

// reportUnknown suggests a correction only while there are few mistakes.
func (e *ends) reportUnknown(pos workflow.Pos, id string) {
	hint := ""
	if e.unknown++; e.unknown < 20 {
		ids := make([]string, len(e.self))
		for i := range ids {
			ids[i] = e.id(i)
		}
		hint = workflow.DidYouMean(id, ids)
	}
	if hint == "" {
		hint = "write the id of a step that is drawn"
	}
	e.report(workflow.Errorf(pos, codeEdgeTarget, hint, "there is no step %q", id))
}

// deepestFirst orders the links by the frame that they stay in.
func (e *ends) deepestFirst() []int {
	order := make([]int, len(e.links))
	for i := range order {
		order[i] = i
	}
	depth := func(i int) int {
		k := &e.links[i]
		if k.meet == k.from { // it leaves the last items there, so everything else there comes before it
			return 2*e.level(k.meet) - 1
		}
		return 2 * e.level(k.meet)
	}
	if len(e.Frames) > 0 {
		slices.SortStableFunc(order, func(a, b int) int { return depth(b) - depth(a) })
	}
	return order
}

// findFirst records where edges lead, and at which depth.
func (e *ends) findFirst(order []int) {
	count := 0
	for _, i := range order {
		k := &e.links[i]
		if k.to == toEnd || e.isBody(k.to) && e.within(e.frameOf(k.from), k.to) {
			continue // from inside the frame to the frame
		}
		to := e.targets(k)
		if count += len(to); count > maxEdges {
			return // makeArrows says so
		}
		e.deepen(e.deepIn, to, k.to, k.meet)
	}
}

// deepen records an edge at the part where it is drawn to end, which may stand for several, and at
// every loop and for_each that it enters or leaves there.
func (e *ends) deepen(deep []int, means []int, drawn, meet int) {
	level := e.level(meet)
	for _, i := range means {
		deep[i] = max(deep[i], level)
	}
	for f := e.around[drawn]; e.level(f) > level; f = e.around[f] {
		if e.isBody(f) {
			deep[f] = max(deep[f], level)
		}
	}
}

// targets returns the parts that an edge leads to.
func (e *ends) targets(k *link) []int {
	switch {
	case k.to == toEnd:
		return onlyEnd
	case e.kind[k.to] == plain:
		return e.firstIn(k.to)
	}
	return e.self[k.to : k.to+1]
}

var onlyEnd = []int{toEnd}

// firstIn returns the first items of a plain frame.
func (e *ends) firstIn(frame int) []int {
	first, known := e.firsts[frame]
	if !known {
		all := e.items(frame)
		first = e.shallow(all, e.deepIn, frame)
		if len(first) == 0 && len(all) > 0 {
			first = all[:1]
		}
		e.firsts[frame] = first
	}
	return first
}

// shallow returns the items of a frame that no edge inside it leads to.
func (e *ends) shallow(items, deep []int, frame int) []int {
	level := e.level(frame)
	var list []int
	for _, i := range items {
		if deep[i] < level {
			list = append(list, i)
		}
	}
	return list
}

// findHeads finds where the loops and for_eachs begin.
func (e *ends) findHeads() {
	var open []int // those whose entry is known only from an edge from outside
	for f := len(e.Nodes); f < len(e.around); f++ {
		if !e.isBody(f) {
			continue
		}
		all := e.items(f)
		e.body[f] = e.shallow(all, e.deepIn, f)
		switch {
		case len(e.body[f]) == 1:
			e.head[f] = e.body[f][0]
		case len(e.body[f]) == 0 && len(all) > 0:
			e.body[f] = all[:1]
			open = append(open, f)
		}
	}
	if len(open) == 0 {
		return
	}
	named := e.namedFromOutside()
	for _, f := range open {
		if i, ok := named[f]; ok {
			e.body[f] = []int{i}
		}
		e.head[f] = e.body[f][0]
	}
}

// namedFromOutside returns the first items of loops and for_eachs that an edge from
// outside leads to.
func (e *ends) namedFromOutside() map[int]int {
	named := map[int]int{}
	enter := func(at, to int) {
		e.descend(at, to, func(body, item int) {
			if other, ok := named[body]; !ok || e.rank[item] < e.rank[other] {
				named[body] = item
			}
		})
	}
	for i := range e.links {
		if k := &e.links[i]; k.to != toEnd {
			for _, to := range e.targets(k) {
				enter(e.inside(k.from), to)
			}
		}
	}
	for _, id := range e.Entry {
		if part, ok := e.byID[id]; ok {
			for _, to := range e.targets(&link{to: part}) {
				enter(none, to)
			}
		}
	}
	return named
}

// inside returns the loop or for_each in which an edge begins.
func (e *ends) inside(from int) int {
	if e.kind[from] == loop {
		return from
	}
	return e.home[from]
}

// descend follows an edge that begins in the body at and leads to a part. It calls enter for every
// body on the way, from the innermost out, with the item of that body that the edge leads to. It
// returns the body around both ends, and its item.
func (e *ends) descend(at, to int, enter func(body, item int)) (body, item int) {
	for at != e.home[to] {
		if e.level(at) >= e.level(e.home[to]) {
			at = e.home[at]
		} else {
			enter(e.home[to], to)
			to = e.home[to]
		}
	}
	return at, to
}

// findLast records where edges come from, and at which depth. Edges that begin the next iteration
// of a loop do not count.
func (e *ends) findLast(order []int) {
	if !slices.ContainsFunc(e.links, func(k link) bool { return e.kind[k.from] == plain || e.kind[k.from] == loop }) {
		return
	}
	count := 0
	for _, i := range order {
		k := &e.links[i]
		if k.to == toEnd {
			continue
		}
		if count += len(e.targets(k)); count > maxEdges {
			return
		}
		onward := false
		for _, to := range e.targets(k) {
			onward = onward || e.land(k, to).to != toAgain
		}
		if !onward {
			continue
		}
		from := e.sources(k)
		if count += len(from); count > 2*maxEdges {
			return
		}
		e.deepen(e.deepOut, from, k.from, k.meet)
		if e.kind[k.from] == loop && k.meet != k.from {
			e.deepOut[k.from] = max(e.deepOut[k.from], e.level(k.meet))
		}
	}
}

// sources returns the parts that an edge leaves.
func (e *ends) sources(k *link) []int {
	if e.kind[k.from] == node || e.kind[k.from] == each {
		return e.self[k.from : k.from+1]
	}
	return e.lastIn(k.from)
}

// lastIn returns the last items of a frame.
func (e *ends) lastIn(frame int) []int {
	last, known := e.lasts[frame]
	if known {
		return last
	}
	all := e.items(frame)
	ending := e.shallow(all, e.deepOut, frame)
	if len(ending) == 0 && len(all) > 0 {
		ending = all[len(all)-1:]
	}
	for _, i := range ending {
		if e.kind[i] == loop {
			last = append(last, e.lastIn(i)...)
		} else {
			last = append(last, i)
		}
	}
	e.lasts[frame] = last
	return last
}
