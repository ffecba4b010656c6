package oracle

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Generator generates random workflows with all kinds of nodes and edges, nested loops
// with exits over several levels, items and calls. The engine accepts them all; some
// contain references and joins that the checks refuse.
type Generator struct {
	*rand.Rand
	ids   int
	depth int
	calls []string

	isolates bool // steps have workspaces of their own
}

var labels = []string{"a", "b", "c"}

var prompts = []string{
	"${vars.v0} ${previous.output} ${iteration}", "go on", "go on", "${inputs.given} ${inputs}", "${nodes.n1.output} ${nodes.n2.status} ${nodes.n3.attempts} ${nodes.n2.workspace}",
	"${failure.node} ${failure.error}", "${previous.decision} ${previous.reason}", "${item} ${index} ${vars.it}",
	"${groups.g.status} ${groups.g.succeeded}", "${groups.g.outputs} ${nodes.n1.duration_ms}",
}

// Bundle returns a random root with up to two workflows that it calls.
func (g *Generator) Bundle() *workflow.Bundle {
	b := &workflow.Bundle{Called: map[string]*workflow.Workflow{}}
	g.isolates = g.chance(30)
	for i := range g.IntN(3) {
		name := "child" + strconv.Itoa(i)
		b.Called[name] = g.workflow(name)
		g.calls = append(g.calls, name)
	}
	b.Root = g.workflow("root")
	return b
}

func (g *Generator) workflow(name string) *workflow.Workflow {
	g.ids = 0
	w := &workflow.Workflow{Name: name, State: map[string]any{"v0": "a"}, Body: g.graph(1+g.IntN(5), nil)}
	if g.chance(20) {
		w.Inputs = []workflow.Param{{Name: "items"}, {Name: "given", HasDefault: true, Default: "default"}}
	}
	if g.chance(40) {
		w.Output.Text = [...]string{"${vars.v1}", "${previous.output}", "of ${vars.v1} and ${vars.v2}"}[g.IntN(3)]
	}
	if g.chance(10) {
		w.Limits.Steps = 3 + g.IntN(10)
	}
	if g.chance(10) {
		w.Limits.Parallel = 1 + g.IntN(3)
	}
	if g.chance(10) {
		w.Limits.Runtime = time.Duration(1+g.IntN(90)) * time.Second
	}
	if g.chance(5) {
		w.Limits.CostUSD = 0.1
	}
	if g.chance(5) {
		w.Limits.Tokens = 20
	}
	return w
}

func (g *Generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *Generator) id() string {
	g.ids++
	return "n" + strconv.Itoa(g.ids)
}

// graph returns a graph with size nodes. around are the nodes that a loop's body may
// leave to; nil outside of a loop.
func (g *Generator) graph(size int, around []string) workflow.Graph {
	g.depth++
	defer func() { g.depth-- }()
	ids := make([]string, size)
	for i := range ids {
		ids[i] = g.id()
	}
	var graph workflow.Graph
	for i, id := range ids {
		n := g.node(id, append(append([]string{}, ids[i+1:]...), around...))
		graph.Nodes = append(graph.Nodes, n)
		if _, loop := n.Step.(*workflow.Loop); !loop {
			graph.Edges = append(graph.Edges, g.edges(id, n.Step, ids[i+1:], around)...)
		}
	}
	g.joins(&graph)
	return graph
}

func (g *Generator) node(id string, later []string) workflow.Node {
	n := workflow.Node{ID: id, OnError: [...]workflow.OnError{workflow.Stop, workflow.Continue, workflow.SkipDependents}[g.IntN(3)]}
	if g.chance(30) {
		n.Output.Var = "v" + strconv.Itoa(g.IntN(3))
	}
	if g.chance(20) {
		n.Group = "g"
	}
	if g.isolates && g.chance(40) {
		n.Workspace = [...]workflow.Workspace{workflow.WorkspaceOwn, workflow.WorkspaceOwn, workflow.WorkspaceProject}[g.IntN(3)]
	}
	switch k := g.IntN(100); {
	case k < 10 && g.depth < 4:
		n.Step = &workflow.Loop{Body: g.graph(1+g.IntN(3), later), Max: 1 + g.IntN(4)}
		n.Output.Var = ""
	case k < 18 && g.depth < 4:
		n.Step = g.each(id)
	case k < 25 && len(g.calls) > 0:
		n.Step = &workflow.Call{Workflow: g.calls[g.IntN(len(g.calls))], Inputs: g.inputs("given", 80)}
		if g.chance(20) {
			n.Timeout = time.Duration(1+g.IntN(20)) * time.Second
		}
	case k < 33:
		human := &workflow.Human{Question: workflow.Template{Text: "go?"}, Custom: g.chance(20)}
		if g.chance(20) {
			human.Options = []workflow.Option{{Value: "a"}, {Value: "reject"}}
		}
		if g.chance(30) {
			n.Timeout = time.Duration(1+g.IntN(9)) * time.Second
		}
		n.Step = human
	case k < 42:
		c := &workflow.Choice{}
		if g.chance(50) {
			c.Ask = &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: "Good? ${previous.reason}"}}
			n.Retry = workflow.Retry{Attempts: g.IntN(3)}
		} else if g.chance(30) {
			c.On.Text = [...]string{"vars.v1", `vars.v0 == "a"`, "nodes.n1.output"}[g.IntN(3)]
		}
		n.Step, n.Output.Var = c, ""
	case k < 50:
		c := &workflow.Combine{Strategy: [...]workflow.Strategy{workflow.Concatenate, workflow.Array, workflow.First, workflow.Vote, workflow.Merge}[g.IntN(5)]}
		if g.chance(30) {
			c.Inputs = []workflow.Expr{{Text: "vars.v0"}, {Text: "previous.output"}, {Text: "vars.v1"}}
		}
		n.Step = c
		n.Output.Mode = g.mode()
	default:
		n.Step = &workflow.Task{
			Agent: "x", Prompt: workflow.Template{Text: prompts[g.IntN(len(prompts))]}, Inputs: g.inputs("own", 10),
			Context: [...]workflow.Context{workflow.AutoContext, workflow.PreviousContext, workflow.NoContext}[g.IntN(3)],
		}
		if g.chance(30) {
			n.Step.(*workflow.Task).Handoffs = &workflow.Handoffs{To: []string{"y"}, Max: g.IntN(6), Depth: g.IntN(4), Detach: g.chance(30)}
		}
		if g.isolates && g.chance(40) {
			n.Step.(*workflow.Task).Branches = [...]workflow.Branches{workflow.MergeBranches, workflow.PickBranch}[g.IntN(2)]
		}
		n.Once = g.chance(5)
		n.Output.Mode = g.mode()
		n.Retry = workflow.Retry{
			Attempts: g.IntN(5), Delay: time.Duration(g.IntN(3)) * time.Second, MaxDelay: time.Duration(g.IntN(2)*(2+g.IntN(3))) * time.Second,
			Backoff: [...]workflow.Backoff{workflow.Fixed, workflow.Linear, workflow.Exponential}[g.IntN(3)],
		}
		if g.chance(20) {
			n.Timeout = time.Minute
		}
	}
	return n
}

