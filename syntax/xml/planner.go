package xml

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Planners of other programs give an agent a list of things to do, one after the other. It is
// still one task: the list becomes part of its prompt.

// planParts are the elements around such a list.
var planParts = func() map[string]*shape {
	entries := map[string]*shape{}
	list := &shape{parts: entries}
	entry := &shape{words: []string{"id", "name", "tool", "input", "output"}, text: true, many: true}
	entries["node"], entries["step"] = entry, entry
	entries["forEach"] = &shape{words: []string{"items"}, parts: entries, many: true}
	entries["watch"] = &shape{words: []string{"event", "loop", "description"}, parts: map[string]*shape{"trigger": list}, many: true}
	return map[string]*shape{"nodes": list, "steps": list, "workflow": list}
}()

// readPlan puts the list of a planner into a task. If the whole list is one forEach over a
// variable, the task is repeated.
func (p *parts) readPlan(read *yaml.Step, t *workflow.Task) {
	own := p.handover(p.place)
	plan := &plan{reader: p.reader}
	for _, e := range p.plan {
		if sole := soleForEach(e); sole.Exists() && read.Each == nil && own.items.Text != "" {
			read.Each = &workflow.Each{Items: own.items}
			e = sole
		}
		plan.list(e, "")
	}
	if t.Prompt.Text != "" && plan.text.Len() > 0 {
		t.Prompt.Text += "\n\n"
	}
	t.Prompt = workflow.Template{Text: t.Prompt.Text + strings.TrimSuffix(plan.text.String(), "\n"), Src: workflow.Source{Pos: p.place.Pos()}}
	for _, b := range own.inputs {
		if !slices.ContainsFunc(t.Inputs, func(other workflow.Binding) bool { return other.Name == b.Name }) {
			t.Inputs = append(t.Inputs, b)
		}
	}
	if out := &read.Node.Output; out.Var == "" && out.Mode == workflow.Full && out.Schema == nil {
		*out = own.output
	}
	if len(plan.watched) > 0 {
		if t.Settings == nil {
			t.Settings = map[string]any{}
		}
		t.Settings["watch"] = plan.watched
	}
}

// soleForEach returns the forEach that is the only entry of a list.
func soleForEach(list xmltext.Element) xmltext.Element {
	if sole := list.First(); sole.Exists() && sole.Name() == "forEach" && !sole.Next().Exists() {
		return sole
	}
	return xmltext.Element{}
}

// variable returns the name of a variable that a planner wrote, with or without the marks of a
// reference, and its path. It returns "" for other text.
func variable(text string) string {
	text = strings.TrimSpace(text)
	for _, marks := range [][2]string{{"{{", "}}"}, {"${", "}"}, {"$", ""}} {
		if inner, ok := strings.CutPrefix(text, marks[0]); ok && strings.HasSuffix(inner, marks[1]) {
			text = strings.TrimSpace(strings.TrimSuffix(inner, marks[1]))
			break
		}
	}
	for name := range strings.SplitSeq(text, ".") {
		if !expr.IsName(name) {
			return ""
		}
	}
	return text
}

// plain returns a text without the marks of a reference, because its value is an input of the
// task.
func plain(text string) string { return cmp.Or(variable(text), text) }

// plan writes the list of a planner as text.
type plan struct {
	*reader
	text    strings.Builder
	watched []any
}

// list writes entries with their numbers, such as 2. and 2.1.
func (p *plan) list(e xmltext.Element, prefix string) {
	n := 0
	for c := range e.Children() {
		n++
		number := prefix + strconv.Itoa(n) + "."
		indent := strings.Repeat("   ", strings.Count(prefix, "."))
		p.text.WriteString(indent + number + " " + strings.ReplaceAll(p.entry(c), "\n", "\n"+indent+"   ") + "\n")
		if c.Name() == "forEach" {
			p.list(c, number)
		}
	}
}

// entry returns the text of one entry.
func (p *plan) entry(c xmltext.Element) string {
	switch c.Name() {
	case "forEach":
		return "For each item of " + plain(p.word(c, "items").text) + ":"
	case "watch":
		return p.watch(c)
	}
	var notes []string
	for _, name := range []string{"tool", "input", "output"} {
		if w := p.word(c, name); w.text != "" {
			notes = append(notes, name+": "+plain(w.text))
		}
	}
	text := c.Text()
	if len(notes) > 0 {
		text = strings.TrimSpace(text + " (" + strings.Join(notes, "; ") + ")")
	}
	return text
}

// watch stores what should be watched as a setting, which runs do not support.
func (p *plan) watch(c xmltext.Element) string {
	event, again := p.word(c, "event").text, p.word(c, "loop").text == "true"
	inner := &plan{reader: p.reader}
	if trigger := childOf(c, "trigger"); trigger.Exists() {
		inner.list(trigger, "")
	}
	description, then := p.word(c, "description").text, strings.TrimSuffix(inner.text.String(), "\n")
	p.watched = append(p.watched, map[string]any{"event": event, "loop": again, "description": description, "then": then})
	text := "Watch for " + event + ": " + description
	if again {
		text = "Watch repeatedly for " + event + ": " + description
	}
	if then != "" {
		text += "\nThen:\n" + then
	}
	return text
}
