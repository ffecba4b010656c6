package expr

import "github.com/hocket-dev/hocket/workflow"

// flow is a workflow's graph with all bodies flattened: which node may run after which, along
// edges, into bodies, back to the start of loops and out of them. Reaching definitions are
// computed on it.
type flow struct {
	w      *workflow.Workflow
	places []place // every node in the order of Walk; the last is the end of the workflow
	end    int     // no link leads there: at the end, everything is visible

	byID    *index // two places if an Each repeats a node under its own id
	writers *index // by variable; an Each writes its As
	groups  *index
	inputs  map[string]bool // the declared inputs
	order   []int           // places sorted so that all links except back links lead forward

	position []int      // by place: its index in order
	rounds   []interval // back links, in positions

	numbers []int // 0, 1, 2, …: lists of one place are slices of it, which saves allocations
	degree  []int // by place: number of edges that leave it
}

// interval is a range of positions in the order.
type interval struct{ from, to int }

// place is one node of the flow.
type place struct {
	node  *workflow.Node
	up    int // composite whose body contains it, or none
	each  int // innermost Each that contains it, or none
	loop  int // innermost Loop that contains it, or none; the loop may be outside the Each
	links []link
	edges []*workflow.Edge // all that leave it, including those to the end
	exits bool             // one of its links leaves a loop
	in    int              // number of links that lead here, without back links
}

const none = -1

// link leads from one place to another.
type link struct {
	to   int
	edge *workflow.Edge
	left int // number of loops that it leaves, which are done then
	kind linkKind
	back bool // to the start of the loop
}

type linkKind uint8

const (
	taken  linkKind = iota // the node succeeded: its variables are visible
	failed                 // the node failed: its result is visible, but it wrote no variables
	enter                  // from a composite into its body
)

func newFlow(w *workflow.Workflow) *flow {
	nodes, writers := count(&w.Body)
	f := &flow{w: w, end: nodes, places: make([]place, nodes+1), numbers: make([]int, nodes+1), degree: make([]int, nodes)}
	for i := range f.numbers {
		f.numbers[i] = i
	}
	f.inputs = make(map[string]bool, len(w.Inputs))
	for i := range w.Inputs {
		f.inputs[w.Inputs[i].Name] = true
	}
	f.byID, f.writers, f.groups = newIndex(f.numbers, nodes), newIndex(f.numbers, writers), newIndex(f.numbers, 0)
	f.places[f.end] = place{node: &workflow.Node{}, up: none, each: none, loop: none}
	f.addNodes(&w.Body, 0, place{up: none, each: none, loop: none})
	f.addEdges(w.Body.Edges, none)
	for i := range f.end {
		if body := f.places[i].node.Body(); body != nil {
			f.addEdges(body.Edges, i)
		}
	}
	f.enterBodies()
	f.leaveLoops()
	f.sort()
	return f
}

// count counts the nodes of a graph and of all graphs in it, and those that write a variable.
func count(g *workflow.Graph) (nodes, writers int) {
	nodes = len(g.Nodes)
	for i := range g.Nodes {
		if g.Nodes[i].Output.Var != "" {
			writers++
		}
		if body := g.Nodes[i].Body(); body != nil {
			n, w := count(body)
			nodes, writers = nodes+n, writers+w
		}
	}
	return nodes, writers
}

// addNodes adds the nodes of a graph and everything in them, the first at the given place, and
// returns the place after the last. around says which composites contain them.
func (f *flow) addNodes(g *workflow.Graph, at int, around place) int {
	for i := range g.Nodes {
		n, here := &g.Nodes[i], at
		p := &f.places[here]
		p.node, p.up, p.each, p.loop = n, around.up, around.each, around.loop
		f.index(n, here)
		at++
		switch s := n.Step.(type) {
		case *workflow.Loop:
			at = f.addNodes(&s.Body, at, place{up: here, each: around.each, loop: here})
		case *workflow.Each:
			at = f.addNodes(&s.Body, at, place{up: here, each: here, loop: around.loop})
		case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
		}
	}
	return at
}

func (f *flow) index(n *workflow.Node, at int) {
	f.byID.add(n.ID, at)
	if n.Output.Var != "" {
		f.writers.add(n.Output.Var, at)
	}
	if each, ok := n.Step.(*workflow.Each); ok && each.As != "" {
		f.writers.add(each.As, at)
	}
	if n.Group != "" {
		f.groups.add(n.Group, at)
	}
}

// local returns the node with that id in the body of a composite, or in the workflow's own graph;
// if there are two, the first. It may be none. It first tries a likely place and the one after
// it, because most edges lead to the next node.
func (f *flow) local(id string, composite, likely int) int {
	for i := likely; f.byID.all == nil && i < min(likely+2, f.end); i++ {
		if p := &f.places[i]; p.up == composite && p.node.ID == id {
			return i
		}
	}
	for _, i := range f.byID.of(id) {
		if f.places[i].up == composite {
			return i
		}
	}
	return none
}

