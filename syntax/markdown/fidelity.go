package markdown

import (
	"slices"

	"github.com/hocket-dev/hocket/syntax/internal/fidelity"
	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Fidelity says how the output of Format represents a workflow: drawn or in a key of this
// notation, or carried in the front matter in a key of YAML.
func Fidelity(w *workflow.Workflow) []fidelity.Item {
	p, err := write(w)
	if err != nil {
		return []fidelity.Item{{Construct: "workflow", How: fidelity.Rejected, Note: err.Error()}}
	}
	r := &report{plan: p.plan}
	r.workflow(w)
	r.graph(&w.Body)
	return r.items
}

type report struct {
	*plan
	items []fidelity.Item
}

// The places of what is not drawn.
const (
	inHead    = "front matter of the file"
	inSection = "front matter of the section"
)

func (r *report) exact(node, construct string, there bool) {
	if there {
		r.items = append(r.items, fidelity.Item{Node: node, Construct: construct, How: fidelity.Exact})
	}
}

func (r *report) carried(node, construct string, there bool, note string) {
	if there {
		r.items = append(r.items, fidelity.Item{Node: node, Construct: construct, How: fidelity.Carried, Note: note})
	}
}

func (r *report) workflow(w *workflow.Workflow) {
	r.exact("", "name", true)
	r.exact("", "description", w.Description != "")
	r.exact("", "state", len(w.State) > 0)
	r.carried("", "inputs", len(w.Inputs) > 0, inHead)
	r.carried("", "agents", len(w.Agents) > 0, inHead)
	r.carried("", "limits", w.Limits != (workflow.Limits{}), inHead)
	r.carried("", "output", w.Output.Text != "", inHead)
}

func (r *report) graph(g *workflow.Graph) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		r.step(n)
		r.fields(n)
		if body := n.Body(); body != nil && !(len(body.Nodes) == 1 && body.Nodes[0].ID == n.ID) {
			r.graph(body)
		} else if body != nil {
			r.step(&body.Nodes[0])
			r.fields(&body.Nodes[0])
		}
	}
	for i := range g.Edges {
		r.edge(&g.Edges[i])
	}
}

// step reports the kind of a node, and everything that belongs to its kind.
func (r *report) step(n *workflow.Node) {
	switch s := n.Step.(type) {
	case *workflow.Task:
		if kind := yaml.Kind(n); kind != "task" {
			r.exact(n.ID, kind, kind == "merge")
			r.carried(n.ID, kind, kind == "land", inSection)
			return
		}
		r.exact(n.ID, "task", true)
		r.exact(n.ID, "prompt", s.Prompt.Text != "")
		r.exact(n.ID, "inputs", len(s.Inputs) > 0)
		r.exact(n.ID, "settings", len(s.Settings) > 0)
		r.carried(n.ID, "context", s.Context != workflow.AutoContext, inSection)
		r.carried(n.ID, "agent", s.Agent != "", inSection)
		r.carried(n.ID, "handoffs", s.Handoffs != nil, inSection)
	case *workflow.Human:
		r.exact(n.ID, "human", true)
		r.exact(n.ID, "options", len(s.Options) > 0)
		r.exact(n.ID, "custom", s.Custom)
		r.carried(n.ID, "required", s.Required, inSection)
	case *workflow.Call:
		r.exact(n.ID, "call", true)
		r.carried(n.ID, "inputs", len(s.Inputs) > 0, inSection)
	case *workflow.Choice:
		r.exact(n.ID, "choice", true)
		if s.Ask != nil {
			r.exact(n.ID, "ask", true)
			r.carried(n.ID, "agent", s.Ask.Agent != "", inSection)
			r.carried(n.ID, "settings", len(s.Ask.Settings) > 0, inSection)
		}
	case *workflow.Combine:
		r.carried(n.ID, "combine", true, inSection)
	case *workflow.Loop:
		framed := slices.ContainsFunc(r.drawing.Frames, func(f flow.Frame) bool { return f.ID == n.ID })
		r.exact(n.ID, "loop", !framed)
		r.carried(n.ID, "loop", framed, inSection)
	case *workflow.Each:
		r.carried(n.ID, "for_each", true, inSection)
	}
}

// fields reports the keys that every node may have.
func (r *report) fields(n *workflow.Node) {
	o := n.Output
	r.exact(n.ID, "timeout", n.Timeout != 0)
	r.exact(n.ID, "retry", n.Retry != workflow.Retry{})
	r.exact(n.ID, "output", o.Var != "" && o.Mode == workflow.Full && o.Schema == nil)
	r.carried(n.ID, "output", o.Mode != workflow.Full || o.Schema != nil, inSection)
	r.carried(n.ID, "on_error", n.OnError != workflow.Stop, inSection)
	r.carried(n.ID, "join", n.Join != workflow.Join{}, inSection)
	r.carried(n.ID, "parallel_group", n.Group != "", inSection)
	r.carried(n.ID, "effect", n.Once, inSection)
	r.carried(n.ID, "labels", len(n.Labels) > 0, inSection)
	r.carried(n.ID, "workspace", n.Workspace != workflow.WorkspaceAround && yaml.Kind(n) != "land", inSection)
}

func (r *report) edge(e *workflow.Edge) {
	construct := "edge"
	if e.On != workflow.OnSuccess {
		construct = string(e.On) + " edge"
	}
	if e.On == workflow.OnFailure && e.To == r.handler {
		r.exact(e.From, construct, true)
		return
	}
	r.exact(e.From, construct, !r.plan.carried[e.From])
	r.carried(e.From, construct, r.plan.carried[e.From], inSection)
}
