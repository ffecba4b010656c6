// Package modelgen generates random workflows for the property tests of the notations: every kind
// of node and edge, nested bodies, declaration orders that are not topological, and text that is
// hard to quote.
//
// The result is a model as a parser returns it: references are canonical, edges are sorted by the
// declaration of their source, there are no duplicate edges, and a single plain edge to the end is
// left out, except in a loop. It has no particular meaning, and most of it would not pass the
// checks.
package modelgen

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/workflow"
)

// Workflow returns the generator.
func Workflow() *rapid.Generator[*workflow.Workflow] {
	return rapid.Custom(func(t *rapid.T) *workflow.Workflow {
		g := &generator{T: t, taken: map[string]bool{}}
		w := &workflow.Workflow{
			Name:        g.text(),
			Description: g.maybe(g.text),
			Inputs:      g.params(),
			State:       g.object(2),
			Agents:      g.lanes(),
			Limits:      g.limits(),
			Output:      workflow.Template{Text: g.maybe(g.template)},
		}
		w.Body = g.graph(3, nil, place{})
		return w
	})
}

type generator struct {
	*rapid.T
	taken map[string]bool
}

// place is where a graph is.
type place struct {
	inLoop bool
	later  []string // nodes of the graphs around it that an exit may lead to
	behind []string // where a chain of a loop's body continues
	test   string   // id of the choice at its end
}

func (g *generator) number(low, high int) int { return rapid.IntRange(low, high).Draw(g.T, "n") }
func (g *generator) coin() bool               { return rapid.Bool().Draw(g.T, "coin") }

// rarely is true one time in five.
func (g *generator) rarely() bool { return g.number(0, 4) == 0 }

func pick[E any](g *generator, from []E) E { return rapid.SampledFrom(from).Draw(g.T, "pick") }

func (g *generator) maybe(text func() string) string {
	if g.coin() {
		return ""
	}
	return text()
}

var idPool = []string{"a", "b", "review", "review-2", "worker", "choice", "choice-2", "choice-3", "end", "again", "loop", "each", "task", "human", "größe", "x_1", "007", "no", "null"}

// id returns a new id; some are those that a parser would generate.
func (g *generator) id() string {
	id := pick(g, idPool)
	for n := 2; g.taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", pick(g, idPool), n)
	}
	g.taken[id] = true
	return id
}

// graph generates nodes in a random order of declaration, and edges that follow another random
// order, so that the graph is acyclic.
func (g *generator) graph(depth int, owner *workflow.Node, in place) workflow.Graph {
	if g.coin() {
		return g.chain(depth, in)
	}
	n := g.number(1, 5)
	if owner == nil && g.rarely() {
		n = g.number(0, 12)
	}
	gr := workflow.Graph{Nodes: make([]workflow.Node, n)}
	for i := range gr.Nodes {
		gr.Nodes[i].ID = g.id()
	}
	ids := make([]string, n)
	for i := range gr.Nodes {
		ids[i] = gr.Nodes[i].ID
	}
	order := ids
	if g.coin() {
		order = rapid.Permutation(ids).Draw(g.T, "order")
	}
	for i := range gr.Nodes {
		node := &gr.Nodes[i]
		at := slices.Index(order, node.ID)
		here := place{inLoop: in.inLoop, later: slices.Concat(order[at+1:], in.later), behind: []string{workflow.End}}
		g.node(node, depth, here)
		if _, isLoop := node.Step.(*workflow.Loop); !isLoop {
			gr.Edges = append(gr.Edges, g.edges(node, order[at+1:], here)...)
		}
	}
	return gr
}

// edges adds the edges of a node: to later nodes of its graph, to the end, and in a loop also back
// and out.
func (g *generator) edges(n *workflow.Node, siblings []string, in place) []workflow.Edge {
	targets := slices.Concat(siblings, siblings, []string{workflow.End})
	if in.inLoop {
		targets = slices.Concat(targets, in.later, []string{workflow.Again, workflow.Again})
	}
	simple := g.coin()
	var edges []workflow.Edge
	for range g.number(0, 3) {
		e := workflow.Edge{From: n.ID, To: pick(g, targets), On: g.on(n, simple)}
		switch e.On {
		case workflow.OnLabel:
			e.Label = g.label()
		case workflow.OnWhen:
			e.When = workflow.Expr{Text: g.condition()}
		case workflow.OnSuccess, workflow.OnElse, workflow.OnFailure, workflow.OnTimeout:
		}
		if !slices.Contains(edges, e) {
			edges = append(edges, e)
		}
	}
	if g.coin() {
		slices.SortStableFunc(edges, func(a, b workflow.Edge) int { return rank(a.On) - rank(b.On) })
	}
	plain := func(e workflow.Edge) bool { return e.On == workflow.OnSuccess }
	if i := slices.IndexFunc(edges, plain); i >= 0 && edges[i].To == workflow.End && !in.inLoop {
		if !slices.ContainsFunc(edges[i+1:], plain) {
			edges = slices.Delete(edges, i, i+1)
		}
	}
	return edges
}

