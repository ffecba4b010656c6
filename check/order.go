package check

import "github.com/hocket-dev/hocket/workflow"

// inOrder are the nodes of a graph, each behind those that lead to it, the
// earlier declared first where the graph leaves it open. Nodes on a cycle, and
// behind one, are left out.
func (s *scope) inOrder() []*node {
	if s.order == nil {
		s.order = s.sorted()
	}
	return s.order
}

func (s *scope) sorted() []*node {
	missing := make([]int, len(s.nodes)) // in-edges whose source is not placed
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

// successors are, for each node, the targets of its edges in this graph; for a
// loop, of the edges that leave it. A target stands there once for each edge.
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
	all := make([]*node, total) // of which every list is a part
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

// waves numbers the nodes from 1: a node is one behind the last of those that
// lead to it, so nodes of one wave may start together. Zero: on a cycle.
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

// width bounds how much of a graph runs at once, where weight says how much one
// node is. The nodes are laid out in chains, each node behind one that leads to
// it: of a chain only one node runs at a time, so the heaviest nodes of all
// chains together are a bound. It is the least bound for graphs of nested
// branches, and close to it for others.
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

// chains are the chains that width lays out.
type chains struct {
	heaviest []workflow.Bound // of each chain
	// free are the chains that the nodes behind a node may go on with: all
	// that is in them leads to that node.
	free  [][]int
	heirs []int // edges of a node that have not taken their share of free
}

// place puts a node into a chain that leads to it, or into a new one.
func (l *chains) place(n *node, weight workflow.Bound) {
	var got []int
	for i, e := range n.in {
		if share := l.share(e.source.order); i == 0 {
			got = share // most nodes have one in-edge: nothing to copy
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

// share is the part of a node's free chains that one of its edges may have, so
// that what is left is divided evenly among the others.
func (l *chains) share(order int) []int {
	free, heirs := l.free[order], l.heirs[order]
	n := (len(free) + heirs - 1) / heirs
	l.free[order], l.heirs[order] = free[n:], heirs-1
	return free[:n:n] // appending must not write into what is left
}
