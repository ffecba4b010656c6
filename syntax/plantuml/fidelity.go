package plantuml

import (
	"github.com/hocket-dev/hocket/syntax/internal/fidelity"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Fidelity says how the output of Format represents a workflow: what is drawn is exact, what is
// in a note is carried.
func Fidelity(w *workflow.Workflow) []fidelity.Item {
	_, p, err := format(w)
	if err != nil {
		return []fidelity.Item{{Construct: "workflow", How: fidelity.Rejected, Note: err.Error()}}
	}
	f := &reporter{plan: p}
	f.workflow()
	edges := edgesOf(&w.Body)
	f.graph(&w.Body, nil, edges)
	return f.items
}

type reporter struct {
	*plan
	items []fidelity.Item
}

const inNote = "in a note"

func (f *reporter) add(node, construct string, drawn bool) {
	item := fidelity.Item{Node: node, Construct: construct, How: fidelity.Exact}
	if !drawn {
		item.How, item.Note = fidelity.Carried, inNote
	}
	f.items = append(f.items, item)
}

// carries reports something that is always carried, if it exists.
func (f *reporter) carries(node, construct string, there bool) {
	if there {
		f.add(node, construct, false)
	}
}

func (f *reporter) workflow() {
	w := f.w
	f.add("", "workflow", isSafeName(w.Name))
	f.carries("", "description", w.Description != "")
	f.carries("", "inputs", len(w.Inputs) > 0)
	f.carries("", "state", len(w.State) > 0)
	f.carries("", "limits", w.Limits != workflow.Limits{})
	f.carries("", "output", w.Output.Text != "")
	if len(w.Agents) > 0 {
		out := &writer{plan: f.plan}
		f.add("", "agents", out.findLanes())
	}
}

func (f *reporter) graph(g *workflow.Graph, owner *workflow.Node, edges map[string][]workflow.Edge) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		key := keyIn(owner, n.ID)
		f.node(n)
		ways, other := waysOf(edges[key])
		if len(ways) > 0 {
			f.add(n.ID, "edges", !f.carried[key])
		}
		f.carries(n.ID, "error edges", len(other) > 0)
		if body := n.Body(); body != nil && !yaml.IsRepeat(n) {
			f.graph(body, n, edges)
		}
	}
}

// node reports what a node is and what it says.
func (f *reporter) node(n *workflow.Node) {
	work := n
	if yaml.IsRepeat(n) {
		f.add(n.ID, "for_each", false)
		work = &n.Body().Nodes[0]
	}
	drawn := true
	switch work.Step.(type) {
	case *workflow.Task:
		drawn = yaml.Kind(work) == "task"
	case *workflow.Choice, *workflow.Loop:
	case *workflow.Human, *workflow.Call, *workflow.Combine, *workflow.Each:
		drawn = false // a note says what kind of step it is
	}
	f.add(n.ID, yaml.Kind(work), drawn)
	if t, ok := work.Step.(*workflow.Task); ok && drawn {
		f.carries(n.ID, "prompt", t.Prompt.Text != "" && t.Prompt.Text != (&writer{plan: f.plan}).text(n))
		f.carries(n.ID, "inputs", len(t.Inputs) > 0)
		f.carries(n.ID, "config", len(t.Settings) > 0)
		f.carries(n.ID, "handoffs", t.Handoffs != nil)
	}
	f.carries(n.ID, "output", work.Output.Var != "" || work.Output.Mode != workflow.Full || work.Output.Schema != nil || n.Output.Var != "")
	f.carries(n.ID, "retry", work.Retry.Attempts > 1)
	f.carries(n.ID, "timeout", work.Timeout != 0)
	f.carries(n.ID, "on_error", n.OnError != workflow.Stop)
	f.carries(n.ID, "join", n.Join != workflow.Join{})
	f.carries(n.ID, "parallel_group", n.Group != "")
	f.carries(n.ID, "effect", work.Once)
	f.carries(n.ID, "labels", len(work.Labels) > 0)
	f.carries(n.ID, "workspace", work.Workspace != workflow.WorkspaceAround && yaml.Kind(work) != "land")
}
