package mermaid

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// builder builds a chart from statements as Mermaid does: in order, the last text of a node wins,
// and a node belongs to the first subgraph that is closed around it.
type builder struct {
	chart  *Chart
	nodes  map[string]int32
	groups map[string]int32 // subgraphs by id
	edges  map[string]int32 // edges by the ids of their author
	drawn  map[string]int32 // edges by the ids that Mermaid generates; see drawnEdge
	pairs  map[[2]string]int
	seen   int   // number of edges in drawn
	last   int32 // the node that was mentioned last

	frames []frame
	spare  []member // of a subgraph that was closed, for reuse
	closed []bool   // which subgraphs are closed, by index
	listed []bool   // subgraphs that are inside another one, by index
	limit  int      // maximum number of edges
	count  int      // number of subgraphs that were closed
	size   int      // of the text
	read   int      // how much of it was read
}

// frame is an open subgraph.
type frame struct {
	index int
	ids   []member // what is mentioned in it
	named bool
	head  source.Span
}

// member is something mentioned in a subgraph: a node, or another subgraph.
type member struct {
	id   string
	node int32 // -1 if there is none
}

// newBuilder allocates space for an estimated number of edges and statements.
func newBuilder(text []byte) *builder {
	size := len(text)
	edges, lines := bytes.Count(text, []byte("--")), bytes.Count(text, []byte{'\n'})
	return &builder{
		chart: &Chart{
			Direction:  "TB",
			Edges:      make([]Edge, 0, min(edges, size/16)),
			Statements: make([]source.Span, 0, min(lines, size/8)),
		},
		nodes: make(map[string]int32, size/96),
		limit: 100_000 + size/2,
		size:  size,
	}
}

// grown returns a list with space for one more. It grows by an estimate for the rest of the text,
// so that large charts are not copied repeatedly.
func grown[T any](b *builder, list []T) []T {
	if len(list) < cap(list) {
		return list
	}
	n := len(list)
	if n == 0 {
		return make([]T, 0, 8+b.size/96)
	}
	expected := float64(n) * float64(b.size) / float64(max(b.read, 1))
	more := make([]T, n, max(16, n+n/4, min(int(expected*1.05)+16, 4*n)))
	copy(more, list)
	return more
}

// inner returns the index of the innermost open subgraph, or -1.
func (b *builder) inner() int {
	if len(b.frames) == 0 {
		return -1
	}
	return b.frames[len(b.frames)-1].index
}

// node returns the index of the node with an id, and creates it if necessary. It returns -1 if it
// is the id of an edge.
func (b *builder) node(id string, at source.Span) int32 {
	if i, ok := b.find(id); ok {
		b.last = i
		return i
	}
	if b.edgeOf(id) != nil {
		return -1
	}
	i := int32(len(b.chart.Nodes))
	b.nodes[id], b.last = i, i
	b.chart.Nodes = grown(b, b.chart.Nodes)[:i+1]
	n := &b.chart.Nodes[i]
	n.ID, n.Text, n.Subgraph, n.Group, n.Mention, n.Whole = id, id, -1, -1, at, at
	return i
}

// find finds a node. Most mentions are of the same node as the previous one, or of the next.
func (b *builder) find(id string) (int32, bool) {
	for i := b.last; i < min(b.last+2, int32(len(b.chart.Nodes))); i++ {
		if b.chart.Nodes[i].ID == id {
			return i, true
		}
	}
	i, ok := b.nodes[id]
	return i, ok
}

// edgeOf returns the edge with an id, the author's or Mermaid's, or nil.
func (b *builder) edgeOf(id string) *Edge {
	if i, ok := b.edges[id]; ok {
		return &b.chart.Edges[i]
	}
	if strings.HasPrefix(id, "L_") {
		if i, ok := b.drawnEdge(id); ok {
			return &b.chart.Edges[i]
		}
	}
	return nil
}

