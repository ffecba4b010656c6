package flow

import (
	"cmp"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// Simplify drops the frames of loops that Lift also finds without them, and leads the edges to the
// next iteration of a loop to its entry if it has only one. Lift returns the same graph for the new
// drawing. Set Max first.
//
// A frame is kept if it says something that a drawn loop cannot express, such as an id or a title.
// Otherwise Lift decides: Simplify tries without frames, and restores those whose loops change.
func (d *Drawing) Simplify() {
	s := newSimplifier(d)
	drop := s.candidates()
	for range maxTries {
		if len(drop) == 0 {
			break
		}
		simple, wrong := s.try(drop)
		if simple != nil {
			*d = *simple
			return
		}
		if len(wrong) == 0 {
			break
		}
		for _, part := range wrong {
			delete(drop, part)
		}
	}
	if simple, _ := s.try(nil); simple != nil {
		*d = *simple
	}
}

// maxTries limits how often some frames are restored before all of them are.
const maxTries = 10

type simplifier struct {
	*lifter
	graph workflow.Graph
	found int // diagnostics
}

func newSimplifier(d *Drawing) *simplifier {
	s := &simplifier{}
	before := *d
	s.lifter = newLifter(&before, func(workflow.Diagnostic) { s.found++ })
	s.graph = s.lift()
	return s
}

// candidates returns the frames of loops that have no meaning of their own, and whose loops get the
// same names if all of them are dropped.
func (s *simplifier) candidates() map[int]bool {
	again := map[int]bool{}
	for i := range s.arrows {
		if a := &s.arrows[i]; a.to == toAgain {
			again[a.in] = true
		}
	}
	left := map[string]bool{}
	for i := range s.Edges {
		left[s.Edges[i].From] = true
	}
	var bare []int
	for i := range s.Frames {
		f := len(s.Nodes) + i
		if s.kind[f] != loop || !s.reached[f] || s.head[f] == none || !again[f] || left[s.id(f)] || !s.isBare(s.node(f)) {
			continue
		}
		if around := s.home[f]; around != none && s.kind[around] == loop && s.head[around] == f {
			continue // two loops that begin at the same node are one
		}
		bare = append(bare, f)
	}
	return s.inOrderOfNames(bare)
}

// inOrderOfNames returns the frames whose names are those that Lift gives to drawn loops, in order.
// The names of the other frames are taken.
func (s *simplifier) inOrderOfNames(frames []int) map[int]bool {
	slices.SortStableFunc(frames, func(a, b int) int {
		return cmp.Or(s.rank[s.head[a]]-s.rank[s.head[b]], s.level(a)-s.level(b))
	})
	taken := s.taken()
	for _, f := range frames {
		delete(taken, s.id(f))
	}
	named, next := map[int]bool{}, 1
	for _, f := range frames {
		for taken[numbered("loop", next)] {
			next++
		}
		if s.id(f) == numbered("loop", next) {
			named[f] = true
			next++
		} else {
			taken[s.id(f)] = true
		}
	}
	return named
}

// isBare reports whether a loop has only a name.
func (s *simplifier) isBare(n *workflow.Node) bool {
	l, ok := n.Step.(*workflow.Loop)
	bound := func(limit int) int {
		if limit == 0 {
			return workflow.DefaultMaxIterations
		}
		return limit
	}
	return ok && bound(l.Max) == bound(s.Max) && n.Title == "" && n.Join == (workflow.Join{}) && n.Group == "" &&
		n.Output.Var == "" && n.Output.Mode == workflow.Full && n.Output.Pattern == "" && n.Output.Schema == nil &&
		n.Retry == (workflow.Retry{}) && n.Timeout == 0 && n.OnError == workflow.Stop && !n.Once && len(n.Labels) == 0
}

// try returns the drawing without some frames if it has the same graph. Otherwise it returns the
// frames that are needed.
func (s *simplifier) try(drop map[int]bool) (simple *Drawing, wrong []int) {
	d := s.redraw(drop)
	found := 0
	l := newLifter(d, func(workflow.Diagnostic) { found++ })
	graph := l.lift()
	if found == s.found && sameGraph(&s.graph, &graph) {
		return d, nil
	}
	want, got := loopsOf(&s.graph), loopsOf(&graph)
	for i, doubted := range l.doubted {
		if doubted {
			delete(got, l.loopIDs[i])
		}
	}
	for part := range drop {
		w, g := want[s.id(part)], got[s.id(part)]
		if g.loop == nil || g.outer != w.outer || !sameShape(&w.loop.Body, &g.loop.Body) {
			wrong = append(wrong, part)
		}
	}
	return nil, wrong
}

// redraw returns the drawing without some frames.
func (s *simplifier) redraw(drop map[int]bool) *Drawing {
	around := func(part int) string {
		f := s.around[part]
		for drop[f] {
			f = s.around[f]
		}
		if f == none {
			return ""
		}
		return s.id(f)
	}
	r := &Drawing{Max: s.Max, Entry: slices.Clone(s.Entry), EntryPos: s.EntryPos}
	r.Nodes, r.Edges = slices.Clone(s.Nodes), slices.Clone(s.Edges)
	for i := range r.Nodes {
		r.Nodes[i].Frame = around(i)
	}
	for i := range s.Frames {
		if f := len(s.Nodes) + i; !drop[f] {
			r.Frames = append(r.Frames, Frame{Node: s.Frames[i].Node, Frame: around(f)})
		}
	}
	for i := range r.Edges {
		r.Edges[i].To = s.target(&r.Edges[i], drop)
	}
	for i, id := range r.Entry {
		if part, ok := s.byID[id]; ok {
			r.Entry[i] = s.entry(part, drop)
		}
	}
	return r
}

// entry returns what replaces a part in a drawing without some frames.
func (s *simplifier) entry(part int, drop map[int]bool) string {
	for drop[part] {
		part = s.head[part]
	}
	return s.id(part)
}

// target returns the target of an edge in a drawing without some frames.
func (s *simplifier) target(e *workflow.Edge, drop map[int]bool) string {
	to, ok := s.byID[e.To]
	if !ok || s.kind[to] != loop {
		return e.To
	}
	from, ok := s.byID[e.From]
	head := s.head[to]
	begins := head != none && s.rank[head] == s.rank[to] // Lift would see that it is the entry
	if ok && !drop[to] && begins && s.within(from, to) && (from == head || !s.within(from, head)) {
		return s.entry(head, drop)
	}
	return s.entry(to, drop)
}

// placed is a loop, and the id of the composite around it.
type placed struct {
	outer string
	loop  *workflow.Loop
}

// loopsOf returns the loops of a graph by id.
func loopsOf(g *workflow.Graph) map[string]placed {
	loops := map[string]placed{}
	var look func(g *workflow.Graph, outer string)
	look = func(g *workflow.Graph, outer string) {
		for i := range g.Nodes {
			n := &g.Nodes[i]
			if l, ok := n.Step.(*workflow.Loop); ok {
				loops[n.ID] = placed{outer, l}
			}
			if body := n.Body(); body != nil {
				look(body, n.ID)
			}
		}
	}
	look(g, "")
	return loops
}

// sameGraph reports whether two graphs of the same nodes are the same.
func sameGraph(a, b *workflow.Graph) bool {
	if !sameShape(a, b) {
		return false
	}
	for i := range a.Nodes {
		inA, inB := a.Nodes[i].Body(), b.Nodes[i].Body()
		if (inA == nil) != (inB == nil) || inA != nil && !sameGraph(inA, inB) {
			return false
		}
	}
	return true
}

// sameShape reports whether two graphs are the same apart from the contents of their nodes.
func sameShape(a, b *workflow.Graph) bool {
	return slices.EqualFunc(a.Nodes, b.Nodes, func(x, y workflow.Node) bool { return x.ID == y.ID && x.Kind() == y.Kind() }) &&
		slices.EqualFunc(a.Edges, b.Edges, func(x, y workflow.Edge) bool {
			return x.From == y.From && x.To == y.To && wayOf(&x) == wayOf(&y)
		})
}
