package plantuml

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// drawer goes through the elements in the order of the text.
type drawer struct {
	parts  []*node // all nodes and frames, in order
	spare  []node  // nodes and arrows are allocated in blocks
	arrows []arrow
	byID   map[string]*node // nil if the id is given in a later note
	open   []tail           // the edges that lead to the next step; this list must not be shared
	asked  *node            // the previous step, if what follows may show its answers
	frame  *node            // the innermost loop, for_each or partition
	loops  []*loop
	edges  int

	lane lane
}

// node is a node or a frame of the drawing.
type node struct {
	workflow.Node
	ways    *ways   // nil if notes set none
	in      *node   // the frame around it
	isFrame bool    // it contains others
	entered bool    // the flow, or that of its frame, begins here
	reached bool    // the flow can reach it
	firsts  []*node // of a loop or a for_each: where it begins
	out     []arrow
	guard   *node  // the choice of its `when`
	routes  []bool // which of its routes lead somewhere
	only    *node  // of a for_each: its only step, which shares its id
}

// arrow is an edge that leaves a node.
type arrow struct {
	to    *node // nil for the end
	on    workflow.On
	label string
	when  *workflow.Expr // nil if there is none
	pos   workflow.Pos
}

// tail is an edge without a target.
type tail struct {
	from  *node // nil if the flow begins here
	on    workflow.On
	label string
	when  *workflow.Expr
	pos   workflow.Pos
	jump  *place // instead of from: everything that jumps to this place
	join  workflow.Join
}

// loop is the state of a loop while its body is drawn.
type loop struct {
	frame *node
	exits []tail // those of its breaks
}

// draw draws the whole diagram.
func (r *reader) draw() {
	if !hasStart(r.diagram.Body) {
		r.open = []tail{{}}
	}
	r.elements(r.diagram.Body)
	r.end(r.open)
	r.jumpAll()
	r.leadAll()
}

// hasStart reports whether there is a start mark outside all loops.
func hasStart(list []activity.Element) bool {
	return slices.ContainsFunc(list, func(e activity.Element) bool {
		switch e := e.(type) {
		case *activity.Start:
			return true
		case *activity.Group:
			return hasStart(e.Body)
		case *activity.If:
			return slices.ContainsFunc(e.Branches, func(b activity.Branch) bool { return hasStart(b.Body) }) || e.Else != nil && hasStart(e.Else.Body)
		case *activity.Switch:
			return hasStartIn(e.Cases)
		case *activity.Fork:
			return hasStartIn(e.Branches)
		case *activity.Split:
			return hasStartIn(e.Branches)
		case *activity.While, *activity.Repeat, *activity.Stop, *activity.Activity, *activity.Break, *activity.Goto, *activity.Label,
			*activity.Connector, *activity.Arrow, *activity.LaneMark, *activity.Note, *activity.Backward, *activity.Kill:
		}
		return false
	})
}

func hasStartIn(branches []activity.Branch) bool {
	return slices.ContainsFunc(branches, func(b activity.Branch) bool { return hasStart(b.Body) })
}

// body draws what is in a block.
func (r *reader) body(list []activity.Element) {
	r.block(func() { r.elements(list) })
}

// block draws a block. A lane that is set in it does not apply to what follows.
func (r *reader) block(draw func()) {
	outer := r.lane.block
	r.lane.blocks++
	r.lane.block = r.lane.blocks
	draw()
	if r.lane.setIn == r.lane.block {
		r.lane.setIn, r.lane.inherited = outer, true
	}
	r.lane.block = outer
}

func (r *reader) elements(list []activity.Element) {
	for _, e := range list {
		r.element(e)
		if base := e.Common(); base.Kill != nil {
			r.kill()
		}
	}
}