// drawnEdge finds the edge that Mermaid calls L_from_to_0. These ids are rarely used, so edges
// are numbered only when needed.
func (b *builder) drawnEdge(id string) (int32, bool) {
	if b.drawn == nil {
		b.drawn, b.pairs = map[string]int32{}, map[[2]string]int{}
	}
	for ; b.seen < len(b.chart.Edges); b.seen++ {
		e := &b.chart.Edges[b.seen]
		pair := [2]string{e.From, e.To}
		n := b.pairs[pair]
		b.pairs[pair]++
		if e.ID != "" {
			continue
		}
		if n > 0 {
			n++
		}
		b.drawn["L_"+e.From+"_"+e.To+"_"+strconv.Itoa(n)] = int32(b.seen)
	}
	i, ok := b.drawn[id]
	return i, ok
}

// mention adds a node of a chain with its text, shape and class.
func (b *builder) mention(v *view, m *mention, meta metaValue) member {
	id := v.text[m.from:m.to]
	i := b.node(id, v.span(m.from, m.to))
	if i < 0 {
		b.edgeMeta(id, v, m)
		return member{id, -1}
	}
	n := &b.chart.Nodes[i]
	if m.shape != NoShape {
		n.Shape, n.Text, n.HasText = m.shape, m.label.text, true
		n.Quoted, n.Markdown = m.label.quoted, m.label.markdown
		n.Label, n.Whole = v.span(m.label.from, m.label.to), v.span(m.from, m.end)
	}
	if m.class[1] > 0 {
		b.classify(id, v.text[m.class[0]:m.class[1]])
	}
	if m.meta.to > 0 {
		b.nodeMeta(n, v, m, meta)
	}
	return member{n.ID, i}
}

func (b *builder) edgeMeta(id string, v *view, m *mention) {
	if e := b.edgeOf(id); m.meta.to > 0 {
		e.Meta = append(e.Meta, metaOf(v, m.meta))
	}
}

// nodeMeta adds an @{…} to a node, or to the subgraph of its id.
func (b *builder) nodeMeta(n *Node, v *view, m *mention, meta metaValue) {
	if g, ok := b.groups[n.ID]; ok && b.closed[g] {
		b.chart.Subgraphs[g].Meta = append(b.chart.Subgraphs[g].Meta, metaOf(v, m.meta))
		return
	}
	n.Meta = append(n.Meta, metaOf(v, m.meta))
	if meta.shape != "" {
		n.Shape = Shape(meta.shape)
	}
	switch {
	case meta.label != "":
		n.Text, n.HasText, n.Quoted, n.Markdown = meta.label, true, false, !meta.plain
		n.Label, n.Whole = v.span(m.meta.from, m.meta.to), v.span(m.from, m.meta.to+1)
	case meta.picture && n.Text == n.ID:
		n.Text = ""
	}
}

func metaOf(v *view, m metaText) Meta { return Meta{YAML: v.span(m.from, m.to), Flow: m.flow} }

// classify sets the class of everything that has one of some ids.
func (b *builder) classify(ids, class string) {
	for id := range strings.SplitSeq(ids, ",") {
		if i, ok := b.nodes[id]; ok {
			b.chart.Nodes[i].Classes = append(b.chart.Nodes[i].Classes, class)
		}
		if e := b.edgeOf(id); e != nil {
			e.Classes = append(e.Classes, class)
		}
		if g, ok := b.groups[id]; ok && b.closed[g] {
			b.chart.Subgraphs[g].Classes = append(b.chart.Subgraphs[g].Classes, class)
		}
	}
}

// connect adds the edges between two groups of nodes. It reports whether more edges are allowed.
func (b *builder) connect(from, to []member, v *view, l *link) bool {
	e := Edge{
		Text: l.label.text, HasText: l.label.pieces > 0, Quoted: l.label.quoted, Markdown: l.label.markdown,
		Head: l.style.head, Tail: l.style.tail, Stroke: l.style.stroke, Length: l.style.length,
		Span: v.span(l.from, l.to),
	}
	if e.HasText {
		e.Label, e.Taken = v.span(l.label.from, l.label.to), takenLetter(v.text, l)
	}
	id := v.text[l.id[0]:l.id[1]]
	for i, a := range from {
		for j, z := range to {
			if len(b.chart.Edges) >= b.limit {
				return false
			}
			e.From, e.To, e.ID, e.Ends = a.id, z.id, "", [2]int32{a.node, z.node}
			if id != "" && i == len(from)-1 && j == 0 {
				e.ID = b.claim(id)
			}
			b.chart.Edges = append(grown(b, b.chart.Edges), e)
		}
	}
	return true
}

