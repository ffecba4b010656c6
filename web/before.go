package web

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// trail knows what leads to a step: at each level of its address, which is one in each workflow that calls the next, the nodes
// from which there is a way.
type trail []level

type level struct {
	part   string                      // of the address
	around map[string][]*workflow.Node // the loops and for_eachs that a node is in, the outermost first
	before map[string]bool
}

func trailTo(b *workflow.Bundle, address string) (t trail) {
	w := b.Root
	for part := range strings.SplitSeq(address, "/") {
		if w == nil {
			break
		}
		id, _ := instance(part)
		t = append(t, newLevel(w, part, id))
		n := (&workflow.Bundle{Root: w}).At(id)
		w = nil
		if n != nil {
			if call, ok := n.Repeats().Step.(*workflow.Call); ok {
				w = b.Called[call.Workflow]
			}
		}
	}
	return t
}

// has reports whether the step with an address, which is done, leads to that of the trail. Steps of other branches and of
// other items do not.
func (t trail) has(address string) bool {
	parts := strings.Split(address, "/")
	for i, l := range t[:min(len(t), len(parts))] {
		if parts[i] != l.part {
			return l.has(parts[i])
		}
	}
	return false
}

// instance splits a part of an address, such as node#1[0], into the node and its rounds and items.
func instance(part string) (id string, numbers []string) {
	at := strings.IndexAny(part, "#[")
	if at < 0 {
		return part, nil
	}
	return part[:at], strings.FieldsFunc(strings.NewReplacer("#", " #", "[", " [", "]", "").Replace(part[at:]), func(r rune) bool { return r == ' ' })
}

func newLevel(w *workflow.Workflow, part, id string) level {
	l := level{part: part, around: map[string][]*workflow.Node{}, before: map[string]bool{}}
	into, inside := map[string][]string{}, map[string][]string{}
	var walk func(g *workflow.Graph, around []*workflow.Node)
	walk = func(g *workflow.Graph, around []*workflow.Node) {
		for _, e := range g.Edges {
			into[e.To] = append(into[e.To], e.From)
		}
		for i := range g.Nodes {
			n := &g.Nodes[i]
			l.around[n.ID] = around
			for _, a := range around {
				inside[a.ID] = append(inside[a.ID], n.ID)
			}
			if body := n.Body(); body != nil {
				walk(body, append(slices.Clip(around), n))
			}
		}
	}
	walk(&w.Body, nil)
	seen := map[string]bool{}
	var find func(id string)
	find = func(id string) {
		if seen[id] {
			return
		}
		seen[id] = true
		for _, from := range into[id] {
			for _, before := range append([]string{from}, inside[from]...) {
				l.before[before] = true
			}
			find(from)
		}
		for _, a := range l.around[id] {
			find(a.ID)
		}
	}
	find(id)
	return l
}

// has reports whether an instance of a node leads to that of the trail.
func (l level) has(part string) bool {
	x, from := l.rounds(part)
	y, to := l.rounds(l.part)
	for i := range min(len(from), len(to)) {
		around := l.around[x][i]
		if around != l.around[y][i] {
			break
		}
		if from[i] != to[i] {
			_, loop := around.Step.(*workflow.Loop)
			return loop && from[i] < to[i]
		}
	}
	return x != y && l.before[x]
}

// rounds returns the node of a part of an address, and the number of the round or item of each loop and for_each that it is in.
func (l level) rounds(part string) (string, []int) {
	id, numbers := instance(part)
	all := make([]int, len(l.around[id]))
	count := slices.ContainsFunc(numbers, func(n string) bool { return n[0] == '#' })
	for i, around := range l.around[id] {
		if _, loop := around.Step.(*workflow.Loop); loop && !count {
			all[i] = 1 // rounds are left out if all are the first
			continue
		}
		all[i] = -1 // a for_each as a whole
		if len(numbers) > 0 {
			all[i], _ = strconv.Atoi(numbers[0][1:])
			numbers = numbers[1:]
		}
	}
	return id, all
}
