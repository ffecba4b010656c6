package check

import "github.com/hocket-dev/hocket/workflow"

// index is a workflow with its links resolved: which node is in which graph, and which edges lead
// to it. Rules use it instead of searching lists, so that a check takes linear time.
type index struct {
	root   *scope
	scopes []*scope // a graph comes before the graphs in it
	nodes  []*node  // in declaration order; a composite comes before what is in it
	edges  []*edge
	byID   map[string]*node // the first node of each id
}

// scope is one graph: the workflow's own, or the body of a loop or an Each.
type scope struct {
	graph *workflow.Graph
	owner *node // nil: the workflow's own graph
	nodes []*node
	edges []*edge

	// Computed by order.go when first needed, once all edges are linked; nil until then.
	order []*node
	next  [][]*node

	tasks []*workflow.Task // of the nodes; nil: not asked for yet
}

// node is a node with its edges.
type node struct {
	*workflow.Node
	scope *scope
	body  *scope  // nil if it is not a composite
	order int     // index in scope.nodes
	out   []*edge // in declaration order
	kinds kindSet // the kinds of out
	// in are the edges that are settled before the node runs, including exits of loops but not
	// back edges.
	in []*edge
	// Results that rules have asked for; nil if not computed yet.
	agent   *Agent // of a task
	decided *decided
}

// edge is an edge with the nodes at its ends.
type edge struct {
	*workflow.Edge
	scope *scope // the graph that declares it
	from  *node  // nil if there is no such node in the graph
	to    *node  // nil for @end and @again, or if it cannot be reached from here
	// source is where the edge comes from in the graph of its target: the node itself, or the
	// outermost loop that the edge leaves. It is nil if to is nil.
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

// add adds a graph and the graphs in it to the index.
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

// link finds the ends of edges[i] and adds it to both.
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

// with returns a list with edges[i] added; all others in the list come before it in edges. If the
// list is contiguous, the result is a slice of edges: most nodes have one edge, or several that
// are declared together.
func with(list, edges []*edge, i int) []*edge {
	if n := len(list); n == 0 || n <= i && edges[i-n] == list[0] {
		return edges[i-n : i+1 : i+1]
	}
	return append(list, edges[i])
}

// within returns the node, or the loop around it, that is in the graph s. It returns nil if no
// edge could lead from the node to s: s does not contain it, or an Each is between them.
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

// inLoop reports whether a graph is the body of a loop.
func (s *scope) inLoop() bool { return s.owner != nil && s.owner.isLoop() }

// edgesOn returns the edges of a node that have the given kind.
func (n *node) edgesOn(on workflow.On) []*edge {
	var list []*edge
	for _, e := range n.out {
		if e.On == on {
			list = append(list, e)
		}
	}
	return list
}

// has reports whether a node has an edge of one of the kinds.
func (n *node) has(kinds ...workflow.On) bool { return n.kinds&kindsOf(kinds...) != 0 }

// kindSet is a set of kinds of edges. Rules test it for every edge, so lookups must be fast.
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
		case workflow.OnTimeout: // no rule asks for it
		}
	}
	return set
}