// claim returns the id of an edge unless another edge has it.
func (b *builder) claim(id string) string {
	if b.edgeOf(id) != nil {
		return ""
	}
	if b.edges == nil {
		b.edges = map[string]int32{}
	}
	b.edges[id] = int32(len(b.chart.Edges))
	return id
}

// open opens a subgraph.
func (b *builder) open(v *view, s *statement) {
	f := frame{head: v.span(s.from, s.to), named: s.titled || !s.blank, ids: b.spare}
	b.spare = nil
	id := s.id.text
	i, again := b.groups[id]
	if f.named && again {
		f.index = int(i)
		b.frames = append(b.frames, f)
		return
	}
	f.index = len(b.chart.Subgraphs)
	g := Subgraph{ID: id, Title: id, Named: f.named, Outer: -1, Head: f.head, Span: f.head, Label: v.span(s.id.from, s.id.to)}
	if s.titled {
		g.Title, g.HasTitle, g.Label = s.title.text, true, v.span(s.title.from, s.title.to)
	}
	b.chart.Subgraphs = append(b.chart.Subgraphs, g)
	b.closed, b.listed = append(b.closed, false), append(b.listed, false)
	if f.named {
		b.name(id, f.index)
	}
	b.frames = append(b.frames, f)
}

func (b *builder) name(id string, index int) {
	if b.groups == nil {
		b.groups = map[string]int32{}
	}
	b.groups[id] = int32(index)
}

// close closes the innermost subgraph.
func (b *builder) close(end source.Span) {
	f := b.frames[len(b.frames)-1]
	b.frames = b.frames[:len(b.frames)-1]
	g := &b.chart.Subgraphs[f.index]
	if !f.named {
		g.ID = "subGraph" + strconv.Itoa(b.count)
		if _, ok := b.groups[g.ID]; !ok {
			b.name(g.ID, f.index)
		}
	}
	b.count++
	kept := f.ids[:0]
	for _, m := range f.ids {
		if m.id != g.ID && b.list(m, f.index) {
			kept = append(kept, m)
		}
	}
	g.Nodes = slices.Grow(g.Nodes, len(kept))
	for _, m := range kept {
		g.Nodes = append(g.Nodes, m.id)
	}
	b.spare = f.ids[:0]
	if !b.closed[f.index] {
		g.Span = source.Span{From: f.head.From, To: max(f.head.To, end.To)}
	}
	b.closed[f.index] = true
	if len(b.frames) > 0 {
		outer := &b.frames[len(b.frames)-1]
		outer.ids = append(outer.ids, b.member(g.ID))
	}
}

func (b *builder) member(id string) member {
	if i, ok := b.nodes[id]; ok {
		return member{id, i}
	}
	return member{id, -1}
}

// list reports whether an id is not in a subgraph yet, and puts it into one.
func (b *builder) list(m member, index int) bool {
	isNode := m.node >= 0
	g, isGroup := b.groups[m.id]
	if isNode && b.chart.Nodes[m.node].Subgraph >= 0 || isGroup && b.listed[g] {
		return false
	}
	if isNode {
		b.chart.Nodes[m.node].Subgraph = index
	}
	if isGroup && b.closed[g] {
		b.listed[g] = true
		if !b.within(index, int(g)) {
			b.chart.Subgraphs[g].Outer = index
		}
	}
	return isNode || isGroup
}

// within reports whether a subgraph is another one, or is in it.
func (b *builder) within(index, other int) bool {
	for ; index >= 0; index = b.chart.Subgraphs[index].Outer {
		if index == other {
			return true
		}
	}
	return false
}

// finish links nodes to the subgraphs of the same id.
func (b *builder) finish() {
	for i := range b.chart.Subgraphs {
		if n, ok := b.nodes[b.chart.Subgraphs[i].ID]; ok {
			b.chart.Nodes[n].Group = i
		}
	}
}
