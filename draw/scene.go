package draw

import (
	"cmp"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// region is one graph, laid out in rows from top to bottom. The body of a loop or of an Each is
// its own region inside a box of the region around it, so boxes of different regions never
// overlap.
//
// Coordinates are relative to the region's top left corner until paint adds the position of that
// corner.
type region struct {
	kind   frameKind
	title  string
	titleX float64
	boxes  []*box
	wires  []*wire
	backs  []*back
	exits  []*leaving
	head   *box // where a loop's body begins
	rows   []*row
	groups []outline

	straight int // how many wires lead straight to their ends

	width, height float64

	entries []entry   // space for sort
	ends    []float64 // space for crossings
	space   settling  // space for settle
}

// box is something that occupies space in a row.
type box struct {
	kind   boxKind
	mark   markKind // for markBox
	id     string
	place  string // the address of its node, without iterations and items; "" if it is no node
	title  string
	note   string
	folded []string // the places of the nodes that it stands for, if it is several
	handed []Handed // below its mark
	accent string   // colour of the lane, or ""
	inner  *region  // for frameBox
	group  string
	stack  bool // drawn as a stack: an Each
	trunk  bool // several wires lead to it and share their bends
	beside bool // failures enter it next to the other wires

	w, h float64
	x, y float64 // of the middle of its upper side
	row  int
	at   int // index in the row

	up, down []*strand // in the order of the wires
	spread   bool      // the strands below begin at different places
	column   *column
}

type boxKind int

const (
	markBox  boxKind = iota // a node, the start or an end
	frameBox                // a region
	textBox                 // the text of a wire
	bendBox                 // where a long wire crosses a row
	portBox                 // where a wire leaves the region, at its lower side
	jointBox                // where the paths into a body with several entries part
)

// wire is an edge from box to box, through the boxes that layout puts between them.
type wire struct {
	from, to *box
	on       workflow.On
	edge     Edge
	text     *box  // nil if it has no text
	via      *wire // its part inside the frame that it comes from, which ends at a port
	chain    []*box
	straight bool // it is too long to be led around what is between its ends
}

// Edge is what a line of a picture stands for. A line that several edges share has several sources.
// What leads to the beginning of a loop leads to the loop, and what repeats it to [workflow.Again].
type Edge struct {
	From []string // places; none: the start
	To   string   // the place of a node, of [workflow.End] or of [workflow.Again]
	On   workflow.On
	Case string // the label or the condition
}

// back is an edge that repeats a loop, drawn on the right side.
type back struct {
	from *box
	edge Edge
	text *box // nil if it has no text
	x    float64
}

// leaving is a wire that ends at a port because its target is further out.
type leaving struct {
	edge *workflow.Edge
	wire *wire
	from []string // the places that it comes from
}

// scene builds the regions of a workflow.
type scene struct {
	picture *picture
	colors  map[string]string // by agent
	called  map[string]*workflow.Workflow
	open    map[string]bool // places of the calls that are drawn with the workflow that they call
	closed  *int            // counts the others
	fold    Fold
	handed  map[string][]Handed
	titles  map[string]string
	folds   map[string][]*workflow.Node
	prefix  string // of the places of its nodes
}

// builder fills one region.
type builder struct {
	*scene
	r     *region
	byID  map[string]*box
	end   *box
	ports map[string]*box // of failures, by target: these leave the region together
	tags  map[string]*box // texts of failures, by target: each is drawn once
	exits map[*box]*leaving
}

// deepest is how many calls can be drawn inside of each other. Workflows that have errors may call
// each other in a circle.
const deepest = 8

// whole builds the region of a workflow.
func (s *scene) whole(w *workflow.Workflow, kind frameKind, title string) *region {
	w, s.folds = s.fold.workflow(w, s.prefix)
	s.picture, s.colors = newPicture(w), map[string]string{}
	for _, a := range w.Agents {
		s.colors[a.Name] = a.Color
	}
	b := s.builder(kind, title, &w.Body)
	start := b.add(&box{kind: markBox, mark: startMark, w: startSize, h: startSize})
	b.end = &box{kind: markBox, mark: endMark, w: endSize, h: endSize}
	for _, id := range entries(&w.Body) {
		b.plain(start, b.byID[id])
	}
	b.edges(&w.Body)
	for _, id := range sinks(&w.Body) {
		b.plain(b.byID[id], b.end)
	}
	b.add(b.end)
	return b.r
}

func (s *scene) builder(kind frameKind, title string, g *workflow.Graph) *builder {
	b := &builder{
		scene: s, r: &region{kind: kind, title: title},
		byID: map[string]*box{}, ports: map[string]*box{}, tags: map[string]*box{}, exits: map[*box]*leaving{},
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		b.byID[n.ID] = b.add(b.node(n))
	}
	return b
}

func (b *builder) add(x *box) *box {
	b.r.boxes = append(b.r.boxes, x)
	return x
}

func (s *scene) node(n *workflow.Node) *box {
	x := &box{id: n.ID, place: s.prefix + n.ID, group: n.Group, title: title(n), note: note(n)}
	if other := s.titles[x.place]; other != "" {
		x.title = shorten(other, widestTitle)
	}
	inner := n
	if one := single(n); one != nil {
		inner, x.stack = one, true
		x.note = shorten(joined(note(one), note(n)), widestNote)
	}
	if t, ok := inner.Step.(*workflow.Task); ok {
		x.accent = s.colors[t.Agent]
	}
	if all := s.folds[n.ID]; all != nil {
		x.folded, x.stack = s.members(all), true
		x.note = shorten(heading(all[0])+" … "+heading(all[len(all)-1]), widestNote)
	} else if w := s.opened(n, x.place); w != nil {
		x.kind, x.mark = frameBox, ""
		inner := &scene{called: s.called, open: s.open, closed: s.closed, fold: s.fold, handed: s.handed, titles: s.titles, prefix: x.place + "/"}
		x.inner = inner.whole(w, callFrame, joined(x.title, x.note))
		return x
	}
	if x.mark = s.picture.kindOf(n); x.mark != "" {
		x.kind = markBox
		x.measure()
		if x.folded == nil {
			x.hold(s.handed[x.place])
		}
		return x
	}
	x.kind = frameBox
	_, x.stack = n.Step.(*workflow.Each)
	x.inner = s.body(n, x)
	return x
}

// enclose makes a frame as large as its region.
func (x *box) enclose() {
	x.w, x.h = x.inner.width, x.inner.height
	if x.stack {
		x.w, x.h = x.w+pileSize, x.h+pileSize
	}
}

// members returns the places of nodes.
func (s *scene) members(nodes []*workflow.Node) []string {
	places := make([]string, len(nodes))
	for i, n := range nodes {
		places[i] = s.prefix + n.ID
	}
	return places
}

// opened returns the workflow that is drawn in place of a call, or nil.
func (s *scene) opened(n *workflow.Node, place string) *workflow.Workflow {
	c, ok := n.Step.(*workflow.Call)
	if !ok || s.called[c.Workflow] == nil {
		return nil
	}
	if !s.open[place] {
		*s.closed++
		return nil
	}
	return s.called[c.Workflow]
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " · " + b
}

// body builds the region of the body of a loop or an Each.
func (s *scene) body(n *workflow.Node, frame *box) *region {
	g := n.Body()
	kind := loopFrame
	if frame.stack {
		kind = eachFrame
	}
	heading := joined(frame.title, frame.note)
	if kind == loopFrame && !strings.HasPrefix(frame.title, "loop") {
		heading = "loop " + heading
	}
	b := s.builder(kind, heading, g)
	if kind == loopFrame {
		b.r.head = b.begin(entries(g))
	} else if endsEarly(g) {
		b.end = &box{kind: markBox, mark: endMark, w: endSize, h: endSize}
	}
	b.edges(g)
	if b.end != nil {
		b.add(b.end)
	}
	return b.r
}

func (b *builder) plain(from, to *box) {
	to.beside = true
	w := &wire{from: from, to: to, edge: Edge{To: to.place}}
	if from.place != "" {
		w.edge.From = []string{from.place}
	}
	if to == b.end {
		w.edge.To = b.prefix + workflow.End
	}
	b.r.wires = append(b.r.wires, w)
}

// edgeOf returns what an edge of this workflow leads from and to.
func (s *scene) edgeOf(e *workflow.Edge) Edge {
	return Edge{[]string{s.prefix + e.From}, s.prefix + e.To, e.On, cmp.Or(e.Label, e.When.Text)}
}

// begin returns the box to which the edges into a loop lead, including its back edges.
func (b *builder) begin(ids []string) *box {
	if len(ids) == 1 {
		return b.byID[ids[0]]
	}
	joint := b.add(&box{kind: jointBox, w: jointSize, h: jointSize})
	for _, id := range ids {
		b.plain(joint, b.byID[id])
	}
	return joint
}

// edges draws the edges of a graph, and those that leave the loops in it.
func (b *builder) edges(g *workflow.Graph) {
	for i := range g.Edges {
		e := &g.Edges[i]
		if e.To == workflow.Again {
			b.r.backs = append(b.r.backs, &back{from: b.byID[e.From], edge: b.edgeOf(e), text: newText(edgeText(e))})
			continue
		}
		b.edge(b.byID[e.From], e, nil)
	}
	for i := range g.Nodes {
		frame := b.byID[g.Nodes[i].ID]
		if frame.kind == frameBox {
			for _, x := range frame.inner.exits {
				b.edge(frame, x.edge, x)
			}
		}
	}
}

// edge draws an edge that begins at a box of this region; inside is its part inside that box.
func (b *builder) edge(from *box, e *workflow.Edge, inside *leaving) {
	to := b.byID[e.To]
	if e.To == workflow.End && b.r.kind != loopFrame {
		if to = b.end; to == nil {
			return // a path that ends in an Each needs no mark
		}
	}
	w := &wire{from: from, to: to, on: e.On, edge: b.edgeOf(e)}
	if inside != nil {
		w.via, w.edge.From = inside.wire, inside.from
	}
	if to == nil {
		w.to = b.port(e)
	}
	w.text = b.text(e, w)
	w.to.beside = w.to.beside || !w.failure()
	b.r.wires = append(b.r.wires, w)
	if to == nil {
		b.leave(e, w)
	}
}

// leave has a wire lead on from its port, which failures share.
func (b *builder) leave(e *workflow.Edge, w *wire) {
	if x := b.exits[w.to]; x != nil {
		x.from = append(x.from, w.edge.From...)
		return
	}
	x := &leaving{e, w, w.edge.From}
	b.exits[w.to] = x
	b.r.exits = append(b.r.exits, x)
}

// text returns the text of a wire: that of a decision is at its source, and that of a failure is
// drawn once for all wires of its trunk, near the target.
func (b *builder) text(e *workflow.Edge, w *wire) *box {
	key := failureKey(e)
	if key != "" && w.to.kind == portBox || key == "" && w.via != nil {
		return nil
	}
	if t := b.tags[key]; key != "" && t != nil {
		return t
	}
	t := newText(edgeText(e))
	if t != nil {
		t.trunk = key != ""
		b.tags[key] = b.add(t)
	}
	return t
}

// port returns where an edge leaves the region. Edges for the same kind of failure to the same
// target leave together.
func (b *builder) port(e *workflow.Edge) *box {
	key := failureKey(e)
	if p := b.ports[key]; key != "" && p != nil {
		return p
	}
	p := b.add(&box{kind: portBox, w: portSize, trunk: key != ""})
	b.ports[key] = p
	return p
}

// failureKey returns the same key for edges that are drawn as one trunk, and "" for all others.
// Without trunks, a handler that every node leads to would need a hundred lines.
func failureKey(e *workflow.Edge) string {
	switch e.On {
	case workflow.OnFailure, workflow.OnTimeout:
		return string(e.On) + " " + e.To
	case workflow.OnSuccess, workflow.OnLabel, workflow.OnWhen, workflow.OnElse:
	}
	return ""
}
