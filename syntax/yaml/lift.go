package yaml

import (
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// lifter finds the steps that would become a given model; it is the reverse of the resolver.
// Choices that `when`, `until` and `while` create are folded back into them, unless they are kept
// as separate steps.
type lifter struct {
	onError workflow.OnError // that a folded choice must have
	keep    map[string]bool  // choices that are not to be folded
	steps   map[string]*step // by the id of their node
	entries map[string]*step // by the id of their guard
	tests   map[string]bool  // ids of folded tests
}

func (l *lifter) block(g *workflow.Graph, owner *step) *block {
	b := &block{owner: owner}
	out := outEdges(g)
	in := inDegrees(g)
	for i := 0; i < len(g.Nodes); i++ {
		n := &g.Nodes[i]
		guard := ""
		if i+1 < len(g.Nodes) && l.isGuard(n, &g.Nodes[i+1], out, in) {
			guard = n.ID
			i++
		}
		if i == len(g.Nodes)-1 && owner != nil && owner.isLoop() && guard == "" && l.isTest(n, out, g, owner) {
			continue
		}
		s := l.step(&g.Nodes[i], out[g.Nodes[i].ID])
		s.outer, s.index = owner, len(b.steps)
		if guard != "" {
			s.guard, s.when = guard, out[guard][0].When
			l.entries[guard] = s
		}
		b.steps = append(b.steps, s)
	}
	return b
}

func outEdges(g *workflow.Graph) map[string][]*workflow.Edge {
	out := make(map[string][]*workflow.Edge, len(g.Nodes))
	for i := range g.Edges {
		out[g.Edges[i].From] = append(out[g.Edges[i].From], &g.Edges[i])
	}
	return out
}

func inDegrees(g *workflow.Graph) map[string]int {
	in := make(map[string]int, len(g.Nodes))
	allEdges(g, func(e *workflow.Edge) { in[e.To]++ })
	return in
}

// isGuard reports whether a choice is the `when` of the node after it: it leads to that node,
// otherwise to where that node continues, and no other edge leads to the node.
func (l *lifter) isGuard(c, guarded *workflow.Node, out map[string][]*workflow.Edge, in map[string]int) bool {
	edges := out[c.ID]
	if !l.foldable(c) || in[guarded.ID] != 1 || len(edges) < 2 {
		return false
	}
	if edges[0].On != workflow.OnWhen || edges[0].To != guarded.ID || edges[0].When.Text == "" {
		return false
	}
	if _, isLoop := guarded.Step.(*workflow.Loop); isLoop {
		return false // where a loop continues is known only after its body is read
	}
	around := plainTargets(out[guarded.ID])
	if len(around) == 0 {
		around = []string{workflow.End}
	}
	for _, e := range edges[1:] {
		if e.On != workflow.OnElse {
			return false
		}
	}
	return slices.Equal(targetsOf(edges[1:]), around)
}

// foldable reports whether a choice has nothing but its edges, and a name that the parser would
// generate.
func (l *lifter) foldable(n *workflow.Node) bool {
	c, ok := n.Step.(*workflow.Choice)
	bare := *n
	bare.Step, bare.Pos, bare.ID, bare.OnError = nil, workflow.Pos{}, "", ""
	named := n.ID == "choice" || strings.HasPrefix(n.ID, "choice-")
	return ok && c.On.Text == "" && c.Ask == nil && named && !l.keep[n.ID] && n.OnError == l.onError && isZero(&bare)
}

func isZero(n *workflow.Node) bool {
	return n.Title == "" && n.Join == (workflow.Join{}) && n.Group == "" && !hasOutput(n.Output) &&
		n.Retry == (workflow.Retry{}) && n.Timeout == 0 && !n.Once && len(n.Labels) == 0 && n.Workspace == workflow.WorkspaceAround
}

func hasOutput(o workflow.Output) bool {
	return o.Var != "" || o.Mode != workflow.Full || o.Pattern != "" || o.Schema != nil
}

// isTest reports whether the last choice of a loop's body is its `until` or `while`, and if so
// folds it: every edge to it is the only one of its source, and it leads out of the loop or back.
func (l *lifter) isTest(c *workflow.Node, out map[string][]*workflow.Edge, g *workflow.Graph, loop *step) bool {
	edges := out[c.ID]
	if !l.foldable(c) || len(edges) < 2 || !l.onlyFallThrough(c.ID, out, g) {
		return false
	}
	first, last := edges[0], edges[len(edges)-1]
	exits := edges[:len(edges)-1]
	switch {
	case first.On == workflow.OnWhen && last.On == workflow.OnElse && last.To == workflow.Again:
		loop.until = first.When
	case first.On == workflow.OnWhen && first.To == workflow.Again && last.On == workflow.OnElse:
		loop.while = first.When
		exits = edges[1:]
	default:
		return false
	}
	for _, e := range exits {
		if e.On != exits[0].On || e.When.Text != exits[0].When.Text || e.To == workflow.Again {
			loop.until, loop.while = workflow.Expr{}, workflow.Expr{}
			return false
		}
	}
	loop.test = c.ID
	l.tests[c.ID] = true
	loop.want = targets(targetsOf(exits))
	return true
}

// onlyFallThrough reports whether every edge to a node is the only plain edge of its source,
// skips a step, or leaves a loop.
func (l *lifter) onlyFallThrough(id string, out map[string][]*workflow.Edge, g *workflow.Graph) bool {
	found, right := false, true
	allEdges(g, func(e *workflow.Edge) {
		if e.To != id {
			return
		}
		found = true
		around := l.entries[e.From] != nil && e.On == workflow.OnElse
		sole := e.On == workflow.OnSuccess && len(plainTargets(out[e.From])) <= 1
		right = right && (around || sole || l.tests[e.From])
	})
	return found && right
}

func targetsOf(edges []*workflow.Edge) []string {
	ids := make([]string, len(edges))
	for i, e := range edges {
		ids[i] = e.To
	}
	return ids
}

func plainTargets(edges []*workflow.Edge) []string {
	var ids []string
	for _, e := range edges {
		if e.On == workflow.OnSuccess {
			ids = append(ids, e.To)
		}
	}
	return ids
}

func targets(ids []string) []target {
	list := make([]target, len(ids))
	for i, id := range ids {
		list[i] = target{name: id}
	}
	return list
}

// step creates a step from a node and its edges.
func (l *lifter) step(n *workflow.Node, out []*workflow.Edge) *step {
	s := &step{node: *n, group: n.Group, onErrorGiven: true, base: baseOf(n)}
	l.steps[n.ID] = s
	l.leave(s, out)
	switch step := n.Step.(type) {
	case *workflow.Loop:
		s.node.Step = &workflow.Loop{Max: step.Max}
		s.body = l.block(&step.Body, s)
	case *workflow.Each:
		if !isRepeat(n, step) {
			s.node.Step = &workflow.Each{Items: step.Items, As: step.As, Parallel: step.Parallel}
			s.body = l.block(&step.Body, s)
		}
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
	}
	return s
}

// leave sorts edges into plain ones and ways, as the parser would have read them. If they are in
// another order, all of them are ways.
func (l *lifter) leave(s *step, out []*workflow.Edge) {
	inOrder := slices.IsSortedFunc(out, func(a, b *workflow.Edge) int { return Rank(a.On) - Rank(b.On) })
	if inOrder {
		s.want = targets(plainTargets(out))
		out = out[len(s.want):]
	}
	for _, e := range out {
		last := len(s.ways) - 1
		if last >= 0 && s.ways[last].on == e.On && s.ways[last].label == e.Label && s.ways[last].when.Text == e.When.Text {
			s.ways[last].to = append(s.ways[last].to, target{name: e.To})
			continue
		}
		s.ways = append(s.ways, way{on: e.On, label: e.Label, when: e.When, to: []target{{name: e.To}}})
	}
}

// isRepeat reports whether an Each is a task or a call with for_each, as the parser creates it.
func isRepeat(n *workflow.Node, each *workflow.Each) bool {
	if len(each.Body.Nodes) != 1 || len(each.Body.Edges) > 0 || each.Body.Nodes[0].ID != n.ID {
		return false
	}
	inner := &each.Body.Nodes[0]
	if kind := inner.Kind(); kind != "task" && kind != "call" {
		return false
	}
	return inner.Join == (workflow.Join{}) && inner.Group == "" && inner.OnError == workflow.Stop && inner.Output.Var == "" &&
		n.Retry == (workflow.Retry{}) && n.Timeout == time.Duration(0) && !n.Once && len(n.Labels) == 0 && n.Workspace == workflow.WorkspaceAround &&
		n.Output.Mode == workflow.Full && n.Output.Pattern == "" && n.Output.Schema == nil
}

// baseOf returns the base name from which the parser would generate an id.
func baseOf(n *workflow.Node) string {
	switch s := n.Step.(type) {
	case *workflow.Task:
		if kind := Kind(n); kind != "task" {
			return kind
		}
		return orElse(s.Agent, "task")
	case *workflow.Call:
		return callBase(s.Workflow)
	case *workflow.Each:
		if isRepeat(n, s) {
			return baseOf(&s.Body.Nodes[0])
		}
		return "each"
	case *workflow.Human, *workflow.Choice, *workflow.Combine, *workflow.Loop:
		return n.Kind()
	}
	return ""
}

// callBase returns the workflow's name without its directory and extension.
func callBase(name string) string {
	base, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
	return base
}
