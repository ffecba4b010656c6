package xml

import (
	"strings"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// steps adds the steps of a graph to an element.
func (out *writer) steps(e *element, g *workflow.Graph) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		step := e.add(out.step(g, n))
		if body := n.Body(); body != nil && !yaml.IsRepeat(n) {
			out.steps(step, body)
		}
	}
}

// step returns a step without the steps in it.
func (out *writer) step(g *workflow.Graph, n *workflow.Node) *element {
	e, inner := &element{}, n
	each, isEach := n.Step.(*workflow.Each)
	repeat := isEach && yaml.IsRepeat(n)
	if repeat {
		inner = &each.Body.Nodes[0]
	}
	out.open(e, place{g, n.ID}, inner)
	e.word("title", n.Title)
	if isEach {
		items := "items"
		if repeat {
			items = "for_each"
		}
		e.always(items, each.Items.Text)
		e.word("as", each.As)
		e.number("max_parallel", each.Parallel)
	}
	out.words(e, n, inner)
	out.content(e, inner)
	out.output(e, n.Output.Var, inner.Output)
	retry(e, inner.Retry)
	if len(inner.Labels) > 0 {
		labels := make(map[string]any, len(inner.Labels))
		for k, v := range inner.Labels {
			labels[k] = v
		}
		e.add(objectElement("labels", labels))
	}
	out.leave(e, place{g, n.ID})
	return e
}

// open sets the name of the element, its id and its dependencies.
func (out *writer) open(e *element, at place, n *workflow.Node) {
	switch s := n.Step.(type) {
	case *workflow.Task:
		if e.name = yaml.Kind(n); e.name == "task" {
			e.name = "agent"
			e.word("name", s.Agent)
		}
	case *workflow.Call:
		e.name = "call"
		e.always("workflow", s.Workflow)
	case *workflow.Human, *workflow.Choice, *workflow.Combine, *workflow.Loop, *workflow.Each:
		e.name = n.Kind()
	}
	e.always("id", at.id)
	if depends := out.depends[at]; len(depends) > 0 {
		e.attr("depends", strings.Join(depends, ","))
	}
}

// words writes the attributes that most kinds of steps may have.
func (out *writer) words(e *element, n, inner *workflow.Node) {
	switch s := inner.Step.(type) {
	case *workflow.Human:
		e.flag("custom", s.Custom)
		e.flag("required", s.Required)
	case *workflow.Choice:
		e.word("on", s.On.Text)
		if s.Ask != nil {
			e.word("agent", s.Ask.Agent)
		}
	case *workflow.Combine:
		e.attr("strategy", string(s.Strategy))
	case *workflow.Loop:
		e.number("max", s.Max)
	case *workflow.Task:
		switch yaml.Kind(inner) {
		case "task":
			e.word("context", string(s.Context))
		case "land":
			e.attr("mode", s.Settings["as"].(string))
		}
	case *workflow.Call, *workflow.Each:
	}
	e.word("parallel_group", n.Group)
	switch {
	case n.Join.Need == 1:
		e.attr("join", "any")
	case n.Join.Need > 1:
		e.number("join", n.Join.Need)
	}
	if n.Join.Keep {
		e.attr("rest", "keep")
	}
	if inner.Timeout != 0 {
		e.attr("timeout", workflow.FormatDuration(inner.Timeout))
	}
	usual := out.onError
	if n.Kind() == "loop" {
		usual = workflow.Stop
	}
	if n.OnError != usual {
		word := string(n.OnError)
		if n.OnError == workflow.Stop {
			word = "stop"
		}
		e.attr("on_error", word)
	}
	if inner.Once {
		e.attr("effect", "once")
	}
	if yaml.Kind(inner) != "land" {
		e.word("workspace", string(inner.Workspace))
	}
}

func (e *element) flag(name string, set bool) {
	if set {
		e.attr(name, "true")
	}
}

// content writes what a step works with.
func (out *writer) content(e *element, n *workflow.Node) {
	switch s := n.Step.(type) {
	case *workflow.Task:
		switch yaml.Kind(n) {
		case "merge":
			out.merge(e, s)
		case "land":
			out.land(e, s)
		default:
			out.task(e, s)
		}
	case *workflow.Call:
		out.bindings(e, s.Inputs)
	case *workflow.Human:
		if s.Question.Text != "" {
			e.add(textElement("question", out.template(s.Question.Text)))
		}
		for _, o := range s.Options {
			option := e.add(&element{name: "option"})
			option.always("value", o.Value)
			option.word("label", o.Label)
			option.word("description", o.Description)
		}
	case *workflow.Combine:
		for _, in := range s.Inputs {
			e.add(textElement("input", in.Text))
		}
		if s.Separator != "" {
			e.add(textElement("separator", s.Separator))
		}
	case *workflow.Choice:
		if s.Ask != nil {
			e.add(textElement("ask", out.template(s.Ask.Prompt.Text)))
			out.config(e, s.Ask)
		}
	case *workflow.Loop, *workflow.Each:
	}
}

