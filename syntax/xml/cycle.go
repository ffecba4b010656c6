package xml

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// maxCycles limits how many cycles are reported. More of them are usually the same mistake.
const maxCycles = 10

// breakCycles reports steps that wait for each other, and removes the edge that closes each
// cycle, so that the model is valid.
func (r *reader) breakCycles(w *workflow.Workflow) {
	c := &cycles{reader: r, out: make([][]arrow, len(r.steps))}
	c.each(&w.Body, func(g *workflow.Graph, i int, from, to int32) {
		c.out[from] = append(c.out[from], arrow{to, g, i})
	})
	c.search()
	c.remove()
}

// arrow is an edge as seen from the graph of its target.
type arrow struct {
	to    int32
	graph *workflow.Graph
	edge  int
}

type cycles struct {
	*reader
	out    [][]arrow
	closes map[*workflow.Graph][]int // edges that close a cycle
	found  int
}

// each visits the edges between steps. An edge out of a loop counts as an edge of the loop.
func (c *cycles) each(g *workflow.Graph, visit func(g *workflow.Graph, i int, from, to int32)) {
	for i := range g.Edges {
		from, to := c.byID[g.Edges[i].From], int32(-1)
		if at, ok := c.byID[g.Edges[i].To]; ok {
			to = at
		}
		if to < 0 {
			continue
		}
		for from >= 0 && c.steps[from].graph != c.steps[to].graph {
			from = c.steps[from].outer
		}
		if from >= 0 {
			visit(g, i, from, to)
		}
	}
	for i := range g.Nodes {
		if body := g.Nodes[i].Body(); body != nil {
			c.each(body, visit)
		}
	}
}

// search visits all steps, depth first. It is not recursive, because a file may be one long
// chain.
func (c *cycles) search() {
	const (
		unseen = iota
		onPath
		done
	)
	state := make([]byte, len(c.steps))
	next := make([]int, len(c.steps))
	c.closes = map[*workflow.Graph][]int{}
	for start := range c.steps {
		if state[start] != unseen {
			continue
		}
		path := []int32{int32(start)}
		state[start] = onPath
		for len(path) > 0 {
			at := path[len(path)-1]
			if next[at] == len(c.out[at]) {
				state[at] = done
				path = path[:len(path)-1]
				continue
			}
			a := c.out[at][next[at]]
			next[at]++
			switch state[a.to] {
			case onPath:
				c.close(path, a)
			case unseen:
				state[a.to] = onPath
				path = append(path, a.to)
			}
		}
	}
}

// close reports a cycle at the edge that closes it.
func (c *cycles) close(path []int32, a arrow) {
	c.closes[a.graph] = append(c.closes[a.graph], a.edge)
	if c.found++; c.found > maxCycles {
		return
	}
	path = path[slices.Index(path, a.to):]
	first := slices.Index(path, slices.Min(path))
	var names []string
	for i := range path {
		if i > 20 {
			names = append(names, "…")
			break
		}
		names = append(names, c.steps[path[(first+i)%len(path)]].node.ID)
	}
	names = append(names, c.steps[path[first]].node.ID)
	c.report(workflow.Errorf(a.graph.Edges[a.edge].Pos, codeCycle,
		"to repeat steps, put them into a <loop>; otherwise, remove one of these dependencies", "steps wait for each other: %s", strings.Join(names, " → ")))
}

func (c *cycles) remove() {
	for g, edges := range c.closes {
		bad := make(map[int]bool, len(edges))
		for _, i := range edges {
			bad[i] = true
		}
		i := -1
		g.Edges = slices.DeleteFunc(g.Edges, func(workflow.Edge) bool {
			i++
			return bad[i]
		})
	}
}
