package yaml

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Format writes a model as a careful person would: steps in their order if that is enough,
// `needs` if all edges are plain, otherwise `next` and `route`; long texts as blocks; no
// defaults. It parses the result again to make sure that it has the digest of the model.
func Format(w *workflow.Workflow) ([]byte, error) {
	digest, written := workflow.Digest(w), Mixed(w)
	for _, form := range []struct {
		fold    bool
		handler string
	}{{true, commonHandler(&w.Body)}, {true, ""}, {false, ""}} {
		text := layOut(write(written, newPlan(written, form.fold, form.handler)))
		if again, found := Parse("", text); !found.Errors() && workflow.Digest(again) == digest {
			return text, nil
		}
	}
	return nil, errors.New("yaml: the workflow " + strconv.Quote(w.Name) + " cannot be written in YAML")
}

// commonHandler returns the node to which most error edges lead, or "".
func commonHandler(g *workflow.Graph) string {
	count, best := map[string]int{}, ""
	allEdges(g, func(e *workflow.Edge) {
		if e.On == workflow.OnFailure {
			count[e.To]++
		}
	})
	for i := range g.Nodes {
		if id := g.Nodes[i].ID; count[id] > 1 && count[id] > count[best] {
			best = id
		}
	}
	return best
}

// InDialect copies a workflow with its texts in a dialect: `{{` is plain text in the model, but a
// reference in YAML.
func InDialect(w *workflow.Workflow, d expr.Dialect) *workflow.Workflow {
	written := *w
	written.Output.Text = dialect(d).text(w.Output.Text)
	written.Body = dialect(d).graph(&w.Body)
	return &written
}

type dialect expr.Dialect

func (d dialect) graph(g *workflow.Graph) workflow.Graph {
	c := workflow.Graph{Nodes: slices.Clone(g.Nodes), Edges: g.Edges}
	for i := range c.Nodes {
		switch s := c.Nodes[i].Step.(type) {
		case *workflow.Task:
			c.Nodes[i].Step = d.task(s)
		case *workflow.Human:
			human := *s
			human.Question.Text = d.text(s.Question.Text)
			c.Nodes[i].Step = &human
		case *workflow.Call:
			c.Nodes[i].Step = &workflow.Call{Workflow: s.Workflow, Inputs: d.bindings(s.Inputs)}
		case *workflow.Loop:
			c.Nodes[i].Step = &workflow.Loop{Max: s.Max, Body: d.graph(&s.Body)}
		case *workflow.Each:
			c.Nodes[i].Step = &workflow.Each{Items: s.Items, As: s.As, Parallel: s.Parallel, Body: d.graph(&s.Body)}
		case *workflow.Choice:
			if s.Ask != nil {
				c.Nodes[i].Step = &workflow.Choice{On: s.On, Ask: d.task(s.Ask)}
			}
		case *workflow.Combine:
		}
	}
	return c
}

func (d dialect) task(t *workflow.Task) *workflow.Task {
	inSettings := d
	if inSettings == dialect(expr.PlantUML) { // a $NAME in a setting belongs to the shell
		inSettings = dialect(expr.Mixed)
	}
	return &workflow.Task{
		Agent: t.Agent, Prompt: workflow.Template{Text: d.text(t.Prompt.Text)}, Inputs: d.bindings(t.Inputs),
		Context: t.Context, Settings: inSettings.members(t.Settings), Handoffs: t.Handoffs, Branches: t.Branches,
	}
}

func (d dialect) bindings(bs []workflow.Binding) []workflow.Binding {
	c := slices.Clone(bs)
	for i := range c {
		c[i].Value = d.value(c[i].Value)
	}
	return c
}

func (d dialect) members(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	c := make(map[string]any, len(m))
	for k, v := range m {
		c[k] = d.value(v)
	}
	return c
}