// task writes what an agent works with.
func (out *writer) task(e *element, t *workflow.Task) {
	if t.Prompt.Text != "" {
		e.add(textElement("task", out.template(t.Prompt.Text)))
	}
	out.bindings(e, t.Inputs)
	out.config(e, t)
	if t.Handoffs != nil {
		e.add(objectElement("handoffs", yaml.HandoffKeys(t.Handoffs)))
	}
}

func (out *writer) config(e *element, t *workflow.Task) {
	if len(t.Settings) > 0 {
		e.add(objectElement("config", out.templates(t.Settings).(map[string]any)))
	}
}

// bindings writes the inputs of a step. A single input needs no name if it is called input.
func (out *writer) bindings(e *element, bs []workflow.Binding) {
	for _, b := range bs {
		in := e.add(&element{name: "input", full: true})
		switch {
		case b.Name == "input" && len(bs) == 1:
		case fitsAttr(b.Name):
			in.attr("name", b.Name)
		default:
			name := in.add(&element{name: "name", full: true, text: asJSON(b.Name)})
			name.attr("type", "json")
			in.add(valueElement("value", out.templates(b.Value)))
			continue
		}
		in.value(out.templates(b.Value))
	}
}

// templates writes every text in a value as a template.
func (out *writer) templates(v any) any {
	switch v := v.(type) {
	case string:
		return out.template(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = out.templates(e)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for k, e := range v {
			object[k] = out.templates(e)
		}
		return object
	}
	return v
}

// output writes an output; if that is only a variable, as an attribute.
func (out *writer) output(e *element, name string, o workflow.Output) {
	if name == "" && o.Mode == workflow.Full && o.Schema == nil {
		return
	}
	if o.Mode == workflow.Full && o.Schema == nil && fitsAttr(name) {
		e.attr("output", name)
		return
	}
	c := e.add(&element{name: "output"})
	c.word("var", name)
	mode := string(o.Mode)
	if o.Mode == workflow.Full && o.Schema != nil {
		mode = "full"
	}
	c.word("mode", mode)
	switch o.Mode {
	case workflow.JSONPath:
		c.word("path", o.Pattern)
	case workflow.Regex:
		c.word("pattern", o.Pattern)
	case workflow.Full, workflow.JSON, workflow.FirstLine:
	}
	if o.Schema != nil {
		c.add(&element{name: "schema", text: asJSON(o.Schema), full: true})
	}
}

func retry(e *element, r workflow.Retry) {
	switch r {
	case workflow.Retry{}:
	case workflow.Retry{Attempts: r.Attempts}:
		e.number("retry", r.Attempts)
	default:
		c := e.add(&element{name: "retry"})
		c.number("attempts", r.Attempts)
		c.word("backoff", string(r.Backoff))
		if r.Delay != 0 {
			c.attr("delay", workflow.FormatDuration(r.Delay))
		}
		if r.MaxDelay != 0 {
			c.attr("max_delay", workflow.FormatDuration(r.MaxDelay))
		}
	}
}

// wayNames are the elements for the kinds of edges.
var wayNames = map[workflow.On]string{
	workflow.OnSuccess: "next", workflow.OnLabel: "route", workflow.OnWhen: "route",
	workflow.OnElse: "else", workflow.OnFailure: "error", workflow.OnTimeout: "on_timeout",
}

// leave writes the edges that are not dependencies, those that are taken together in one element.
func (out *writer) leave(e *element, at place) {
	ways := out.ways[at]
	for i := 0; i < len(ways); {
		first, to := ways[i], []string{}
		for ; i < len(ways) && ways[i].On == first.On && ways[i].Label == first.Label && ways[i].When.Text == first.When.Text; i++ {
			to = append(to, out.name(ways[i].To))
		}
		c := e.add(&element{name: wayNames[first.On]})
		switch first.On {
		case workflow.OnLabel:
			c.always("label", first.Label)
		case workflow.OnWhen:
			c.always("when", first.When.Text)
		case workflow.OnSuccess, workflow.OnElse, workflow.OnFailure, workflow.OnTimeout:
		}
		c.attr("to", strings.Join(to, ","))
	}
}

// name returns the word for the target of an edge.
func (out *writer) name(id string) string {
	for _, mark := range []struct{ id, word string }{{workflow.End, "end"}, {workflow.Again, "again"}} {
		if id == mark.id && !out.ids[mark.word] {
			return mark.word
		}
	}
	return id
}