// inputs returns the inputs of a task or a call: one, or none.
func (g *Generator) inputs(name string, percent int) []workflow.Binding {
	if !g.chance(percent) {
		return nil
	}
	return []workflow.Binding{{Name: name, Value: [...]any{"${previous.output}", "${vars.v1}", "so ${vars.v0}", []any{"${vars.v2}"}}[g.IntN(4)]}}
}

// mode returns how an output is read: most of them unchanged.
func (g *Generator) mode() workflow.OutputMode {
	if g.chance(80) {
		return workflow.Full
	}
	return [...]workflow.OutputMode{workflow.FirstLine, workflow.JSON}[g.IntN(2)]
}

func (g *Generator) each(id string) *workflow.Each {
	each := &workflow.Each{Items: workflow.Expr{Text: [...]string{"inputs.items", "inputs.items", "inputs.items", "previous.output"}[g.IntN(4)]}, As: "it", Parallel: g.IntN(3)}
	if g.chance(50) {
		each.Body = workflow.Graph{Nodes: []workflow.Node{{ID: id, Step: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: "${vars.it} ${index}"}}}}}
	} else {
		each.Body = g.graph(1+g.IntN(3), nil)
	}
	return each
}

// edges returns edges out of one node: plain ones to all, or by label, condition and
// else.
func (g *Generator) edges(from string, step workflow.Step, later, around []string) []workflow.Edge {
	target := func() string {
		switch k := g.IntN(10); {
		case around != nil && k < 3:
			return workflow.Again
		case len(around) > 0 && k < 5:
			return around[g.IntN(len(around))]
		case len(later) > 0 && k < 9:
			return later[g.IntN(len(later))]
		}
		return workflow.End
	}
	var edges []workflow.Edge
	add := func(e workflow.Edge) {
		e.From = from
		if !slices.Contains(edges, e) {
			edges = append(edges, e)
		}
	}
	switch style := g.IntN(3); {
	case style == 0 && decides(step):
		names := labels
		if c, ok := step.(*workflow.Choice); ok && strings.Contains(c.On.Text, "==") {
			names = []string{"yes", "no", "true"}
		}
		for _, label := range names[:1+g.IntN(3)] {
			add(workflow.Edge{To: target(), On: workflow.OnLabel, Label: label})
		}
		if g.chance(15) {
			add(workflow.Edge{To: target(), On: workflow.OnLabel, Label: names[0]})
		}
		if g.chance(70) {
			add(workflow.Edge{To: target(), On: workflow.OnElse})
		}
	case style == 1:
		for range 1 + g.IntN(3) {
			when := [...]string{`vars.v0 == "a"`, `vars.v1 == "b"`, "iteration < 3", `previous.output contains "a"`}[g.IntN(4)]
			add(workflow.Edge{To: target(), On: workflow.OnWhen, When: workflow.Expr{Text: when}})
		}
		add(workflow.Edge{To: target(), On: workflow.OnElse})
	default:
		for range g.IntN(3) {
			if to := target(); to != workflow.Again {
				add(workflow.Edge{To: to})
			}
		}
	}
	if c, choice := step.(*workflow.Choice); (!choice || c.Ask != nil) && g.chance(20) {
		if to := target(); to != workflow.Again {
			add(workflow.Edge{To: to, On: workflow.OnFailure})
		}
	}
	if _, human := step.(*workflow.Human); human && g.chance(20) {
		add(workflow.Edge{To: target(), On: workflow.OnTimeout})
	}
	return edges
}

func decides(step workflow.Step) bool {
	switch step.(type) {
	case *workflow.Task, *workflow.Human, *workflow.Choice:
		return true
	case *workflow.Call, *workflow.Combine, *workflow.Loop, *workflow.Each:
	}
	return false
}

// joins gives some nodes a quorum.
func (g *Generator) joins(graph *workflow.Graph) {
	for i := range graph.Nodes {
		c, ok := graph.Nodes[i].Step.(*workflow.Combine)
		if g.chance(15) || ok && c.Strategy == workflow.First && g.chance(50) {
			graph.Nodes[i].Join = workflow.Join{Need: 1 + g.IntN(2), Keep: g.chance(30)}
		}
	}
}
