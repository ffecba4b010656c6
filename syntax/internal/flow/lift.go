package flow

import (
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// Lift makes the graph that a drawing means. It reports what it had to drop and
// what it could not make sense of; if one of these is an error, the graph is
// sound but not what the author meant.
//
// An edge that leads back makes a loop of what lies between, its natural loop.
// Such loops are called loop, loop-2, … in the order in which their first nodes
// are declared. A frame around all of a loop, entered where the loop is and left
// by an edge, makes what else is in it part of the loop.
func (d *Drawing) Lift(report func(workflow.Diagnostic)) workflow.Graph {
	return newLifter(d, report).lift()
}

// lifter makes a graph. A region is a graph to be: the whole drawing, a frame
// with a step, or a drawn loop. Drawn loops are numbered after the parts.
type lifter struct {
	*ends
	arrows  []arrow
	starts  []int // of the arrows of a part
	entries []int // where the flow begins
	reached []bool

	*walk
	heads  []int  // first item of every drawn loop
	up     []int  // the region that a part or a drawn loop is in
	depth  []int  // of a region: how many are around it, itself included
	poison []bool // regions with a node that skips its dependents

	names   namer
	loopIDs []string       // of the drawn loops
	choices map[exit]*hop  // choices that had to be added
	hops    map[int][]*hop // the same, by the item that they are after
	doubted []bool         // drawn loops that seem to have a step which they have not
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

// follow walks through what the flow reaches. An arrow out of a loop with a frame
// leaves that loop, and a loop or a for_each leads to its entries: so its body
// hangs below it, and everything is looked at at once.
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

// inOrder returns the parts that are in a graph, a loop or a for_each with its
// first node.
func (l *lifter) inOrder() []int {
	if len(l.Frames) == 0 {
		return l.self
	}
	list := slices.Clone(l.self)
	slices.SortStableFunc(list, func(a, b int) int { return l.rank[a] - l.rank[b] })
	return list
}

// isDrawn reports whether a region is a loop that is drawn by its edges.
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