func (d dialect) value(v any) any {
	switch v := v.(type) {
	case string:
		return d.text(v)
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = d.value(e)
		}
		return c
	case map[string]any:
		return d.members(v)
	}
	return v
}

func (d dialect) text(text string) string {
	t, err := expr.ParseTemplate(text, expr.Canonical)
	if err != nil {
		return expr.AsWritten(text)
	}
	return t.Format(expr.Dialect(d))
}

// write writes the file that a plan describes.
func write(w *workflow.Workflow, plan *plan) []byte {
	out := &writer{plan: plan}
	out.always("name", w.Name)
	out.head(w)
	if plan.mode != sequential {
		out.field("execution", string(plan.mode))
	}
	if plan.onError != plan.mode.onError() {
		out.field("on_error", onErrorWord(plan.onError))
	}
	if plan.handler != nil {
		out.field("error", strictyaml.Quote(plan.handler.name, false))
	}
	if len(plan.body.steps) > 0 {
		out.blank()
		out.nested("steps", func() { out.steps(plan.body) })
	}
	return []byte(out.b.String())
}

// head writes the head of a workflow, in any mode.
func (out *writer) head(w *workflow.Workflow) {
	out.text("description", w.Description)
	if len(w.Inputs) > 0 {
		out.nested("inputs", func() { out.params(w.Inputs) })
	}
	if len(w.State) > 0 {
		out.nested("state", func() { out.members(w.State) })
	}
	if len(w.Agents) > 0 {
		out.nested("agents", func() { out.lanes(w.Agents) })
	}
	out.limits(w.Limits)
	out.text("output", w.Output.Text)
}

// writer writes the parts of a workflow.
type writer struct {
	printer
	plan *plan
	flat bool // the drawing shows the kind of a step, so its keys need no key around them
}

func onErrorWord(o workflow.OnError) string { return orElse(string(o), "stop") }

func (out *writer) params(params []workflow.Param) {
	for _, p := range params {
		kind := orElse(string(p.Type), "any")
		if p.Required && !p.HasDefault && p.Description == "" {
			out.field(p.Name, kind)
			continue
		}
		out.nested(p.Name, func() {
			out.field("type", kind)
			out.text("description", p.Description)
			if p.HasDefault {
				out.value("default", p.Default)
			}
			if p.Required == p.HasDefault {
				out.field("required", strconv.FormatBool(p.Required))
			}
		})
	}
}

func (out *writer) lanes(lanes []workflow.AgentRef) {
	for _, a := range lanes {
		out.entry(func() {
			if a == (workflow.AgentRef{Name: a.Name, Pos: a.Pos}) {
				out.line(out.quote(a.Name, false))
				return
			}
			out.always("name", a.Name)
			out.text("role", a.Role)
			out.text("color", a.Color)
			out.text("title", a.Title)
		})
	}
}

func (out *writer) limits(l workflow.Limits) {
	if l == (workflow.Limits{}) {
		return
	}
	out.nested("limits", func() {
		out.number("max_steps", int64(l.Steps))
		out.number("max_parallel", int64(l.Parallel))
		out.number("max_depth", int64(l.Depth))
		out.duration("max_runtime", l.Runtime)
		if l.CostUSD != 0 {
			out.field("max_cost_usd", strconv.FormatFloat(l.CostUSD, 'f', -1, 64))
		}
		out.number("max_tokens", l.Tokens)
		out.number("replans", int64(l.Replans))
	})
}

func (out *writer) number(key string, n int64) {
	if n != 0 {
		out.field(key, strconv.FormatInt(n, 10))
	}
}

// duration writes 10m rather than 10m0s.
func (out *writer) duration(key string, d time.Duration) {
	if d != 0 {
		out.field(key, workflow.FormatDuration(d))
	}
}

func (out *writer) labels(labels map[string]string) {
	if len(labels) == 0 {
		return
	}
	out.nested("labels", func() {
		for _, k := range sorted.Keys(labels) {
			out.always(k, labels[k])
		}
	})
}