func (r *reader) element(e activity.Element) {
	switch e.(type) {
	case *activity.If, *activity.Switch, *activity.Arrow, *activity.Note, *activity.LaneMark:
	default:
		r.asked = nil
	}
	switch e := e.(type) {
	case *activity.Start:
		r.open = append(r.open, tail{pos: r.pos(e.Span)})
	case *activity.Stop:
		r.end(r.open)
		r.open = nil
	case *activity.Activity:
		r.activity(e)
	case *activity.If:
		r.ifElse(e)
	case *activity.Switch:
		r.choose(e)
	case *activity.While:
		r.while(e)
	case *activity.Repeat:
		r.repeat(e)
	case *activity.Fork:
		r.fork(e)
	case *activity.Split:
		r.open = r.branches(e.Branches, r.open)
	case *activity.Group:
		r.group(e)
	case *activity.Break:
		r.leave(e)
	case *activity.Goto:
		r.jump(e)
	case *activity.Label:
		r.land(e)
	case *activity.Connector:
		r.connect(e)
	case *activity.Kill:
		if e.On == nil {
			r.kill()
		}
	case *activity.LaneMark:
		r.lane.setIn, r.lane.inherited = r.lane.block, false
	case *activity.Arrow, *activity.Note, *activity.Backward:
	}
	if isBlock(e) {
		r.asked = nil // other steps may also lead to what follows
	}
}

func isBlock(e activity.Element) bool {
	switch e.(type) {
	case *activity.If, *activity.Switch, *activity.While, *activity.Repeat, *activity.Fork, *activity.Split, *activity.Group:
		return true
	case *activity.Start, *activity.Stop, *activity.Activity, *activity.Break, *activity.Goto, *activity.Label, *activity.Connector,
		*activity.Arrow, *activity.LaneMark, *activity.Note, *activity.Backward, *activity.Kill:
	}
	return false
}

// end leads tails to the end.
func (r *reader) end(tails []tail) {
	for _, t := range tails {
		r.tie(t, nil)
	}
}

// kill ends the path: a finished step has no edge, but a decision needs one.
func (r *reader) kill() {
	for _, t := range r.open {
		if t.on != workflow.OnSuccess || t.jump != nil {
			r.tie(t, nil)
		}
	}
	r.open = nil
}

// tie ties a tail to a node, or to the end if to is nil.
func (r *reader) tie(t tail, to *node) {
	switch {
	case t.jump != nil:
		t.jump.targets = append(t.jump.targets, to)
	case t.from == nil:
		if to != nil {
			to.entered = true
		}
	default:
		r.edges++
		if t.from.out == nil { // most nodes have one edge
			if len(r.arrows) == 0 {
				r.arrows = make([]arrow, min(256, 16+len(r.parts)))
			}
			t.from.out, r.arrows = r.arrows[:0:1], r.arrows[1:]
		}
		t.from.out = append(t.from.out, arrow{to, t.on, t.label, t.when, t.pos})
	}
}

// maxEdges limits what a short text can create: two forks of n branches, one after the other,
// need n² edges.
const maxEdges = 200_000

// enter ties all open tails to a node.
func (r *reader) enter(n *node, at *activity.Base) {
	if r.edges+len(r.open) > maxEdges {
		if r.edges <= maxEdges {
			r.report(workflow.Errorf(n.Pos, codeEdges, "put a step between large forks, so that each waits for one", "the steps need more than %d edges", maxEdges))
		}
		r.edges = maxEdges + 1
		r.open = nil
	}
	for i := range r.open {
		t := &r.open[i]
		if t.join != (workflow.Join{}) && n.Join == (workflow.Join{}) {
			n.Join = t.join
		}
		if t.from != nil && len(t.from.routes) > 0 && t.on == workflow.OnSuccess && r.routed(*t, n, at) {
			continue
		}
		r.tie(*t, n)
	}
	r.open = r.open[:0]
}

