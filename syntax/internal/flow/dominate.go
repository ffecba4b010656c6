package flow

import "slices"

// adjacent holds the edges of a graph of numbered vertices, by vertex.
type adjacent struct{ starts, others []int }

func (a *adjacent) of(v int) []int { return a.others[a.starts[v]:a.starts[v+1]] }

// newAdjacent groups the edges by one end, and lists the other end of each.
func newAdjacent(size int, at, other []int) *adjacent {
	a := &adjacent{starts: make([]int, size+2), others: make([]int, len(at))}
	for _, v := range at {
		a.starts[v+2]++
	}
	for v := range size {
		a.starts[v+2] += a.starts[v+1]
	}
	for i, v := range at {
		a.others[a.starts[v+1]] = other[i]
		a.starts[v+1]++
	}
	return a
}

// walk is a depth-first walk through a graph, with the dominators that it finds. All lists except
// num are indexed by the number of a vertex in the walk.
type walk struct {
	next   *adjacent
	num    []int // of a vertex; none if the walk did not reach it
	vertex []int
	parent []int // where the walk came from
	below  []int // number of vertices that the walk reached through this one, including itself
	cyclic bool  // there is a retreating edge; the fields below are only set then

	before *adjacent
	// The dominator tree: a vertex is dominated by its ancestors, and in a preorder of the tree the
	// vertices that it dominates follow it directly.
	idom      []int
	order     []int // number in that order
	dominated []int // number of vertices that it dominates, including itself
}

// newWalk walks from a root. Dominators are found with the algorithm of Lengauer and Tarjan with
// path compression: O(m log n) on every graph. The simpler algorithm, which intersects the
// dominators of all predecessors, is quadratic if every step of a long chain leads to the same
// handler.
func newWalk(size, root int, from, to []int) *walk {
	w := &walk{next: newAdjacent(size, from, to), num: make([]int, size), vertex: make([]int, 0, size), parent: make([]int, 0, size)}
	w.search(root)
	if w.cyclic = w.hasCycle(); w.cyclic {
		w.before = newAdjacent(size, to, from)
		w.dominate()
		w.arrange()
	}
	return w
}

func (w *walk) search(root int) {
	for v := range w.num {
		w.num[v] = none
	}
	at := make([]int, len(w.num)) // by vertex: the edge to follow next
	w.enter(root, 0)
	for n := 0; ; {
		v := w.vertex[n]
		if out := w.next.of(v); at[v] < len(out) {
			to := out[at[v]]
			at[v]++
			if w.num[to] == none {
				w.enter(to, n)
				n = w.num[to]
			}
			continue
		}
		if n == 0 {
			break
		}
		n = w.parent[n]
	}
	w.below = ones(len(w.vertex))
	for n := len(w.vertex) - 1; n > 0; n-- {
		w.below[w.parent[n]] += w.below[n]
	}
}

func (w *walk) hasCycle() bool {
	for _, v := range w.vertex {
		for _, to := range w.next.of(v) {
			if w.retreats(v, to) {
				return true
			}
		}
	}
	return false
}

func (w *walk) enter(v, parent int) {
	w.num[v] = len(w.vertex)
	w.vertex = append(w.vertex, v)
	w.parent = append(w.parent, parent)
}

func ones(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// dominate finds the immediate dominators.
func (w *walk) dominate() {
	size := len(w.vertex)
	f := newForest(size)
	w.idom = make([]int, size)
	bucket, chain := make([]int, size), make([]int, size) // vertices by semidominator, as linked lists
	for n := range bucket {
		bucket[n] = none
	}
	for n := size - 1; n > 0; n-- {
		for _, v := range w.before.of(w.vertex[n]) {
			if m := w.num[v]; m != none {
				f.semi[n] = min(f.semi[n], f.semi[f.eval(m)])
			}
		}
		s, p := f.semi[n], w.parent[n]
		chain[n], bucket[s] = bucket[s], n
		f.ancestor[n] = p
		for m := bucket[p]; m != none; m = chain[m] {
			if best := f.eval(m); f.semi[best] < f.semi[m] {
				w.idom[m] = best
			} else {
				w.idom[m] = p
			}
		}
		bucket[p] = none
	}
	for n := 1; n < size; n++ {
		if w.idom[n] != f.semi[n] {
			w.idom[n] = w.idom[w.idom[n]]
		}
	}
}

// forest finds the smallest semidominator on the path to the root, and compresses the path.
type forest struct{ semi, label, ancestor, path []int }

func newForest(size int) *forest {
	f := &forest{semi: make([]int, size), label: make([]int, size), ancestor: make([]int, size)}
	for n := range size {
		f.semi[n], f.label[n], f.ancestor[n] = n, n, none
	}
	return f
}

func (f *forest) eval(n int) int {
	if f.ancestor[n] == none {
		return f.label[n]
	}
	f.path = f.path[:0]
	for m := n; f.ancestor[f.ancestor[m]] != none; m = f.ancestor[m] {
		f.path = append(f.path, m)
	}
	for _, m := range slices.Backward(f.path) {
		above := f.ancestor[m]
		if f.semi[f.label[above]] < f.semi[f.label[m]] {
			f.label[m] = f.label[above]
		}
		f.ancestor[m] = f.ancestor[above]
	}
	return f.label[n]
}

// arrange numbers the vertices of the dominator tree.
func (w *walk) arrange() {
	size := len(w.vertex)
	w.dominated, w.order = ones(size), make([]int, size)
	for n := size - 1; n > 0; n-- {
		w.dominated[w.idom[n]] += w.dominated[n]
	}
	free := ones(size) // where the next child goes, from its parent
	for n := 1; n < size; n++ {
		up := w.idom[n]
		w.order[n] = w.order[up] + free[up]
		free[up] += w.dominated[n]
	}
}

// retreats reports whether an edge leads back to an ancestor in the walk. Without such edges there
// is no cycle.
func (w *walk) retreats(from, to int) bool {
	n, m := w.num[from], w.num[to]
	return m <= n && n < m+w.below[m]
}

// dominates reports whether every path to a vertex leads through another.
func (w *walk) dominates(v, of int) bool {
	n, m := w.order[w.num[of]], w.num[v]
	return w.order[m] <= n && n < w.order[m]+w.dominated[m]
}

// closed reports for each vertex whether no edge leaves the vertices that it dominates.
func (w *walk) closed() []bool {
	size := len(w.vertex)
	depth, highest := make([]int, size), make([]int, size)
	for n := 1; n < size; n++ {
		depth[n] = depth[w.idom[n]] + 1
	}
	closed := make([]bool, len(w.num))
	for n := range highest {
		highest[n] = size
	}
	for n := size - 1; n >= 0; n-- {
		for _, to := range w.next.of(w.vertex[n]) {
			highest[n] = min(highest[n], depth[w.idom[w.num[to]]])
		}
		closed[w.vertex[n]] = highest[n] >= depth[n]
		up := w.idom[n]
		highest[up] = min(highest[up], highest[n])
	}
	return closed
}
