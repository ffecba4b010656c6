package check

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

var graphCycle = rule{
	code:     "graph-cycle",
	severity: workflow.Error,
	summary:  "nodes wait for each other in a cycle",
	workflow: func(p *pass) {
		for _, s := range p.index.scopes {
			cycle := s.cycle()
			if cycle == nil {
				continue
			}
			var path []string
			for _, e := range cycle {
				path = append(path, e.source.ID)
			}
			last := cycle[len(cycle)-1]
			path = append(path, last.to.ID)
			help := "to repeat steps, put them into a loop; otherwise, remove one of these edges"
			if s.inLoop() {
				help = "to begin the next iteration of the loop, lead to again instead; otherwise, remove one of these edges"
			}
			p.errorf(last.Pos, help,
				"steps wait for each other: %s", strings.Join(path, " → "))
		}
	},
}

// cycle returns the edges of one cycle of a graph, or nil if there is none. It begins at the node
// that is declared first.
func (s *scope) cycle() []*edge {
	placed := make([]bool, len(s.nodes))
	order := s.inOrder()
	if len(order) == len(s.nodes) {
		return nil
	}
	for _, n := range order {
		placed[n.order] = true
	}
	// Every remaining node has an edge from another remaining node, so walking backwards must
	// reach a node twice.
	var at *node
	for _, n := range s.nodes {
		if !placed[n.order] {
			at = n
			break
		}
	}
	seen := make(map[*node]int)
	var back []*edge
	for {
		if first, ok := seen[at]; ok {
			return fromEarliest(reverse(back[first:]))
		}
		seen[at] = len(back)
		for _, e := range at.in {
			if !placed[e.source.order] {
				back = append(back, e)
				at = e.source
				break
			}
		}
	}
}

func reverse(edges []*edge) []*edge {
	list := slices.Clone(edges)
	slices.Reverse(list)
	return list
}

// fromEarliest rotates a cycle so that it begins at the node that is declared first.
func fromEarliest(cycle []*edge) []*edge {
	first := 0
	for i, e := range cycle {
		if e.source.order < cycle[first].source.order {
			first = i
		}
	}
	return append(cycle[first:len(cycle):len(cycle)], cycle[:first]...)
}