// routed ties a tail of a router to the targets that its routes name: the lane or the id of the
// step.
func (r *reader) routed(t tail, n *node, at *activity.Base) bool {
	found := false
	for i, rt := range t.from.ways.routes {
		if rt.target.name == n.ID || rt.target.name == strings.TrimSpace(at.Lane) && at.Lane != "" {
			t.from.routes[i], found = true, true
			r.tie(tail{from: t.from, on: workflow.OnLabel, label: rt.category, pos: rt.target.pos}, n)
		}
	}
	return found
}

// add makes a node or a frame of the drawing.
func (r *reader) add(n workflow.Node, s *said, isFrame bool) *node {
	if len(r.spare) == 0 {
		r.spare = make([]node, min(256, 16+len(r.parts)))
	}
	p := &r.spare[0]
	r.spare = r.spare[1:]
	p.Node, p.ways, p.in, p.isFrame = n, s.ways(), r.frame, isFrame
	if s == nil || !s.HasOnError {
		p.OnError = r.head.onError
		if _, isLoop := n.Step.(*workflow.Loop); isLoop {
			p.OnError = workflow.Stop
		}
	}
	if other := r.byID[p.ID]; other == nil {
		r.byID[p.ID] = p
	} else if other == p.in && other.Kind() == "each" && other.only == nil {
		other.only = p
	} else {
		r.rename(p, other)
	}
	r.parts = append(r.parts, p)
	return p
}

// name makes an id that no other node has.
func (r *reader) name(base string) string {
	return yaml.FreeName(base, r.last, func(id string) bool {
		_, taken := r.byID[id]
		return taken
	})
}

// rename gives a new name to a node whose id another one has.
func (r *reader) rename(p, other *node) {
	r.report(workflow.Errorf(p.Pos, codeDuplicate, "it is also used at "+other.Pos.String()+"; rename one of them", "id %q is used twice", p.ID))
	p.ID = r.name(yaml.Slug(p.ID))
	r.byID[p.ID] = p
}

// lift turns the drawing into a graph.
func (r *reader) lift() workflow.Graph {
	r.dropUnreached()
	frames, edges := 0, 0
	for _, p := range r.parts {
		if edges += len(p.out); p.isFrame {
			frames++
		}
	}
	d := &flow.Drawing{Nodes: make([]flow.Node, 0, len(r.parts)-frames), Frames: make([]flow.Frame, 0, frames), Edges: make([]workflow.Edge, 0, edges)}
	for _, p := range r.parts {
		frame := ""
		if p.in != nil {
			frame = p.in.ID
		}
		switch {
		case p.in != nil && p.in.only == p:
			continue
		case p.only != nil:
			p.Step.(*workflow.Each).Body = workflow.Graph{Nodes: []workflow.Node{p.only.Node}, Edges: p.only.edges(nil)}
			d.Nodes = append(d.Nodes, flow.Node{Node: p.Node, Frame: frame})
		case p.isFrame:
			d.Frames = append(d.Frames, flow.Frame{Node: p.Node, Frame: frame})
		default:
			d.Nodes = append(d.Nodes, flow.Node{Node: p.Node, Frame: frame})
		}
		if p.entered && p.home() == nil {
			d.Entry, d.EntryPos = append(d.Entry, p.ID), append(d.EntryPos, p.Pos)
		}
		d.Edges = p.edges(d.Edges)
	}
	return d.Lift(r.report)
}

// edges appends the edges that leave a node to a list.
func (n *node) edges(list []workflow.Edge) []workflow.Edge {
	for i := range n.out {
		a := &n.out[i]
		e := workflow.Edge{From: n.ID, To: workflow.End, On: a.on, Label: a.label, Pos: a.pos}
		if a.to != nil {
			e.To = a.to.ID
		}
		if a.when != nil {
			e.When = *a.when
		}
		list = append(list, e)
	}
	return list
}

// home returns the loop or the for_each that a node is in, or nil.
func (n *node) home() *node {
	in := n.in
	for in != nil && in.Step == nil {
		in = in.in
	}
	return in
}
