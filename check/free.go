package check

import (
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// freeInputs are the inputs that a workflow refers to, in the order of their
// first use. One that has a `??` default wherever it is used is left out: the
// workflow can do without it.
func freeInputs(w *workflow.Workflow) []string {
	f := &freeNames{seen: make(map[string]bool)}
	f.graph(&w.Body)
	f.template(w.Output.Text)
	return f.names
}

type freeNames struct {
	seen  map[string]bool
	names []string
}

func (f *freeNames) graph(g *workflow.Graph) {
	for i := range g.Nodes {
		f.step(g.Nodes[i].Step)
		if body := g.Nodes[i].Body(); body != nil {
			f.graph(body)
		}
	}
	for i := range g.Edges {
		f.expr(g.Edges[i].When)
	}
}

func (f *freeNames) step(s workflow.Step) {
	switch s := s.(type) {
	case *workflow.Task:
		f.task(s)
	case *workflow.Human:
		f.template(s.Question.Text)
	case *workflow.Call:
		f.bindings(s.Inputs)
	case *workflow.Choice:
		f.expr(s.On)
		if s.Ask != nil {
			f.task(s.Ask)
		}
	case *workflow.Combine:
		for _, in := range s.Inputs {
			f.expr(in)
		}
	case *workflow.Each:
		f.expr(s.Items)
	case *workflow.Loop:
	}
}

func (f *freeNames) task(t *workflow.Task) {
	f.template(t.Prompt.Text)
	f.bindings(t.Inputs)
	for _, key := range slices.Sorted(maps.Keys(t.Settings)) {
		f.value(t.Settings[key])
	}
}

func (f *freeNames) bindings(list []workflow.Binding) {
	for _, b := range list {
		f.value(b.Value)
	}
}

func (f *freeNames) template(text string) {
	if t, err := expr.ParseTemplate(text, expr.Canonical); err == nil {
		f.add(t.Refs())
	}
}

func (f *freeNames) value(v any) {
	if x, err := expr.ParseValue(v, expr.Canonical); err == nil {
		f.add(x.Refs())
	}
}

func (f *freeNames) expr(e workflow.Expr) {
	if e.Text == "" {
		return
	}
	if x, err := expr.ParseExpr(e.Text, expr.Canonical); err == nil {
		f.add(x.Refs())
	}
}

func (f *freeNames) add(refs []*expr.Ref) {
	for _, ref := range refs {
		if ref.Kind == expr.Inputs && ref.Name != "" && !ref.Guarded() && !f.seen[ref.Name] {
			f.seen[ref.Name] = true
			f.names = append(f.names, ref.Name)
		}
	}
}
