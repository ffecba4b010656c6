package yaml

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

func (out *writer) steps(b *block) {
	for _, s := range b.steps {
		out.entry(func() { out.step(s) })
	}
}

func (out *writer) step(s *step) {
	n, inner := &s.node, &s.node
	each, isEach := n.Step.(*workflow.Each)
	if isEach && s.body == nil && len(each.Body.Nodes) == 1 {
		inner = &each.Body.Nodes[0]
	}
	if s.given {
		out.always("id", n.ID)
	}
	out.text("title", n.Title)
	if isEach {
		out.always("for_each", each.Items.Text)
		out.text("as", each.As)
		out.number("max_parallel", int64(each.Parallel))
	}
	out.targets("needs", s.needs)
	out.text("when", s.when.Text)
	if s.body != nil { // before the steps, which it is about
		out.workspace(inner)
	}
	out.kind(s, inner)
	out.output(n.Output.Var, inner.Output)
	out.text("parallel_group", n.Group)
	out.join(n.Join)
	out.retry(inner.Retry)
	out.duration("timeout", inner.Timeout)
	out.onError(s)
	if inner.Once {
		out.field("effect", "once")
	}
	if s.body == nil {
		out.workspace(inner)
	}
	out.labels(inner.Labels)
	out.targets("next", s.next)
	out.ways(s.ways)
}

// kind writes what a step does.
func (out *writer) kind(s *step, n *workflow.Node) {
	switch step := n.Step.(type) {
	case *workflow.Task:
		switch Kind(n) {
		case "merge":
			out.merge(step)
		case "land":
			out.land(step)
		default:
			out.task(step, step.Agent == "" && !out.flat)
		}
	case *workflow.Call:
		if !out.flat || step.Workflow != "" {
			out.always("workflow", step.Workflow)
		}
		out.bindings(step.Inputs)
	case *workflow.Human:
		out.human(step)
	case *workflow.Combine:
		out.group("combine", func() { out.combine(step) })
	case *workflow.Choice:
		if step.On.Text == "" && step.Ask == nil && !out.flat {
			out.field("choice", "true")
			return
		}
		out.group("choice", func() { out.decision(step) })
	case *workflow.Loop:
		out.loop(step, s)
	case *workflow.Each:
		if s.body != nil {
			out.nested("steps", func() { out.steps(s.body) })
		}
	}
}

// task writes the keys of a task. prompts says whether a prompt is written even if it is empty.
func (out *writer) task(t *workflow.Task, prompts bool) {
	out.text("agent", t.Agent)
	settings, template := cutTemplate(t)
	switch {
	case template != "":
		out.always("template", template)
	case prompts || t.Prompt.Text != "":
		out.always("prompt", t.Prompt.Text)
	}
	out.bindings(t.Inputs)
	out.text("context", string(t.Context))
	out.config(settings)
	out.handoffs(t.Handoffs)
}

// cutTemplate takes the name of a prompt template out of the settings, if it can be written under
// its own key: next to a prompt it cannot.
func cutTemplate(t *workflow.Task) (settings map[string]any, template string) {
	template, _ = t.Settings[Template].(string)
	if !IsTemplateName(template) || t.Prompt.Text != "" {
		return t.Settings, ""
	}
	settings = maps.Clone(t.Settings)
	delete(settings, Template)
	return settings, template
}

// group writes what a step does below its key, unless the drawing shows it.
func (out *writer) group(key string, inner func()) {
	if out.flat {
		inner()
		return
	}
	out.nested(key, inner)
}

func (out *writer) loop(l *workflow.Loop, s *step) {
	switch {
	case s.body != nil:
		out.nested("loop", func() {
			out.number("max", int64(l.Max))
			out.text("until", s.until.Text)
			out.text("while", s.while.Text)
			out.nested("steps", func() { out.steps(s.body) })
		})
	case l.Max != 0:
		out.nested("loop", func() { out.number("max", int64(l.Max)) })
	default:
		out.field("loop", "true")
	}
}

func (out *writer) decision(c *workflow.Choice) {
	if c.On.Text != "" {
		out.on(c.On.Text)
	}
	if ask := c.Ask; ask != nil {
		if !out.flat || ask.Prompt.Text != "" || ask.Agent == "" && len(ask.Settings) == 0 {
			out.always("ask", ask.Prompt.Text)
		}
		out.text("agent", ask.Agent)
		out.config(ask.Settings)
	}
}

func (out *writer) config(settings map[string]any) {
	if len(settings) > 0 {
		out.nested("config", func() { out.members(settings) })
	}
}

func (out *writer) handoffs(h *workflow.Handoffs) {
	if h != nil {
		out.nested("handoffs", func() { out.members(HandoffKeys(h)) })
	}
}

// HandoffKeys returns what a task may hand off as the value of its key.
func HandoffKeys(h *workflow.Handoffs) map[string]any {
	to := make([]any, len(h.To))
	for i, name := range h.To {
		to[i] = name
	}
	keys := map[string]any{"to": to}
	if h.Max != 0 {
		keys["max"] = json.Number(strconv.Itoa(h.Max))
	}
	if h.Depth != 0 {
		keys["depth"] = json.Number(strconv.Itoa(h.Depth))
	}
	if h.Detach {
		keys["detach"] = true
	}
	return keys
}

func (out *writer) bindings(bs []workflow.Binding) {
	if len(bs) == 0 {
		return
	}
	out.nested("inputs", func() {
		for _, b := range bs {
			out.value(b.Name, b.Value)
		}
	})
}

