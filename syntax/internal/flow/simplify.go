package flow

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Simplify drops the frames of loops that Lift finds again without them, and
// draws what begins the next round of a loop to its entry where it has one. Lift
// makes the same graph of the drawing as before. Set Max before.
//
// A frame is kept where it says something that a drawn loop cannot, as an id of
// its own or a title. For all else it is left to Lift: it tries without frames,
// and puts those back whose loops come out different.
func (d *Drawing) Simplify() {
	s := newSimplifier(d)
	drop := s.candidates()
	for range maxTries {
		if len(drop) == 0 {
			break
		}
		wrong, same := s.try(drop)
		if same {
			s.redraw(drop, d)
			return
		}
		if len(wrong) == 0 {
			break
		}
		for _, part := range wrong {
			delete(drop, part)
		}
	}
	if _, same := s.try(nil); same {
		s.redraw(nil, d)
	}
}

// maxTries bounds how often frames are put back before all are.
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

// candidates are the frames of loops that say nothing by themselves.
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
	drop := map[int]bool{}
	for i := range s.Frames {
		f := len(s.Nodes) + i
		if s.kind[f] != loop || !s.reached[f] || s.head[f] == none || !again[f] || left[s.id(f)] || !s.isBare(s.node(f)) {
			continue
		}
		if around := s.home[f]; around != none && s.kind[around] == loop && s.head[around] == f {
			continue // two loops that begin at one node are one
		}
		drop[f] = true
	}
	return drop
}

// isBare says whether a loop has nothing but a name that Lift could give it.
func (s *simplifier) isBare(n *workflow.Node) bool {
	l, ok := n.Step.(*workflow.Loop)
	bound := func(limit int) int {
		if limit == 0 {
			return workflow.DefaultMaxIterations
		}
		return limit
	}
	named := n.ID == "loop" || strings.HasPrefix(n.ID, "loop-")
	return ok && named && bound(l.Max) == bound(s.Max) && n.Title == "" && n.Join == (workflow.Join{}) && n.Group == "" &&
		n.Output.Var == "" && n.Output.Mode == workflow.Full && n.Output.Pattern == "" && n.Output.Schema == nil &&
		n.Retry == (workflow.Retry{}) && n.Timeout == 0 && n.OnError == workflow.Stop && !n.Once && len(n.Labels) == 0
}

// try lifts the drawing without some frames. It says whether the graph is the
// same, and which of the frames are needed if not.
func (s *simplifier) try(drop map[int]bool) (wrong []int, same bool) {
	var d Drawing
	s.redraw(drop, &d)
	found := 0
	l := newLifter(&d, func(workflow.Diagnostic) { found++ })
	graph := l.lift()
	if found == s.found && sameGraph(&s.graph, &graph) {
		return nil, true
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
	return wrong, false
}

// redraw makes the drawing without some frames.
func (s *simplifier) redraw(drop map[int]bool, d *Drawing) {
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
	r := Drawing{Max: s.Max, Entry: slices.Clone(s.Entry), EntryPos: s.EntryPos}
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
	*d = r
}

// entry is what stands for a part in a drawing without some frames.
func (s *simplifier) entry(part int, drop map[int]bool) string {
	for drop[part] {
		part = s.head[part]
	}
	return s.id(part)
}

// target is what an edge leads to in a drawing without some frames.
func (s *simplifier) target(e *workflow.Edge, drop map[int]bool) string {
	to, ok := s.byID[e.To]
	if !ok || s.kind[to] != loop {
		return e.To
	}
	from, ok := s.byID[e.From]
	if head := s.head[to]; ok && !drop[to] && head != none && s.rank[head] == s.rank[to] && s.within(from, to) && !s.within(from, head) {
		return s.entry(head, drop)
	}
	return s.entry(to, drop)
}

// placed is a loop, and the id of the composite around it.
type placed struct {
	outer string
	loop  *workflow.Loop
}

// loopsOf are the loops of a graph by id.
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

// sameGraph says whether two graphs of the same nodes are the same.
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

// sameShape says whether two graphs are the same but for what is inside of their
// nodes.
func sameShape(a, b *workflow.Graph) bool {
	return slices.EqualFunc(a.Nodes, b.Nodes, func(x, y workflow.Node) bool { return x.ID == y.ID && x.Kind() == y.Kind() }) &&
		slices.EqualFunc(a.Edges, b.Edges, func(x, y workflow.Edge) bool {
			return x.From == y.From && x.To == y.To && wayOf(&x) == wayOf(&y)
		})
}
