package check

import "github.com/hocket-dev/hocket/workflow"

// index is a workflow with its links followed: who is in which graph, which
// edges meet at a node. Rules ask it instead of searching lists, so that a check
// stays linear.
type index struct {
	root   *scope
	scopes []*scope // a graph before the graphs in it
	nodes  []*node  // in declaration order, a composite before what is in it
	edges  []*edge
	byID   map[string]*node // of several with one id, the first
}

// scope is one graph: the workflow's own, or the body of a loop or an Each.
type scope struct {
	graph *workflow.Graph
	owner *node // nil: the workflow's own graph
	nodes []*node
	edges []*edge

	// What order.go finds out once all edges are linked; nil: not asked for yet.
	order []*node
	next  [][]*node

	tasks []*workflow.Task // of the nodes; nil: not asked for yet
}

// node is a node with the edges that meet there.
type node struct {
	*workflow.Node
	scope *scope
	body  *scope  // nil: not a composite
	order int     // among scope.nodes
	out   []*edge // as declared
	kinds kindSet // of out
	// in are the edges that settle before the node runs, exits of loops
	// included. Back edges are not.
	in []*edge
	// What rules have asked for; nil: nothing yet.
	agent   *Agent // of a task
	decided *decided
}

// edge is an edge with its ends.
type edge struct {
	*workflow.Edge
	scope *scope // in whose graph it is declared
	from  *node  // nil: no such node in the graph
	to    *node  // nil: @end, @again, or not to be reached from here
	// source is where the edge comes from in the graph of its target: the node
	// itself, or the outermost loop that the edge leaves. Nil when to is.
	source *node
}

func newIndex(w *workflow.Workflow) *index {
	ix := &index{byID: make(map[string]*node, len(w.Body.Nodes))}
	ix.root = ix.add(&w.Body, nil)
	for _, s := range ix.scopes {
		for i := range s.edges {
			ix.link(s.edges, i)
		}
	}
	return ix
}

// add enters a graph and the graphs in it.
func (ix *index) add(g *workflow.Graph, owner *node) *scope {
	s := &scope{graph: g, owner: owner, nodes: make([]*node, len(g.Nodes)), edges: make([]*edge, len(g.Edges))}
	ix.scopes = append(ix.scopes, s)
	nodes, edges := make([]node, len(g.Nodes)), make([]edge, len(g.Edges))
	for i := range g.Nodes {
		n := &nodes[i]
		n.Node, n.scope, n.order = &g.Nodes[i], s, i
		s.nodes[i] = n
		ix.nodes = append(ix.nodes, n)
		if ix.byID[n.ID] == nil {
			ix.byID[n.ID] = n
		}
		if body := n.Body(); body != nil {
			n.body = ix.add(body, n)
		}
	}
	for i := range g.Edges {
		e := &edges[i]
		e.Edge, e.scope = &g.Edges[i], s
		s.edges[i] = e
		ix.edges = append(ix.edges, e)
	}
	return s
}

// link finds the ends of one of the edges and enters it at both.
func (ix *index) link(edges []*edge, i int) {
	e := edges[i]
	from := ix.byID[e.From]
	if from != nil && from.scope == e.scope {
		e.from = from
		from.out = with(from.out, edges, i)
		from.kinds |= kindsOf(e.On)
	}
	to := ix.byID[e.To]
	if e.from == nil || to == nil {
		return
	}
	if source := e.from.within(to.scope); source != nil {
		e.to, e.source = to, source
		to.in = with(to.in, edges, i)
	}
}

// with is a list with edges[i] added, all others of which come before it. A list
// of neighbours stays a part of edges: most nodes have one edge, or write theirs
// side by side.
func with(list, edges []*edge, i int) []*edge {
	if n := len(list); n == 0 || n <= i && edges[i-n] == list[0] {
		return edges[i-n : i+1 : i+1]
	}
	return append(list, edges[i])
}

// within is the node, or the loop around it, that stands in the graph s. Nil
// where no edge could come from: s is not around the node, or an Each is between.
func (n *node) within(s *scope) *node {
	for n.scope != s {
		owner := n.scope.owner
		if owner == nil || !owner.isLoop() {
			return nil
		}
		n = owner
	}
	return n
}

func (n *node) isLoop() bool {
	_, ok := n.Step.(*workflow.Loop)
	return ok
}

// inLoop says whether the innermost graph around a node is the body of a loop.
func (s *scope) inLoop() bool { return s.owner != nil && s.owner.isLoop() }

// edgesOn are the edges of a node of one kind.
func (n *node) edgesOn(on workflow.On) []*edge {
	var list []*edge
	for _, e := range n.out {
		if e.On == on {
			list = append(list, e)
		}
	}
	return list
}

// has says whether a node has an edge of one of the kinds.
func (n *node) has(kinds ...workflow.On) bool { return n.kinds&kindsOf(kinds...) != 0 }

// kindSet is a set of kinds of edges. Rules ask about it once for every edge, so
// it must not be searched.
type kindSet uint8

func kindsOf(kinds ...workflow.On) kindSet {
	var set kindSet
	for _, on := range kinds {
		switch on {
		case workflow.OnSuccess:
			set |= 1
		case workflow.OnLabel:
			set |= 2
		case workflow.OnWhen:
			set |= 4
		case workflow.OnElse:
			set |= 8
		case workflow.OnFailure:
			set |= 16
		case workflow.OnTimeout:
			set |= 32
		}
	}
	return set
}
