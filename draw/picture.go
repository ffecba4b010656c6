package draw

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// picture is a workflow in the form that drawing tools need: marks in frames, and links between
// marks. A loop is a frame whose links lead to and from the marks in it; a parallel group is a
// frame too. An Each of one node is one mark.
type picture struct {
	root  *frame
	links []link

	found  map[string]*workflow.Node // every node by id, an Each before its body
	routes map[string]bool           // nodes with a label edge
	again  map[string]bool           // nodes with an edge back to the start of a loop
	tests  map[string][]string       // the different conditions of a node's edges
}

// frame is an area of the picture. Its parts are in declaration order.
type frame struct {
	id    string // "" for the whole picture; the name of a group
	key   string // like id, but different from the ids of nodes and of groups elsewhere
	kind  frameKind
	node  *workflow.Node // nil for the whole picture and for a group
	parts []part
}

type frameKind string

const (
	wholeFrame frameKind = ""
	loopFrame  frameKind = "loop"
	eachFrame  frameKind = "each"
	groupFrame frameKind = "group"
	callFrame  frameKind = "called"
)

// part is either a mark or a frame.
type part struct {
	mark  *mark
	frame *frame
}

// mark is something in a frame: a node, the start or an end.
type mark struct {
	id   string
	kind markKind
	node *workflow.Node // nil for start and end
}

type markKind string

const (
	startMark     markKind = "start"
	endMark       markKind = "end"
	taskMark      markKind = "task"
	routerMark    markKind = "router" // a task that decides between labels
	humanMark     markKind = "human"
	callMark      markKind = "call"
	choiceMark    markKind = "choice"
	evaluatorMark markKind = "evaluator" // a choice that may repeat a loop
	combineMark   markKind = "combine"
)

// link is an edge between two marks, or between a mark and an Each frame.
type link struct {
	from, to string
	on       workflow.On
	text     string // the label that is drawn
	label    string // in full, for OnLabel
	when     string // in full, for OnWhen
	back     bool   // leads back to the start of its loop
	edge     *workflow.Edge
}

// The ids of the marks that are not nodes. A node's id never begins with @.
const (
	startID = "@start"
	endID   = "@end" // an Each frame has its own: "@end" and the frame's id
)

// newPicture turns a workflow into a picture.
func newPicture(w *workflow.Workflow) *picture {
	p := &picture{
		found: map[string]*workflow.Node{}, routes: map[string]bool{},
		again: map[string]bool{}, tests: map[string][]string{},
	}
	p.index(&w.Body)
	p.root = &frame{}
	p.root.add(&mark{id: startID, kind: startMark})
	p.fill(p.root, &w.Body)

	for _, id := range entries(&w.Body) {
		p.link(startID, id, &workflow.Edge{}, false)
	}
	p.join(&w.Body, nil, endID)
	for _, id := range sinks(&w.Body) {
		p.link(id, endID, &workflow.Edge{From: id, To: workflow.End}, false)
	}
	p.root.add(&mark{id: endID, kind: endMark})
	return p
}

func (p *picture) index(g *workflow.Graph) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if p.found[n.ID] == nil {
			p.found[n.ID] = n
		}
		if body := n.Body(); body != nil {
			p.index(body)
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		if e.On == workflow.OnWhen && !slices.Contains(p.tests[e.From], e.When.Text) {
			p.tests[e.From] = append(p.tests[e.From], e.When.Text)
		}
		p.routes[e.From] = p.routes[e.From] || e.On == workflow.OnLabel
		p.again[e.From] = p.again[e.From] || e.To == workflow.Again
	}
}

func (f *frame) add(m *mark) { f.parts = append(f.parts, part{mark: m}) }

// fill puts the nodes of a graph into a frame. The nodes of a parallel group get their own frame,
// at the place of the group's first member.
func (p *picture) fill(f *frame, g *workflow.Graph) {
	groups := map[string]*frame{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		in := f
		if n.Group != "" {
			if groups[n.Group] == nil {
				groups[n.Group] = &frame{id: n.Group, key: "@group " + f.key + " " + n.Group, kind: groupFrame}
				f.parts = append(f.parts, part{frame: groups[n.Group]})
			}
			in = groups[n.Group]
		}
		p.place(in, n)
	}
}

func (p *picture) place(f *frame, n *workflow.Node) {
	if kind := p.kindOf(n); kind != "" {
		f.add(&mark{id: n.ID, kind: kind, node: n})
		return
	}
	inner := &frame{id: n.ID, key: n.ID, kind: loopFrame, node: n}
	if _, ok := n.Step.(*workflow.Each); ok {
		inner.kind = eachFrame
	}
	p.fill(inner, n.Body())
	if inner.kind == eachFrame && endsEarly(n.Body()) {
		inner.add(&mark{id: endID + n.ID, kind: endMark})
	}
	f.parts = append(f.parts, part{frame: inner})
}

