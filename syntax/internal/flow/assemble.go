package flow

import (
	"github.com/hocket-dev/hocket/workflow"
)

// assemble builds the graphs. A composite takes the position of the first node declared in it.
func (l *lifter) assemble() workflow.Graph {
	inner := make([][]int, len(l.up)+1) // by region, none first
	inner[none+1] = make([]int, 0, len(l.Nodes))
	placed := make([]bool, len(l.up))
	for i := range l.Nodes {
		for item := i; l.reached[i] && item != none && !placed[item]; item = l.up[item] {
			placed[item] = true
			inner[l.up[item]+1] = append(inner[l.up[item]+1], item)
		}
	}
	return l.graph(none, inner)
}

func (l *lifter) graph(region int, inner [][]int) workflow.Graph {
	items := inner[region+1]
	if len(items) == 0 {
		return workflow.Graph{}
	}
	inLoop := region != none && (l.isDrawn(region) || l.kind[region] == loop)
	nodes, edges := len(items), 0
	for _, i := range items {
		nodes += len(l.hops[i])
		edges += len(l.hops[i])
		if !l.isDrawn(i) {
			edges += l.starts[i+1] - l.starts[i]
		}
	}
	g := workflow.Graph{Nodes: make([]workflow.Node, 0, nodes), Edges: make([]workflow.Edge, 0, edges)}
	for _, i := range items {
		if i < len(l.Nodes) {
			g.Nodes = append(g.Nodes, l.Nodes[i].Node)
		} else {
			g.Nodes = append(g.Nodes, l.composite(i, inner))
		}
		if !l.isDrawn(i) {
			g.Edges = l.leave(g.Edges, i, inLoop)
		}
		for _, h := range l.hops[i] {
			g.Nodes = append(g.Nodes, h.Node)
			g.Edges = append(g.Edges, workflow.Edge{From: h.ID, To: workflow.Again, Pos: h.Pos})
		}
	}
	return g
}

// composite builds the node of a loop or a for_each, with its body.
func (l *lifter) composite(item int, inner [][]int) workflow.Node {
	if l.isDrawn(item) {
		return workflow.Node{
			ID:   l.idOf(item),
			Step: &workflow.Loop{Max: l.Max, Body: l.graph(item, inner)},
			Pos:  l.node(l.headOf(item)).Pos,
		}
	}
	n := *l.node(item)
	switch s := n.Step.(type) {
	case *workflow.Loop:
		n.Step = &workflow.Loop{Max: s.Max, Body: l.graph(item, inner)}
	case *workflow.Each:
		each := *s
		each.Body = l.graph(item, inner)
		n.Step = &each
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
	}
	return n
}

// leave adds the edges that leave an item, without duplicates. A single plain edge to the end has
// no meaning, unless it leaves a loop or is the else of other edges.
func (l *lifter) leave(edges []workflow.Edge, item int, inLoop bool) []workflow.Edge {
	out := l.arrows[l.starts[item]:l.starts[item+1]]
	mine, plain, conditional := len(edges), 0, false
	drawn := newDrawn(out)
	for i := range out {
		a := &out[i]
		if a.name == "" {
			continue
		}
		if other := drawn.before(i); other != nil {
			l.warnTwice(a.Edge, other)
			continue
		}
		switch a.On {
		case workflow.OnSuccess:
			plain++
		case workflow.OnLabel, workflow.OnWhen, workflow.OnElse:
			conditional = true
		case workflow.OnFailure, workflow.OnTimeout:
		}
		edges = append(edges, workflow.Edge{From: l.id(item), To: a.name, On: a.On, Label: a.Label, When: a.When, Pos: a.Pos})
	}
	if inLoop || conditional || plain != 1 {
		return edges
	}
	for i := mine; i < len(edges); i++ {
		if edges[i].On == workflow.OnSuccess && edges[i].To == workflow.End {
			return append(edges[:i], edges[i+1:]...)
		}
	}
	return edges
}

// drawn finds duplicate edges of a node. Most nodes have few edges.
type drawn struct {
	out  []arrow
	seen map[key]*workflow.Edge
}

type key struct {
	to string
	way
}

func newDrawn(out []arrow) *drawn {
	d := &drawn{out: out}
	if len(out) > 8 {
		d.seen = make(map[key]*workflow.Edge, len(out))
	}
	return d
}

// before returns an edge before the i-th that equals it.
func (d *drawn) before(i int) *workflow.Edge {
	a := &d.out[i]
	k := key{a.name, wayOf(a.Edge)}
	if d.seen != nil {
		other := d.seen[k]
		if other == nil {
			d.seen[k] = a.Edge
		}
		return other
	}
	for j := range i {
		if other := &d.out[j]; other.name == k.to && wayOf(other.Edge) == k.way {
			return other.Edge
		}
	}
	return nil
}

// warnTwice reports an edge that is drawn twice. Two edges to or from frames may overlap; that is
// not a mistake.
func (l *lifter) warnTwice(e, other *workflow.Edge) {
	if e != other && e.From == other.From && e.To == other.To {
		l.report(workflow.Warningf(e.Pos, codeEdgeTwice, "remove one of the two", "%q leads to %q twice", e.From, e.To))
	}
}
