package check

import (
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// tree is a workspace that may reach a node, named by the node that made it.
type tree struct {
	by   *node // nil: what reached the call, loop or for_each around the node
	many bool  // several at once: those of the items of a for_each, or of the ends of a call
}

// way is a decision that must have been made for an edge to be live: which edges its source took.
type way struct {
	from  *node
	on    workflow.On
	label string
}

// carried is a workspace on an edge, with the decisions that lead there.
type carried struct {
	tree
	needs map[way]bool
}

// flow follows the workspaces of one workflow through its graph, like the engine does, for all runs at once.
type flow struct {
	bundle *workflow.Bundle
	own    bool // the agents of the workflow work in workspaces of their own by default
	called bool // a workspace may reach the workflow

	needs   map[*node]map[way]bool
	reached map[*node][]carried // by the edges that lead to a node
	left    map[*node][]tree
	used    map[*node]bool // a step works with what the node left, or merges it
	calls   map[callKey]callLeft
}

type callKey struct {
	name string
	own  bool
}

// callLeft is what a workflow leaves: what reached it, and one or several workspaces of its own.
type callLeft struct{ passes, makes, many bool }

func follow(ix *index, bundle *workflow.Bundle, own, called bool, calls map[callKey]callLeft) *flow {
	f := &flow{
		bundle: bundle, own: own, called: called, calls: calls,
		needs: map[*node]map[way]bool{}, reached: map[*node][]carried{}, left: map[*node][]tree{}, used: map[*node]bool{},
	}
	f.graph(ix.root, called)
	return f
}

// graph follows the workspaces of a graph. entered says that a workspace may reach its entries.
func (f *flow) graph(s *scope, entered bool) {
	for _, n := range s.inOrder() {
		f.needs[n], f.reached[n] = f.needed(n), nil
		switch {
		case len(n.in) > 0:
			for _, e := range n.in {
				f.arrive(n, e)
			}
		case entered:
			f.reached[n] = []carried{{needs: f.needs[n]}}
		}
		f.left[n] = f.leave(n)
	}
}

// needed returns the decisions that all edges to a node have in common, and those of the node around it.
func (f *flow) needed(n *node) map[way]bool {
	common := map[way]bool{}
	if owner := n.scope.owner; owner != nil {
		maps.Copy(common, f.needs[owner])
	}
	for i, e := range n.in {
		live := f.live(e)
		if i == 0 {
			maps.Copy(common, live)
			continue
		}
		maps.DeleteFunc(common, func(w way, _ bool) bool { return !live[w] })
	}
	return common
}

// live returns the decisions without which an edge is not taken.
func (f *flow) live(e *edge) map[way]bool {
	live := maps.Clone(f.needs[e.from])
	if live == nil {
		live = map[way]bool{}
	}
	live[way{e.from, e.On, e.Label + e.When.Text}] = true
	return live
}

// exclude reports whether two sets of decisions contradict each other.
func exclude(a, b map[way]bool) bool {
	for w := range a {
		for v := range b {
			if w.from == v.from && w != v && w.excludes(v) {
				return true
			}
		}
	}
	return false
}

// excludes reports whether a node that takes an edge of one way takes none of another one.
func (w way) excludes(v way) bool {
	kind := func(on workflow.On) workflow.On {
		if on == workflow.OnSuccess && w.from.has(workflow.OnLabel, workflow.OnWhen) {
			return workflow.OnElse // a plain edge beside labels or conditions counts as else
		}
		return on
	}
	a, b := kind(w.on), kind(v.on)
	fails := func(on workflow.On) bool { return on == workflow.OnFailure || on == workflow.OnTimeout }
	switch {
	case fails(a) || fails(b):
		return a != b
	case a == b:
		return w.label != v.label // of labels and conditions, only one is taken
	case a == workflow.OnSuccess || b == workflow.OnSuccess:
		return false
	default:
		return a == workflow.OnElse || b == workflow.OnElse
	}
}

// arrive adds what an edge brings to a node.
func (f *flow) arrive(n *node, e *edge) {
	live := f.live(e)
	bring := f.left[e.from]
	if e.On == workflow.OnFailure {
		bring = f.received(e.from)
	}
	for _, t := range bring {
		if t.by == nil && e.source != e.from { // it leaves a loop that it entered
			for _, outer := range append(f.received(e.source), f.again(e.source.body)...) {
				f.reached[n] = append(f.reached[n], carried{outer, live})
			}
			continue
		}
		f.reached[n] = append(f.reached[n], carried{t, live})
	}
}

// received returns what a node starts with, or what it passes on if it fails. A merge passes on nothing.
func (f *flow) received(n *node) []tree {
	if t, ok := n.Step.(*workflow.Task); ok && (t.Branches != workflow.OneBranch || !f.isOwn(n)) {
		return nil
	}
	return distinctTrees(f.reached[n])
}

func distinctTrees(list []carried) (trees []tree) {
	for _, c := range list {
		if !slices.Contains(trees, c.tree) {
			trees = append(trees, c.tree)
		}
	}
	return trees
}

// isOwn reports whether the agents at a node work in workspaces of their own.
func (f *flow) isOwn(n *node) bool {
	for ; n != nil; n = n.scope.owner {
		if n.Workspace != workflow.WorkspaceAround {
			return n.Workspace == workflow.WorkspaceOwn
		}
	}
	return f.own
}

// leave returns what a node leaves if it succeeds.
func (f *flow) leave(n *node) []tree {
	switch s := n.Step.(type) {
	case *workflow.Task:
		if s.Branches == workflow.OneBranch && !f.isOwn(n) {
			return nil
		}
		f.use(n)
		if s.Agent == workflow.LandAgent {
			return distinctTrees(f.reached[n])
		}
		return []tree{{by: n}}
	case *workflow.Loop:
		f.graph(n.body, len(f.reached[n]) > 0)
		if len(f.reached[n]) == 0 && len(f.again(n.body)) > 0 {
			f.graph(n.body, true) // the next iteration begins with what this one made
		}
		return nil // the edges of its body leave it
	case *workflow.Each:
		f.graph(n.body, len(f.reached[n]) > 0)
		count, known := items(s)
		most, _ := count.Amount()
		return f.ended(n, f.end(n.body), !known || most > 1)
	case *workflow.Call:
		f.use(n) // as far as is known
		return f.ended(n, f.call(s.Workflow, f.isOwn(n)), false)
	case *workflow.Human, *workflow.Choice, *workflow.Combine:
	}
	return distinctTrees(f.reached[n])
}

// use notes that a step works with what reaches it.
func (f *flow) use(n *node) {
	for _, c := range f.reached[n] {
		if c.by != nil {
			f.used[c.by] = true
		} else if owner := n.scope.owner; owner != nil {
			f.use(owner)
		}
	}
}

// again returns what the edges of a body carry into the next iteration, without what it began with.
func (f *flow) again(s *scope) (trees []tree) {
	for _, e := range s.edges {
		if e.To != workflow.Again || e.from == nil {
			continue
		}
		for _, t := range f.left[e.from] {
			if t.by != nil {
				f.used[t.by] = true
				trees = append(trees, t)
			}
		}
	}
	return trees
}

// end returns what the last steps of a graph leave.
func (f *flow) end(s *scope) (left callLeft) {
	var last []carried
	for _, n := range s.inOrder() {
		if !n.ends() {
			continue
		}
		for _, t := range f.left[n] {
			last = append(last, carried{t, f.needs[n]})
			left.passes, left.makes, left.many = left.passes || t.by == nil, left.makes || t.by != nil, left.many || t.many
		}
	}
	left.many = left.many || f.meet(last) != nil
	return left
}

// ends reports whether a path may end at a node.
func (n *node) ends() bool {
	goesOn := false
	for _, e := range n.out {
		if e.To == workflow.End {
			return true
		}
		goesOn = goesOn || e.On != workflow.OnFailure && e.On != workflow.OnTimeout
	}
	return !goesOn && !n.isLoop()
}

// ended returns what a call or a for_each leaves whose steps left something.
func (f *flow) ended(n *node, inside callLeft, several bool) (trees []tree) {
	if inside.passes {
		trees = distinctTrees(f.reached[n])
	}
	if inside.makes {
		f.use(n)
		trees = append(trees, tree{by: n, many: inside.many || several})
	}
	return trees
}

// call returns what a called workflow leaves.
func (f *flow) call(name string, own bool) callLeft {
	key := callKey{name, own}
	if left, known := f.calls[key]; known {
		return left
	}
	w := f.bundle.Called[name]
	if w == nil {
		return callLeft{}
	}
	f.calls[key] = callLeft{passes: true} // in a cycle, which is reported elsewhere
	ix := newIndex(w)
	inside := follow(ix, f.bundle, own, true, f.calls)
	f.calls[key] = inside.end(ix.root)
	return f.calls[key]
}

// meet returns two workspaces that can be there at the same time and differ, or nil.
func (f *flow) meet(list []carried) []tree {
	for i, a := range list {
		if a.many {
			return []tree{a.tree}
		}
		for _, b := range list[:i] {
			if a.tree != b.tree && !exclude(f.origin(a), f.origin(b)) {
				return []tree{b.tree, a.tree}
			}
		}
	}
	return nil
}

// origin returns the decisions for a workspace to be made and to arrive.
func (f *flow) origin(c carried) map[way]bool {
	all := maps.Clone(c.needs)
	if c.by != nil {
		maps.Copy(all, f.needs[c.by])
	}
	return all
}