func (out *writer) human(h *workflow.Human) {
	if len(h.Options) == 0 && !h.Custom && !h.Required && !out.flat {
		out.always("human", h.Question.Text)
		return
	}
	out.group("human", func() {
		if !out.flat || h.Question.Text != "" {
			out.always("question", h.Question.Text)
		}
		if len(h.Options) > 0 {
			out.nested("options", func() { out.options(h.Options) })
		}
		if h.Custom {
			out.field("custom", "true")
		}
		if h.Required {
			out.field("required", "true")
		}
	})
}

func (out *writer) options(options []workflow.Option) {
	for _, o := range options {
		out.entry(func() {
			if o.Label == "" && o.Description == "" {
				out.item(o.Value)
				return
			}
			out.always("value", o.Value)
			out.text("label", o.Label)
			out.text("description", o.Description)
		})
	}
}

func (out *writer) combine(c *workflow.Combine) {
	out.field("strategy", string(c.Strategy))
	if len(c.Inputs) > 0 {
		refs := make([]any, len(c.Inputs))
		for i, in := range c.Inputs {
			refs[i] = in.Text
		}
		out.value("inputs", refs)
	}
	out.text("separator", c.Separator)
}

// output writes an output; if that is only a variable, in the short form.
func (out *writer) output(name string, o workflow.Output) {
	o.Var = name
	if !hasOutput(o) {
		return
	}
	if o.Mode == workflow.Full && o.Pattern == "" && o.Schema == nil {
		out.always("output", name)
		return
	}
	out.nested("output", func() {
		out.text("var", o.Var)
		if o.Mode != workflow.Full || o.Schema != nil {
			out.field("mode", orElse(string(o.Mode), "full"))
		}
		switch o.Mode {
		case workflow.JSONPath:
			out.text("path", o.Pattern)
		case workflow.Regex:
			out.text("pattern", o.Pattern)
		case workflow.Full, workflow.JSON, workflow.FirstLine:
		}
		if o.Schema != nil {
			out.value("schema", o.Schema)
		}
	})
}

func (out *writer) join(j workflow.Join) {
	switch {
	case j.Need == 1:
		out.field("join", "any")
	case j.Need > 1:
		out.field("join", strconv.Itoa(j.Need))
	}
	if j.Keep {
		out.field("rest", "keep")
	}
}

func (out *writer) retry(r workflow.Retry) {
	switch {
	case r == workflow.Retry{}:
	case r == workflow.Retry{Attempts: r.Attempts}:
		out.number("retry", int64(r.Attempts))
	default:
		out.nested("retry", func() {
			out.number("attempts", int64(r.Attempts))
			out.text("backoff", string(r.Backoff))
			out.duration("delay", r.Delay)
			out.duration("max_delay", r.MaxDelay)
		})
	}
}

// onError writes on_error if it differs from the default.
func (out *writer) onError(s *step) {
	usual := out.plan.onError
	if s.isLoop() {
		usual = workflow.Stop
	}
	if s.node.OnError != usual {
		out.field("on_error", onErrorWord(s.node.OnError))
	}
}

// targets writes one name as it is, and none or several as a list.
func (out *writer) targets(key string, names *[]target) {
	if names != nil {
		out.field(key, out.targetList(*names))
	}
}

func (out *writer) targetList(names []target) string {
	if len(names) == 1 {
		return out.quote(names[0].name, false)
	}
	quoted := make([]string, len(names))
	for i, t := range names {
		quoted[i] = out.quote(t.name, true)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// wayKeys are the keys of ways that need no entry in a route.
var wayKeys = map[workflow.On]string{workflow.OnElse: "else", workflow.OnFailure: "error", workflow.OnTimeout: "on_timeout"}

// ways writes labels as a map, conditions as a list, and the other ways under their own keys. If
// they are in another order, all of them go into the list.
func (out *writer) ways(ways []way) {
	var route, rest []way
	labels, listed := map[string]bool{}, false
	for i, w := range ways {
		if wayKeys[w.on] != "" && inKeyOrder(ways[i:]) {
			rest = append(rest, w)
			continue
		}
		listed = listed || w.on != workflow.OnLabel || labels[w.label] || len(w.label) > 200
		labels[w.label] = true
		route = append(route, w)
	}
	switch {
	case len(route) == 0:
	case listed:
		out.nested("route", func() { out.entries(route) })
	default:
		out.nested("route", func() {
			for _, w := range route {
				out.field(w.label, out.targetList(w.to))
			}
		})
	}
	for _, w := range rest {
		out.field(wayKeys[w.on], out.targetList(w.to))
	}
}

// inKeyOrder reports whether ways can be written under their own keys: each once, in the order of
// the parser.
func inKeyOrder(ways []way) bool {
	last := 0
	for _, w := range ways {
		r := Rank(w.on)
		if wayKeys[w.on] == "" || r <= last {
			return false
		}
		last = r
	}
	return true
}

func (out *writer) entries(ways []way) {
	for _, w := range ways {
		out.entry(func() {
			switch w.on {
			case workflow.OnLabel:
				out.always("label", w.label)
			case workflow.OnWhen:
				out.always("when", w.when.Text)
			case workflow.OnSuccess:
				out.on("success")
			case workflow.OnElse, workflow.OnFailure, workflow.OnTimeout:
				out.on(string(w.on))
			}
			out.field("to", out.targetList(w.to))
		})
	}
}

// on writes the key `on`, which needs no quotes here. As a label it gets quotes, because YAML 1.1
// reads it as true.
func (out *writer) on(text string) { out.line("on: " + out.quote(text, false)) }
