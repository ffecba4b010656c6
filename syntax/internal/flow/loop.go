package flow

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// findLoops finds the drawn loops and how they nest, innermost first. A loop that has been found
// becomes a single vertex, so that everything is visited once. Retreating edges that do not lead to
// a dominator have already been reported; they do not form a loop and are dropped.
func (l *lifter) findLoops() {
	l.up = slices.Repeat([]int{none}, len(l.around))
	if !l.cyclic {
		for _, v := range l.vertex[1:] {
			l.up[v] = l.home[v]
		}
		return
	}
	size := len(l.vertex)
	over := slices.Repeat([]int{none}, size) // by number: the head of the loop around it
	isHead := make([]bool, size)
	seen := slices.Repeat([]int{none}, size)
	whole := make(union, size)
	for n := range whole {
		whole[n] = n
	}
	var members []int
	for h := size - 1; h >= 0; h-- {
		members = members[:0]
		add := func(v int) {
			if n := whole.find(l.num[v]); n != h && seen[n] != h {
				seen[n] = h
				members = append(members, n)
			}
		}
		for _, v := range l.before.of(l.vertex[h]) {
			if l.retreats(v, l.vertex[h]) && l.dominates(l.vertex[h], v) {
				isHead[h] = true
				add(v)
			}
		}
		for done := 0; done < len(members); {
			to := l.vertex[members[done]]
			done++
			for _, v := range l.before.of(to) {
				if !l.retreats(v, to) {
					add(v)
				}
			}
		}
		for _, n := range members {
			over[n], whole[n] = h, h
		}
	}
	l.nest(over, isHead)
}

// union records the loop that each vertex has become part of.
type union []int

func (u union) find(n int) int {
	for u[n] != n {
		u[n] = u[u[n]]
		n = u[n]
	}
	return n
}

// nest turns the loops into regions, outermost first, except those that are nested too deeply.
func (l *lifter) nest(over []int, isHead []bool) {
	loops := slices.Repeat([]int{none}, len(over)) // by number of the head
	depth := make([]int, len(over))
	deep := false
	for n := 1; n < len(over); n++ {
		v := l.vertex[n]
		region := l.home[v]
		if o := over[n]; o != none {
			region, depth[n] = loops[o], depth[o]
		} else if region != none {
			depth[n] = depth[l.num[region]] + 1
		}
		if isHead[n] {
			if depth[n]++; depth[n] > maxNesting {
				if !deep {
					l.report(workflow.Errorf(l.node(v).Pos, codeNested, "draw some of them as separate workflows and call them",
						"loops are nested more than %d levels deep", maxNesting))
				}
				deep = true
				loops[n] = region // members stay in the loop around
			} else {
				loops[n] = len(l.up)
				l.up = append(l.up, region)
				l.heads = append(l.heads, v)
			}
			region = loops[n]
		}
		l.up[v] = region
	}
	for i := range l.arrows {
		a := &l.arrows[i]
		if l.reached[a.from] && a.to >= 0 && l.retreats(a.item, a.to) && !(l.dominates(a.to, a.item) && l.begins(a.to)) {
			a.to = none
		}
	}
	l.doubted = make([]bool, len(l.heads))
}

// begins reports whether an item is the head of a drawn loop.
func (l *lifter) begins(item int) bool {
	return l.up[item] != none && l.isDrawn(l.up[item]) && l.headOf(l.up[item]) == item
}

// reportTwoEntries reports cycles that can be entered at two places: what is still strongly
// connected without the edges that lead to a dominator.
func (l *lifter) reportTwoEntries() {
	if !l.cyclic {
		return
	}
	irreducible := func(from, to int) bool { return l.retreats(from, to) && !l.dominates(to, from) }
	if !slices.ContainsFunc(l.arrows, func(a arrow) bool {
		return l.reached[a.from] && a.to >= 0 && irreducible(a.item, a.to)
	}) {
		return
	}
	cycle := l.cycles()
	entries := map[int][]int{} // by cycle
	for n := 1; n < len(l.vertex); n++ {
		v := l.vertex[n]
		if cycle[n] != none && slices.ContainsFunc(l.before.of(v), func(u int) bool { return cycle[l.num[u]] != cycle[n] }) {
			entries[cycle[n]] = append(entries[cycle[n]], v)
		}
	}
	entered := map[int]*arrow{} // by entry: the first edge that leads there from outside
	for i := range l.arrows {
		a := &l.arrows[i]
		if l.reached[a.from] && a.to >= 0 && entered[a.to] == nil && cycle[l.num[a.item]] != cycle[l.num[a.to]] {
			entered[a.to] = a
		}
	}
	for n := range l.vertex {
		if two := entries[n]; len(two) > 1 {
			slices.SortFunc(two, func(a, b int) int { return l.rank[a] - l.rank[b] })
			l.reportCycle(two[0], two[1], entered[two[1]])
		}
	}
}

// reportCycle reports a cycle that is entered at one item and, through an edge or as the start of
// the flow, at a second one.
func (l *lifter) reportCycle(first, second int, by *arrow) {
	pos, from := l.node(second).Pos, ""
	if by != nil {
		pos, from = by.Pos, `, from "`+by.From+`",`
	}
	l.report(workflow.Errorf(pos, codeTwoEntries, `a loop must begin at one step: let every edge into it lead to "`+l.id(first)+`"`,
		"a loop has two entries: %q and%s %q", l.id(first), from, l.id(second)))
}

// cycles returns the strongly connected components that remain without the edges that lead to a
// dominator, with Kosaraju's algorithm. By the number of a vertex, it returns the number of one
// vertex of its cycle, or none if it is not in a cycle.
func (l *lifter) cycles() []int {
	size := len(l.vertex)
	in := slices.Repeat([]int{none}, size)
	count := make([]int, size)
	for _, n := range l.lastLeftFirst() {
		if in[n] != none {
			continue
		}
		in[n] = n
		for todo := []int{n}; len(todo) > 0; {
			to := l.vertex[todo[len(todo)-1]]
			todo = todo[:len(todo)-1]
			count[n]++
			for _, v := range l.before.of(to) {
				if m := l.num[v]; in[m] == none && !l.dominates(to, v) {
					in[m] = n
					todo = append(todo, m)
				}
			}
		}
	}
	for n := range in {
		if count[in[n]] == 1 {
			in[n] = none
		}
	}
	return in
}

// lastLeftFirst returns the numbers of all vertices in the reverse order in which the walk left
// them.
func (l *lifter) lastLeftFirst() []int {
	size := len(l.vertex)
	list := make([]int, size)
	place := make([]int, size) // where the next child of a vertex goes
	for n := range list {
		at := 0
		if n > 0 {
			p := l.parent[n]
			place[p] -= l.below[n]
			at = place[p]
		}
		list[at] = n
		place[n] = at + l.below[n]
	}
	return list
}
