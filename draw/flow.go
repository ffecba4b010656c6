package draw

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// flow is one graph, with the edges that leave its loops drawn as edges of the loops. It records
// what follows a node, and where the branches of a node meet again. Nodes are numbered in
// declaration order; the number after the last one is the end.
type flow struct {
	graph *workflow.Graph
	index map[string]int
	out   [][]exit
	meet  []int // where all paths from a node meet again, at the latest at the end
	depth []int // number of such points between a node and the end
}

// exit is one way to continue after a node of a flow.
type exit struct {
	edge *workflow.Edge
	to   int // the end, if the exit leaves the graph
}

func newFlow(g *workflow.Graph) *flow {
	f := &flow{graph: g, index: make(map[string]int, len(g.Nodes)), out: make([][]exit, len(g.Nodes))}
	for i := range g.Nodes {
		f.index[g.Nodes[i].ID] = i
	}
	for i := range g.Edges {
		f.leave(f.index[g.Edges[i].From], &g.Edges[i])
	}
	for i := range g.Nodes {
		if s, ok := g.Nodes[i].Step.(*workflow.Loop); ok {
			f.lift(i, &s.Body)
		}
	}
	f.meeting()
	return f
}

func (f *flow) end() int { return len(f.graph.Nodes) }

func (f *flow) leave(from int, e *workflow.Edge) {
	to, here := f.index[e.To]
	if !here {
		to = f.end()
	}
	f.out[from] = append(f.out[from], exit{e, to})
}

// lift turns the exits of a loop's body, and of the loops in it, into exits of the loop.
func (f *flow) lift(loop int, body *workflow.Graph) {
	inside := map[string]bool{workflow.Again: true}
	body.Walk(func(_ *workflow.Graph, n *workflow.Node) { inside[n.ID] = true })
	eachEdge(body, func(e *workflow.Edge) {
		if !inside[e.To] {
			f.leave(loop, e)
		}
	})
}

// order sorts the nodes so that every edge points forward. The graph should be acyclic; if it
// is not, the nodes of a cycle come last.
func (f *flow) order() []int {
	waiting := make([]int, len(f.out))
	for _, exits := range f.out {
		for _, x := range exits {
			if x.to != f.end() {
				waiting[x.to]++
			}
		}
	}
	var ready []int
	for i, w := range waiting {
		if w == 0 {
			ready = append(ready, i)
		}
	}
	for at := 0; at < len(ready); at++ {
		for _, x := range f.out[ready[at]] {
			if x.to == f.end() {
				continue
			}
			if waiting[x.to]--; waiting[x.to] == 0 {
				ready = append(ready, x.to)
			}
		}
	}
	for i, w := range waiting {
		if w > 0 {
			ready = append(ready, i)
		}
	}
	return ready
}

// meeting finds the immediate postdominator of every node: the nearest node that is on all its
// paths, from the end backwards. It ignores edges for failures; otherwise everything would
// meet at the handler.
func (f *flow) meeting() {
	f.depth = make([]int, f.end()+1)
	f.meet = make([]int, f.end()+1)
	for i := range f.meet {
		f.meet[i] = f.end()
	}
	for _, n := range slices.Backward(f.order()) {
		f.meet[n] = f.meetOf(onSuccess(f.out[n]))
		f.depth[n] = f.depth[f.meet[n]] + 1
	}
}

// meetOf returns the nearest node that is on all paths from these exits.
func (f *flow) meetOf(exits []exit) int {
	if len(exits) == 0 {
		return f.end()
	}
	at := exits[0].to
	for _, x := range exits[1:] {
		for other := x.to; at != other; {
			if f.depth[at] >= f.depth[other] {
				at = f.meet[at]
			} else {
				other = f.meet[other]
			}
		}
	}
	return at
}

// onSuccess returns the exits that are not for failures.
func onSuccess(exits []exit) []exit {
	plain, decided, _ := split(exits)
	return slices.Concat(plain, decided)
}

// reach returns the nodes that can follow a node without a failure, including itself.
func (f *flow) reach(from int) map[int]bool {
	seen := map[int]bool{from: true}
	for todo := []int{from}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n == f.end() {
			continue
		}
		for _, x := range onSuccess(f.out[n]) {
			if !seen[x.to] {
				seen[x.to] = true
				todo = append(todo, x.to)
			}
		}
	}
	return seen
}
