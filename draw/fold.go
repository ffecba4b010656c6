package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Fold says which nodes are drawn as one: those of the same kind with the same edges before and
// after them, if there are many. The zero value folds nothing.
type Fold struct {
	Over int                     // fold more nodes than this
	Open func(place string) bool // which are drawn one by one nevertheless, by the place of the first one; nil: none
}

// ReadableAlike is how many nodes of the same kind with the same edges can still be read side by
// side. Fold more than these.
const ReadableAlike = 12

// workflow returns a workflow in which each set of folded nodes is one node. Its id is that of the
// first and the last of them, with an ellipsis between: no other node can have it.
func (f Fold) workflow(w *workflow.Workflow, prefix string) (*workflow.Workflow, map[string][]*workflow.Node) {
	if f.Over <= 0 {
		return w, nil
	}
	all := &folding{Fold: f, prefix: prefix, made: map[string][]*workflow.Node{}, renamed: map[string]string{}}
	folded := *w
	folded.Body = all.graph(&w.Body)
	return &folded, all.made
}

// folding folds the nodes of one workflow.
type folding struct {
	Fold
	prefix  string
	made    map[string][]*workflow.Node // by the id of the node that is drawn instead
	renamed map[string]string
}

func (f *folding) graph(g *workflow.Graph) workflow.Graph {
	var out workflow.Graph
	alike, shapes := map[string][]*workflow.Node{}, shapes(g)
	for i := range g.Nodes {
		alike[shapes[i]] = append(alike[shapes[i]], &g.Nodes[i])
	}
	for i := range g.Nodes {
		n, same := &g.Nodes[i], alike[shapes[i]]
		if shapes[i] == "" || len(same) <= f.Over || f.Open != nil && f.Open(f.prefix+same[0].ID) {
			out.Nodes = append(out.Nodes, *n)
			continue
		}
		if n == same[0] { // the others follow it
			one := merged(same)
			f.made[one.ID] = same
			out.Nodes = append(out.Nodes, one)
			for _, m := range same {
				f.renamed[m.ID] = one.ID
			}
		}
	}
	for i := range out.Nodes {
		f.body(&out.Nodes[i])
	}
	out.Edges = f.edges(g)
	return out
}

// edges returns the edges of a graph between the nodes that are drawn. Those that have become the
// same are drawn once.
func (f *folding) edges(g *workflow.Graph) []workflow.Edge {
	type key struct {
		from, to, label, when string
		on                    workflow.On
	}
	var out []workflow.Edge
	seen := map[key]bool{}
	for _, e := range g.Edges {
		from, to := f.renamed[e.From], f.renamed[e.To]
		e.From, e.To = cmp.Or(from, e.From), cmp.Or(to, e.To)
		k := key{e.From, e.To, e.Label, e.When.Text, e.On}
		if from+to == "" || !seen[k] {
			out = append(out, e)
		}
		seen[k] = true
	}
	return out
}

// body folds the nodes in a node.
func (f *folding) body(n *workflow.Node) {
	switch s := n.Step.(type) {
	case *workflow.Loop:
		loop := *s
		loop.Body = f.graph(&s.Body)
		n.Step = &loop
	case *workflow.Each:
		each := *s
		each.Body = f.graph(&s.Body)
		n.Step = &each
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
	}
}

// shapes returns the same text for nodes that may be folded together, and "" for those that are
// drawn as frames or decide something.
func shapes(g *workflow.Graph) []string {
	before, after := map[string][]string{}, map[string][]string{}
	eachEdge(g, func(e *workflow.Edge) {
		how := fmt.Sprintf("%q %q %q", e.On, e.Label, e.When.Text)
		before[e.To] = append(before[e.To], fmt.Sprintf("%q %s", e.From, how))
		after[e.From] = append(after[e.From], fmt.Sprintf("%q %s", e.To, how))
	})
	all := make([]string, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		kind := n.Kind()
		if one := single(n); one != nil {
			kind += " " + one.Kind()
		} else if _, choice := n.Step.(*workflow.Choice); choice || n.Body() != nil {
			continue
		}
		slices.Sort(before[n.ID])
		slices.Sort(after[n.ID])
		all[i] = strings.Join([]string{kind, n.Group, strings.Join(before[n.ID], ","), strings.Join(after[n.ID], ",")}, "|")
	}
	return all
}

// merged returns the node that is drawn instead of several.
func merged(nodes []*workflow.Node) workflow.Node {
	one := *nodes[0]
	one.ID, one.Title = nodes[0].ID+" … "+nodes[len(nodes)-1].ID, fmt.Sprintf("%d steps", len(nodes))
	one.Step = sharedStep(nodes)
	return one
}

// sharedStep returns a step for several nodes of one kind, with what they have in common in a
// drawing.
func sharedStep(nodes []*workflow.Node) workflow.Step {
	first := nodes[0]
	if one := single(first); one != nil {
		first = one
	}
	same := !slices.ContainsFunc(nodes, func(n *workflow.Node) bool { return noteText(n) != noteText(nodes[0]) })
	switch s := first.Step.(type) {
	case *workflow.Task:
		if same {
			return &workflow.Task{Agent: s.Agent, Branches: s.Branches, Settings: s.Settings}
		}
		return &workflow.Task{}
	case *workflow.Human:
		return &workflow.Human{}
	case *workflow.Call:
		if same {
			return &workflow.Call{Workflow: s.Workflow}
		}
		return &workflow.Call{}
	case *workflow.Combine:
		return &workflow.Combine{Strategy: s.Strategy}
	case *workflow.Choice, *workflow.Loop, *workflow.Each: // are not folded
	}
	return first.Step
}