// target returns the node that an edge in the body of a composite leads to: in that body, or in a
// surrounding graph up to the next Each, which no edge can leave.
func (f *flow) target(id string, composite, likely int) int {
	for {
		if i := f.local(id, composite, likely); i != none || composite == none || !f.isLoop(composite) {
			return i
		}
		composite = f.places[composite].up
	}
}

func (f *flow) isLoop(at int) bool {
	_, is := f.places[at].node.Step.(*workflow.Loop)
	return is
}

// addEdges adds the links for the edges in the body of a composite. Other rules report edges to
// unknown nodes.
func (f *flow) addEdges(edges []workflow.Edge, composite int) {
	from, last := make([]int, len(edges)), 0
	for i := range edges {
		if from[i] = f.local(edges[i].From, composite, last); from[i] != none {
			last = from[i]
			f.degree[last]++
		}
	}
	// The edges and links of all nodes are slices of two lists.
	allEdges, allLinks := make([]*workflow.Edge, len(edges)), make([]link, len(edges))
	for i := range edges {
		if from[i] == none {
			continue
		}
		p, n := &f.places[from[i]], f.degree[from[i]]
		if p.edges == nil {
			p.edges, allEdges = allEdges[:0:n], allEdges[n:]
			p.links, allLinks = allLinks[:0:n], allLinks[n:]
		}
		p.edges = append(p.edges, &edges[i])
		f.addEdge(&edges[i], from[i], composite)
	}
}

func (f *flow) addEdge(e *workflow.Edge, from, composite int) {
	kind := taken
	if isFailure(e) {
		kind = failed
	}
	if e.To == workflow.Again && composite != none && f.isLoop(composite) {
		f.link(from, link{to: composite, kind: kind, back: true, edge: e})
	} else if to := f.target(e.To, composite, from); to != none {
		f.link(from, link{to: to, kind: kind, edge: e})
	}
}

func (f *flow) link(from int, l link) {
	f.places[from].links = append(f.places[from].links, l)
	if !l.back {
		f.places[l.to].in++
	}
}

// enterBodies links every composite to the entries of its body. A back link leads to its loop,
// and from there into the body again.
func (f *flow) enterBodies() {
	for i := range f.end {
		up := f.places[i].up
		if up != none && f.places[i].in == 0 {
			f.places[up].links = append(f.places[up].links, link{to: i, kind: enter})
		}
	}
	for i := range f.end {
		for _, l := range f.places[i].links {
			if l.kind == enter {
				f.places[l.to].in++
			}
		}
	}
}

// leaveLoops records which loops are done when a link is taken.
func (f *flow) leaveLoops() {
	for i := range f.end {
		p := &f.places[i]
		if p.loop == none {
			continue
		}
		for k := range p.links {
			l := &p.links[k]
			for up := p.up; f.leaves(l, up); up = f.places[up].up {
				l.left++
				p.exits = true
			}
		}
	}
}

// leaves reports whether a link leads out of a loop. No link leads out of an Each.
func (f *flow) leaves(l *link, composite int) bool {
	if composite == none || l.back || l.kind == enter || f.inside(l.to, composite) {
		return false
	}
	return f.isLoop(composite)
}

// sort orders the places so that all links except back links lead forward. A cycle, which is a
// mistake, only makes later steps slower.
func (f *flow) sort() {
	waits := make([]int, len(f.places))
	f.order = make([]int, 0, len(f.places))
	for i := range f.places {
		if waits[i] = f.places[i].in; waits[i] == 0 {
			f.order = append(f.order, i)
		}
	}
	for done := 0; done < len(f.order); done++ {
		for _, l := range f.places[f.order[done]].links {
			if l.back {
				continue
			}
			if waits[l.to]--; waits[l.to] == 0 {
				f.order = append(f.order, l.to)
			}
		}
	}
	for i, n := range waits {
		if n > 0 {
			f.order = append(f.order, i)
		}
	}
	f.position = make([]int, len(f.places))
	for at, i := range f.order {
		f.position[i] = at
	}
	for i := range f.places {
		for _, l := range f.places[i].links {
			if from, to := f.position[l.to], f.position[i]; from <= to {
				f.rounds = append(f.rounds, interval{from, to})
			}
		}
	}
}

// inside reports whether a place is in the body of a composite, at any depth.
func (f *flow) inside(at, composite int) bool {
	for up := f.places[at].up; up != none; up = f.places[up].up {
		if up == composite {
			return true
		}
	}
	return false
}

// visible reports whether a node's result can be seen from a place. Outside an Each, the results
// of the nodes in it cannot.
func (f *flow) visible(node, from int) bool {
	each := f.places[node].each
	return each == none || f.inside(from, each)
}

// sharedLoop reports whether two places are in the body of the same loop.
func (f *flow) sharedLoop(a, b int) bool {
	for l := f.places[a].loop; l != none; l = f.places[l].loop {
		if f.inside(b, l) {
			return true
		}
	}
	return false
}

// asOf returns the variable that holds the item in the body of an Each.
func asOf(n *workflow.Node) string {
	if each, ok := n.Step.(*workflow.Each); ok {
		return each.As
	}
	return ""
}