// kindOf returns the kind of mark for a node, or "" if it is drawn as a frame.
func (p *picture) kindOf(n *workflow.Node) markKind {
	switch n.Step.(type) {
	case *workflow.Task:
		if p.routes[n.ID] {
			return routerMark
		}
		return taskMark
	case *workflow.Human:
		return humanMark
	case *workflow.Call:
		return callMark
	case *workflow.Choice:
		if p.again[n.ID] {
			return evaluatorMark
		}
		return choiceMark
	case *workflow.Combine:
		return combineMark
	case *workflow.Loop:
		return ""
	case *workflow.Each:
		if one := single(n); one != nil {
			return p.kindOf(one)
		}
		return ""
	}
	return ""
}

// single returns the node that an Each repeats under its own id, or nil if n is not such an Each.
func single(n *workflow.Node) *workflow.Node {
	s, ok := n.Step.(*workflow.Each)
	if ok && len(s.Body.Nodes) == 1 && s.Body.Nodes[0].ID == n.ID {
		return &s.Body.Nodes[0]
	}
	return nil
}

// endsEarly reports whether a decision ends a path of a body. Such an end gets a mark; at a last
// node, the end of the path is obvious.
func endsEarly(body *workflow.Graph) bool {
	early := false
	eachEdge(body, func(e *workflow.Edge) {
		early = early || e.To == workflow.End && e.On != workflow.OnSuccess
	})
	return early
}

// join draws the edges of a graph and of the bodies in it. loop is the body that an edge to Again
// repeats, and end is the mark that an edge to End leads to.
func (p *picture) join(g, loop *workflow.Graph, end string) {
	for i := range g.Edges {
		e := &g.Edges[i]
		switch e.To {
		case workflow.Again:
			for _, id := range entries(loop) {
				p.link(e.From, id, e, true)
			}
		case workflow.End:
			if end != "" {
				p.link(e.From, end, e, false)
			}
		default:
			p.link(e.From, e.To, e, false)
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		switch s := n.Step.(type) {
		case *workflow.Loop:
			p.join(&s.Body, &s.Body, end)
		case *workflow.Each:
			if single(n) == nil {
				p.join(&s.Body, nil, p.endOf(n))
			}
		case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
		}
	}
}

// endOf returns the mark at which an item's path ends early, or "" if there is none.
func (p *picture) endOf(n *workflow.Node) string {
	if endsEarly(n.Body()) {
		return endID + n.ID
	}
	return ""
}

// link draws one edge. An edge to a loop leads to the start of its body.
func (p *picture) link(from, to string, e *workflow.Edge, back bool) {
	if n := p.found[to]; n != nil {
		if s, ok := n.Step.(*workflow.Loop); ok {
			for _, id := range entries(&s.Body) {
				p.link(from, id, e, back)
			}
			return
		}
	}
	p.links = append(p.links, link{
		from: from, to: to, on: e.On, text: edgeText(e), label: e.Label, when: e.When.Text, back: back, edge: e,
	})
}

// entries returns the nodes of a graph that no edge leads to, in order.
func entries(g *workflow.Graph) []string {
	led := map[string]bool{}
	eachEdge(g, func(e *workflow.Edge) { led[e.To] = true })
	var ids []string
	for i := range g.Nodes {
		if !led[g.Nodes[i].ID] {
			ids = append(ids, g.Nodes[i].ID)
		}
	}
	return ids
}

// sinks returns the nodes of a graph at which a path ends when they succeed, in order. Loops are
// not among them, because they are left by the edges of their bodies.
func sinks(g *workflow.Graph) []string {
	left := map[string]bool{}
	for i := range g.Edges {
		if on := g.Edges[i].On; on != workflow.OnFailure && on != workflow.OnTimeout {
			left[g.Edges[i].From] = true
		}
	}
	var ids []string
	for i := range g.Nodes {
		if _, loop := g.Nodes[i].Step.(*workflow.Loop); !loop && !left[g.Nodes[i].ID] {
			ids = append(ids, g.Nodes[i].ID)
		}
	}
	return ids
}

// eachEdge visits the edges that may lead to nodes of a graph: its own, and
// those that leave the loops in it.
func eachEdge(g *workflow.Graph, visit func(*workflow.Edge)) {
	for i := range g.Edges {
		visit(&g.Edges[i])
	}
	for i := range g.Nodes {
		if s, ok := g.Nodes[i].Step.(*workflow.Loop); ok {
			eachEdge(&s.Body, visit)
		}
	}
}

// names maps every id of a picture to a name that drawing tools accept as a plain word and never
// as a keyword. Different ids get different names.
type names map[string]string

func (n names) of(id string) string {
	if n[id] == "" {
		n[id] = "n" + strconv.Itoa(len(n)+1) + "_" + plainWord(id)
	}
	return n[id]
}

// plainWord keeps the letters and digits of an id.
func plainWord(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.TrimPrefix(id, "@"))
}
