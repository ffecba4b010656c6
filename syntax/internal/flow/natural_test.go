package flow

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/workflow"
)

// The result of Lift is correct if it has the same arrows and if its loops are real cycles. An edge
// to a loop leads to its first node, and so does the next iteration: followed this way, the edges
// of the graph are those of the drawing, and every node of a loop can reach every other without
// leaving the loop. Lift reports two entries exactly if, by the definition of a dominator, a cycle
// remains without the edges that lead to one.
func TestLoopsAreNatural(t *testing.T) {
	often(t, func(t *rapid.T) {
		d := arrows(t)
		g, found := lift(d)
		text := showDrawing(d) + "\n" + show(&g) + "\n" + strings.Join(found, "\n")
		drawn := reachable(d)
		if twice := strings.Contains(text, "loop-two-entries"); twice != drawn.irreducible() {
			t.Fatalf("two entries: %t\n%s", twice, text)
		} else if twice {
			return
		}
		flat := flatten(&g)
		if !maps.EqualFunc(flat.next, drawn.next, maps.Equal) {
			t.Fatalf("%s\n got %v\nwant %v", text, flat.next, drawn.next)
		}
		for id, members := range flat.loops {
			for from := range members {
				if seen := flat.from(from, members); !maps.Equal(seen, members) {
					t.Fatalf("%s\n%q of %q leads to %v, not to %v", text, from, id, seen, members)
				}
			}
		}
	})
}

// arrows returns a drawing without frames.
func arrows(t *rapid.T) *Drawing {
	number := func(low, high int) int { return rapid.IntRange(low, high).Draw(t, "n") }
	d := &Drawing{}
	n := number(1, 9)
	for i := range n {
		d.Nodes = append(d.Nodes, Node{Node: workflow.Node{ID: string(rune('a' + i)), Step: &workflow.Task{}}})
	}
	for range number(0, 2*n) {
		d.Edges = append(d.Edges, edge(d.Nodes[number(0, n-1)].ID, d.Nodes[number(0, n-1)].ID, ""))
	}
	return d
}

type set = map[string]bool

// network is a graph as sets.
type network struct {
	roots []string
	next  map[string]set
	loops map[string]set // nodes of every loop
}

func newNetwork() *network { return &network{next: map[string]set{}, loops: map[string]set{}} }

func (n *network) add(from, to string) {
	if n.next[from] == nil {
		n.next[from] = set{}
	}
	n.next[from][to] = true
}

// from returns the nodes that can be reached from a node over at least one edge, through some nodes
// only; nil means all nodes.
func (n *network) from(id string, by set) set {
	seen, todo := set{}, []string{id}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for to := range n.next[at] {
			if !seen[to] && (by == nil || by[to]) {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}

// reachable returns a drawing without the nodes that cannot be reached.
func reachable(d *Drawing) *network {
	all, led := newNetwork(), set{}
	for i := range d.Edges {
		all.add(d.Edges[i].From, d.Edges[i].To)
		led[d.Edges[i].To] = true
	}
	for i := range d.Nodes {
		if !led[d.Nodes[i].ID] {
			all.roots = append(all.roots, d.Nodes[i].ID)
		}
	}
	if len(all.roots) == 0 {
		all.roots = []string{d.Nodes[0].ID}
	}
	kept := newNetwork()
	kept.roots = all.roots
	for _, root := range all.roots {
		for from := range all.from(root, nil) {
			maps.Copy(kept.next, map[string]set{from: all.next[from]})
		}
		kept.next[root] = all.next[root]
	}
	maps.DeleteFunc(kept.next, func(_ string, to set) bool { return len(to) == 0 })
	return kept
}

// irreducible reports whether a cycle remains without the edges that lead to a dominator.
func (n *network) irreducible() bool {
	without := newNetwork()
	for from, all := range n.next {
		for to := range all {
			if !n.through(to, from) {
				without.add(from, to)
			}
		}
	}
	for id := range without.next {
		if without.from(id, nil)[id] {
			return true
		}
	}
	return false
}

// through reports whether every path to a node leads through another.
func (n *network) through(via, to string) bool {
	if via == to {
		return true
	}
	others := set{}
	for from, all := range n.next {
		maps.Copy(others, set{from: true})
		maps.Copy(others, all)
	}
	delete(others, via)
	return !slices.ContainsFunc(n.roots, func(root string) bool {
		return root != via && (root == to || n.from(root, others)[to])
	})
}

// flatten draws a lifted graph with arrows only. It skips the choices that Lift adds.
func flatten(g *workflow.Graph) *network {
	first, kept := map[string]string{}, newNetwork() // first is the entry of every loop
	var look func(g *workflow.Graph, around []string)
	look = func(g *workflow.Graph, around []string) {
		led := set{}
		eachGraph(g, func(inner *workflow.Graph) {
			for i := range inner.Edges {
				led[inner.Edges[i].To] = true
			}
		})
		for i := range g.Nodes {
			n := &g.Nodes[i]
			if len(around) > 0 && !led[n.ID] {
				first[around[len(around)-1]] = n.ID
			}
			if body := n.Body(); body != nil {
				kept.loops[n.ID] = set{}
				look(body, append(around, n.ID))
			} else if n.Kind() == "task" {
				for _, id := range around {
					kept.loops[id][n.ID] = true
				}
			}
		}
	}
	look(g, nil)
	kept.join(g, "", func(id string) string {
		for first[id] != "" {
			id = first[id]
		}
		return id
	})
	return kept
}

// join adds the edges of a graph in a loop, with their final targets.
func (n *network) join(g *workflow.Graph, loop string, entry func(string) string) {
	for i := range g.Nodes {
		if body := g.Nodes[i].Body(); body != nil {
			n.join(body, g.Nodes[i].ID, func(id string) string {
				if at := g.Node(id); at != nil && at.Kind() == "choice" {
					return entry(loop)
				}
				return entry(id)
			})
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		switch {
		case g.Node(e.From).Kind() == "choice":
		case e.To == workflow.Again:
			n.add(e.From, entry(loop))
		default:
			n.add(e.From, entry(e.To))
		}
	}
}