func rank(on workflow.On) int {
	return slices.Index([]workflow.On{workflow.OnSuccess, workflow.OnLabel, workflow.OnWhen, workflow.OnElse, workflow.OnFailure, workflow.OnTimeout}, on)
}

func (g *generator) on(n *workflow.Node, simple bool) workflow.On {
	kinds := []workflow.On{workflow.OnSuccess}
	if !simple {
		kinds = append(kinds, workflow.OnLabel, workflow.OnWhen, workflow.OnElse, workflow.OnFailure)
		if n.Kind() == "human" {
			kinds = append(kinds, workflow.OnTimeout)
		}
	}
	return pick(g, kinds)
}

// label returns short text, some of which YAML 1.1 reads as a boolean.
func (g *generator) label() string {
	return pick(g, []string{"yes", "no", "bug", "needs work", "1", "null", "a: b", "#x", `"q"`, "{{x}}", "ünï", g.text()})
}

func (g *generator) node(n *workflow.Node, depth int, in place) {
	n.Title = g.maybe(g.text)
	n.OnError = pick(g, []workflow.OnError{workflow.Stop, workflow.Stop, workflow.Continue, workflow.SkipDependents, workflow.Replan})
	n.Join = workflow.Join{Need: pick(g, []int{0, 0, 0, 1, 2, 7}), Keep: g.rarely()}
	n.Group = pick(g, []string{"", "", "scanners", "g: 1"})
	n.Labels = g.labels()
	kinds := []string{"task", "task", "task", "human", "call", "choice", "combine", "each", "merge"}
	if depth > 0 {
		kinds = append(kinds, "loop", "block")
	}
	g.step(n, pick(g, kinds), depth, in)
	g.workspace(n)
}

// workspace sets where a step works, if it may say so.
func (g *generator) workspace(n *workflow.Node) {
	switch s := n.Step.(type) {
	case *workflow.Task:
		if s.Branches != workflow.OneBranch {
			return
		}
	case *workflow.Call, *workflow.Loop, *workflow.Each:
	case *workflow.Human, *workflow.Choice, *workflow.Combine:
		return
	}
	if g.rarely() {
		n.Workspace = pick(g, []workflow.Workspace{workflow.WorkspaceOwn, workflow.WorkspaceProject})
	}
}

func (g *generator) step(n *workflow.Node, kind string, depth int, in place) {
	switch kind {
	case "task":
		g.task(n)
	case "merge":
		g.merge(n)
	case "human":
		n.Step = &workflow.Human{Question: workflow.Template{Text: g.template()}, Options: g.options(), Custom: g.rarely(), Required: g.rarely()}
		n.Output, n.Timeout = g.output(), g.duration()
	case "call":
		n.Step = &workflow.Call{Workflow: pick(g, []string{"child", "sub/deep.yml", "a b", n.ID}), Inputs: g.bindings()}
		n.Output, n.Timeout = g.output(), g.duration()
	case "choice":
		g.choice(n)
	case "combine":
		g.combine(n)
	case "loop":
		loop := &workflow.Loop{Max: pick(g, []int{0, 1, 3})}
		n.Step = loop
		loop.Body = g.graph(depth-1, n, place{inLoop: true, later: in.later, behind: in.behind})
	case "block":
		each := g.each()
		n.Step, n.Output = each, g.output()
		each.Body = g.graph(depth-1, n, place{})
	case "each":
		g.repeat(n)
	}
}

