package view

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// segment is one part of an address between slashes: a node's id with its rounds and
// items, outermost first.
type segment struct {
	id     string
	rounds []int
	items  []int
}

// splitAddress parses an address such as serve-customers#2/order-taker[3].
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
		number, after := rest[1:], ""
		if i := strings.IndexAny(number, "#["); i >= 0 {
			number, after = number[:i], number[i:]
		}
		n, err := strconv.Atoi(strings.TrimSuffix(number, "]"))
		switch {
		case err != nil:
		case rest[0] == '#':
			s.rounds = append(s.rounds, n)
		default:
			s.items = append(s.items, n)
		}
		rest = after
	}
	return s
}

// place is the position of a node in its workflow: the index of the node in its body, after
// the indexes of the nodes that contain it.
type place struct {
	path  []int
	items int // how many Each contain it
}

// layout finds the nodes of one workflow by id. An Each that repeats a single node has the
// same id as that node; the number of items in the address tells them apart.
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
