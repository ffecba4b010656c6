package view

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// segment is one part of an address between slashes: a node's id with the rounds
// and items around it, from outside in.
type segment struct {
	id     string
	rounds []int
	items  []int
}

// splitAddress reads an address such as serve-customers#2/order-taker[3].
func splitAddress(address string) []segment {
	var segments []segment
	for part := range strings.SplitSeq(address, "/") {
		segments = append(segments, splitSegment(part))
	}
	return segments
}

func splitSegment(part string) segment {
	end := strings.IndexAny(part, "#[")
	if end < 0 {
		return segment{id: part}
	}
	s := segment{id: part[:end]}
	for rest := part[end:]; rest != ""; {
		number, behind := rest[1:], ""
		if i := strings.IndexAny(number, "#["); i >= 0 {
			number, behind = number[:i], number[i:]
		}
		n, err := strconv.Atoi(strings.TrimSuffix(number, "]"))
		switch {
		case err != nil:
		case rest[0] == '#':
			s.rounds = append(s.rounds, n)
		default:
			s.items = append(s.items, n)
		}
		rest = behind
	}
	return s
}

// place is where a node stands in its workflow: the indexes that lead to it from
// the workflow's body, through the bodies around it.
type place struct {
	path  []int
	items int // how many Each are around it
}

// layout finds the nodes of one workflow by id. An id stands for two nodes where
// an Each repeats a single one; the number of items in the address says which.
type layout struct {
	graph  *workflow.Graph
	places map[string][]place
}

func newLayout(w *workflow.Workflow) *layout {
	l := &layout{graph: &w.Body, places: map[string][]place{}}
	l.add(&w.Body, place{})
	return l
}

func (l *layout) add(g *workflow.Graph, at place) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		here := place{path: append(slices.Clip(at.path), i), items: at.items}
		l.places[n.ID] = append(l.places[n.ID], here)
		if body := n.Body(); body != nil {
			if _, each := n.Step.(*workflow.Each); each {
				here.items++
			}
			l.add(body, here)
		}
	}
}

func (l *layout) find(s segment) (place, bool) {
	for _, p := range l.places[s.id] {
		if p.items == len(s.items) {
			return p, true
		}
	}
	return place{}, false
}
