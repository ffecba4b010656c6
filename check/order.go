package check

import "github.com/hocket-dev/hocket/workflow"

// inOrder returns the nodes of a graph in topological order; where the graph allows several
// orders, in declaration order. Nodes on a cycle, and after one, are left out.
func (s *scope) inOrder() []*node {
	if s.order == nil {
		s.order = s.sorted()
	}
	return s.order
}

func (s *scope) sorted() []*node {
	missing := make([]int, len(s.nodes)) // in-edges whose source is not placed yet
	next := s.successors()
	ready := make([]*node, 0, len(s.nodes))
	for _, n := range s.nodes {
		missing[n.order] = len(n.in)
		if len(n.in) == 0 {
			ready = append(ready, n)
		}
	}
	for i := 0; i < len(ready); i++ {
		for _, m := range next[ready[i].order] {
			if missing[m.order]--; missing[m.order] == 0 {
				ready = append(ready, m)
			}
		}
	}
	return ready
}

// successors returns, for each node, the targets of its edges in this graph; for a loop, those of
// the edges that leave it. A target appears once for each edge.
func (s *scope) successors() [][]*node {
	if s.next != nil {
		return s.next
	}
	s.next = make([][]*node, len(s.nodes))
	degree, total := make([]int, len(s.nodes)), 0
	for _, n := range s.nodes {
		total += len(n.in)
		for _, e := range n.in {
			degree[e.source.order]++
		}
	}
	all := make([]*node, total) // all lists are slices of it
	for i, d := range degree {
		s.next[i], all = all[:0:d], all[d:]
	}
	for _, n := range s.nodes {
		for _, e := range n.in {
			s.next[e.source.order] = append(s.next[e.source.order], n)
		}
	}
	return s.next
}

// waves numbers the nodes from 1: the wave of a node is one more than the highest wave that leads
// to it, so nodes of the same wave may start together. Zero means that the node is on a cycle.
func (s *scope) waves() []int {
	wave := make([]int, len(s.nodes))
	for _, n := range s.inOrder() {
		wave[n.order] = 1
		for _, e := range n.in {
			wave[n.order] = max(wave[n.order], wave[e.source.order]+1)
		}
	}
	return wave
}

// width returns a bound for how much of a graph runs at the same time, where weight is the amount
// of one node. It partitions the nodes into chains in which each node follows one that leads to
// it. Only one node of a chain runs at a time, so the sum of the heaviest node of each chain is a
// bound. It is the best bound for graphs of nested branches, and close to it for others.
func (s *scope) width(weight func(*node) workflow.Bound) workflow.Bound {
	l := chains{free: make([][]int, len(s.nodes)), heirs: make([]int, len(s.nodes))}
	for i, next := range s.successors() {
		l.heirs[i] = len(next)
	}
	for _, n := range s.inOrder() {
		l.place(n, weight(n))
	}
	sum := workflow.AtMost(0)
	for _, w := range l.heaviest {
		sum = sum.Plus(w)
	}
	return sum
}

// chains are the chains that width builds.
type chains struct {
	heaviest []workflow.Bound // of each chain
	// free are the chains that the successors of a node may extend: every node in them leads to
	// that node.
	free  [][]int
	heirs []int // edges of a node that have not taken their share of free yet
}

// place appends a node to a chain that leads to it, or to a new one.
func (l *chains) place(n *node, weight workflow.Bound) {
	var got []int
	for i, e := range n.in {
		if share := l.share(e.source.order); i == 0 {
			got = share // most nodes have one in-edge, so there is nothing to copy
		} else {
			got = append(got, share...)
		}
	}
	if len(got) == 0 {
		got = append(got, len(l.heaviest))
		l.heaviest = append(l.heaviest, workflow.AtMost(0))
	}
	l.heaviest[got[0]] = l.heaviest[got[0]].Higher(weight)
	l.free[n.order] = got
}

// share returns the part of a node's free chains that one of its edges may take, so that the rest
// is divided evenly among the others.
func (l *chains) share(order int) []int {
	free, heirs := l.free[order], l.heirs[order]
	n := (len(free) + heirs - 1) / heirs
	l.free[order], l.heirs[order] = free[n:], heirs-1
	return free[:n:n] // appending must not overwrite the rest
}
