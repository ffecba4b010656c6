package flow

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// Lift returns the graph that a drawing means. It reports what it dropped and what it could not
// interpret; if it reports an error, the graph is valid but not what the author meant.
//
// An edge that leads back turns everything between its ends, its natural loop, into a loop. Such
// loops are called loop, loop-2, … in the order in which their first nodes are declared. A frame
// around a whole loop that has the same entry, and that an edge leaves, adds its other items to the
// loop.
func (d *Drawing) Lift(report func(workflow.Diagnostic)) workflow.Graph {
	return newLifter(d, report).lift()
}

// lifter builds a graph. A region is a future graph: the whole drawing, a frame with a step, or a
// drawn loop. Drawn loops are numbered after the parts.
type lifter struct {
	*ends
	arrows  []arrow
	starts  []int // of the arrows of a part
	entries []int // where the flow begins
	reached []bool

	*walk
	heads  []int  // first item of every drawn loop
	up     []int  // the region that a part or a drawn loop is in
	depth  []int  // of a region: number of regions around it, including itself
	poison []bool // regions with a node that skips its dependents

	names   namer
	loopIDs []string       // of the drawn loops
	choices map[exit]*hop  // choices that had to be added
	hops    map[int][]*hop // the same, by the item before them
	doubted []bool         // drawn loops that seem to contain a step but do not
}

func newLifter(d *Drawing, report func(workflow.Diagnostic)) *lifter {
	return &lifter{ends: newEnds(newParts(d, report))}
}

func (l *lifter) lift() workflow.Graph {
	l.arrows, l.starts = l.makeArrows()
	l.entries = l.roots()
	l.reach()
	l.follow()
	l.reportTwoEntries()
	l.findLoops()
	l.enclose()
	l.deepenRegions()
	l.nameLoops()
	l.nameTargets()
	return l.assemble()
}

// follow walks through everything that the flow reaches. An arrow out of a loop with a frame leaves
// that loop, and a loop or a for_each leads to its entries. So its body is below it in the walk,
// and one walk covers everything.
func (l *lifter) follow() {
	root := len(l.around)
	size := len(l.entries) + len(l.arrows) + len(l.Frames)
	from, to := make([]int, 0, size), make([]int, 0, size)
	add := func(a, b int) { from, to = append(from, a), append(to, b) }
	for _, i := range l.entries {
		add(root, i)
	}
	for i, reached := range l.reached {
		if !reached {
			continue
		}
		for _, first := range l.body[i] {
			add(i, first)
		}
		for j := l.starts[i]; j < l.starts[i+1]; j++ {
			a := &l.arrows[j]
			if a.to < 0 {
				continue
			}
			for a.item = i; l.home[a.item] != a.in; {
				a.item = l.home[a.item]
			}
			add(a.item, a.to)
		}
	}
	l.walk = newWalk(root+1, root, from, to)
}

// inOrder returns the parts that are in a graph. A loop or a for_each is at the position of its
// first node.
func (l *lifter) inOrder() []int {
	if len(l.Frames) == 0 {
		return l.self
	}
	list := slices.Clone(l.self)
	slices.SortStableFunc(list, func(a, b int) int { return l.rank[a] - l.rank[b] })
	return list
}

// isDrawn reports whether a region is a loop drawn with edges.
func (l *lifter) isDrawn(region int) bool { return region >= len(l.around) }

// headOf returns the first item of a drawn loop.
func (l *lifter) headOf(region int) int { return l.heads[region-len(l.around)] }

// regionDepth counts the regions around a graph.
func (l *lifter) regionDepth(region int) int {
	if region == none {
		return 0
	}
	return l.depth[region]
}