func (g *generator) task(n *workflow.Node) {
	n.Step = &workflow.Task{
		Agent:    pick(g, []string{"", n.ID, "worker", "Code Reviewer", "-", "ci/bot"}),
		Prompt:   workflow.Template{Text: g.maybe(g.template)},
		Inputs:   g.bindings(),
		Context:  pick(g, []workflow.Context{workflow.AutoContext, workflow.AutoContext, workflow.PreviousContext, workflow.NoContext}),
		Settings: g.templates(2),
	}
	if g.rarely() {
		n.Step.(*workflow.Task).Handoffs = &workflow.Handoffs{
			To:  pick(g, [][]string{{"worker"}, {"Code Reviewer", "ci/bot"}, {"a, b", "true", n.ID}}),
			Max: pick(g, []int{0, 1, 20}), Depth: pick(g, []int{0, 1, 4}), Detach: g.rarely(),
		}
	}
	n.Output, n.Timeout, n.Once = g.output(), g.duration(), g.rarely()
	g.retry(n)
}

// merge generates a merge, a pick or a landing, some of them with everything that a task may have.
func (g *generator) merge(n *workflow.Node) {
	g.task(n)
	t := n.Step.(*workflow.Task)
	t.Branches = pick(g, []workflow.Branches{workflow.MergeBranches, workflow.PickBranch, workflow.OneBranch})
	if g.coin() {
		*t = workflow.Task{Agent: t.Agent, Branches: t.Branches, Prompt: t.Prompt}
	}
	switch {
	case t.Branches == workflow.OneBranch:
		n.Workspace = workflow.WorkspaceOwn
		*t = workflow.Task{Agent: workflow.LandAgent, Settings: map[string]any{"as": pick(g, []string{"branch", "commit", "patch", "else"})}}
		if g.coin() {
			t.Settings[pick(g, []string{"branch", "message", "other"})] = g.template()
		}
	case g.coin():
		*t = workflow.Task{Agent: workflow.MergeAgent, Branches: t.Branches, Settings: pick(g, []map[string]any{nil, nil, {"by": "human"}, {"by": "x"}})}
	}
}

func (g *generator) choice(n *workflow.Node) {
	c := &workflow.Choice{}
	n.Step = c
	if g.coin() {
		c.On.Text = g.maybe(g.condition)
		return
	}
	c.Ask = &workflow.Task{
		Agent:    pick(g, []string{"", "", "worker", "Code Reviewer"}),
		Prompt:   workflow.Template{Text: pick(g, []string{"Good?", "Is it Latin?", "approved", "true", n.ID, g.template()})},
		Settings: pick(g, []map[string]any{nil, nil, g.templates(1)}),
	}
	n.Timeout = g.duration()
	g.retry(n)
}

func (g *generator) retry(n *workflow.Node) {
	if g.rarely() {
		n.Retry = workflow.Retry{Attempts: g.number(1, 9), Backoff: pick(g, []workflow.Backoff{workflow.Fixed, workflow.Linear, workflow.Exponential}), Delay: g.duration(), MaxDelay: g.duration()}
	}
}

func (g *generator) combine(n *workflow.Node) {
	c := &workflow.Combine{Strategy: pick(g, []workflow.Strategy{workflow.Concatenate, workflow.Merge, workflow.Array, workflow.First, workflow.Vote}), Separator: g.maybe(g.text)}
	for range g.number(0, 3) {
		c.Inputs = append(c.Inputs, workflow.Expr{Text: g.reference()})
	}
	n.Step, n.Output = c, g.output()
}

func (g *generator) each() *workflow.Each {
	return &workflow.Each{Items: workflow.Expr{Text: g.reference()}, As: pick(g, []string{"", "one", "größe"}), Parallel: pick(g, []int{0, 1, 4})}
}

// repeat turns a node into a for_each with the same id, with or without fields that only the long
// form supports.
func (g *generator) repeat(n *workflow.Node) {
	each := g.each()
	inner := workflow.Node{ID: n.ID}
	g.step(&inner, pick(g, []string{"task", "call", "human", "merge"}), 0, place{})
	g.workspace(&inner)
	if g.coin() {
		inner.OnError = workflow.Continue
	} else {
		inner.Output.Var = ""
	}
	n.Output.Var = g.maybe(g.variable)
	each.Body.Nodes = []workflow.Node{inner}
	n.Step = each
}

func (g *generator) duration() time.Duration {
	return pick(g, []time.Duration{0, 0, 0, time.Second, 90 * time.Second, 10 * time.Minute, 2 * time.Hour, 90 * time.Minute, 1500 * time.Millisecond, 1})
}
