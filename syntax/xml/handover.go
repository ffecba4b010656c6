package xml

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// The entries of a plan name what they use and provide. Between entries of the same agent, these
// names are just words in its prompt. Between agents, they are variables.

// handover describes what one agent of a plan uses from the others and provides to them.
type handover struct {
	items  workflow.Expr // the items for which it is repeated; "" if it is not
	inputs []workflow.Binding
	output workflow.Output

	pos   workflow.Pos
	index int             // of its step
	gives []string        // what its entries provide, in order
	given map[string]bool // the same
	final string          // what the last entry provides, or ""
	takes []taken         // what its entries use that none of its own provided before
	each  taken           // the items of a forEach around all its entries

	mentions map[string]int    // how often its texts refer to a name
	means    map[string]string // what a name refers to, if it is not a variable; "" for a word in the prompt
}

// taken is a variable that an entry names, with the path after it.
type taken struct {
	name, path string
	loose      bool // it may be just a word, so it is not reported if no agent provides it
	pos        workflow.Pos
}

func (r *reader) take(e xmltext.Element, key string) taken {
	w := r.word(e, key)
	name, path, _ := strings.Cut(variable(w.text), ".")
	if path != "" {
		path = "." + path
	}
	return taken{name: name, path: path, pos: w.src.Pos}
}

// handover returns the handover of a step. Steps in a loop or an each have none, because planners
// do not write those.
func (r *reader) handover(step xmltext.Element) *handover {
	if r.handovers == nil {
		r.findHandovers()
	}
	if h := r.handovers[step]; h != nil {
		return h
	}
	return &handover{}
}

func (r *reader) findHandovers() {
	r.handovers = map[xmltext.Element]*handover{}
	var all []*handover
	eachStep(r.doc.Root(), func(e xmltext.Element, _ string) {
		h := &handover{pos: e.Pos(), index: len(all), given: map[string]bool{}, mentions: map[string]int{}, means: map[string]string{}}
		r.handovers[e], all = h, append(all, h)
		h.mention(e.Text())
		h.mention(r.word(e, "task").text)
		for c := range e.Children() {
			if c.Name() == "input" {
				h.mention(c.Text())
			}
			if planParts[c.Name()] == nil {
				continue
			}
			if sole := soleForEach(c); sole.Exists() {
				h.each, c = r.take(sole, "items"), sole
			}
			h.collect(r, c)
		}
		if said := r.word(e, "output").text; said != "" {
			h.gives, h.final = []string{said}, said
		}
	})
	r.linkHandovers(all)
}

// collect finds what the entries of a list use and provide.
func (h *handover) collect(r *reader, list xmltext.Element) {
	for c := range list.Children() {
		input, items := r.take(c, "input"), r.take(c, "items")
		items.loose = true
		h.mention(c.Text())
		for _, t := range []taken{input, items} {
			if t.name != "" && !h.given[t.name] {
				h.takes = append(h.takes, t)
			}
		}
		h.final = ""
		h.collect(r, c)
		if out := r.take(c, "output"); out.name != "" {
			if h.final = out.name; !h.given[out.name] {
				h.gives, h.given[out.name] = append(h.gives, out.name), true
			}
		}
	}
}

// linkHandovers gives every agent the inputs that others provide. Something that no other agent
// uses is not a result, unless it is the last thing that its agent provides.
func (r *reader) linkHandovers(all []*handover) {
	taken, lists, mentions := map[string]bool{}, map[string]bool{}, map[string]int{}
	mention(r.doc.Text(), mentions)
	for _, h := range all {
		lists[h.each.name] = true
		for _, t := range append(h.takes, h.each) {
			taken[t.name] = true
		}
	}
	givers := givers{before: map[string]*handover{}, last: map[string]*handover{}, known: expr.KnownNames(r.w)}
	for _, h := range all {
		h.gives = slices.DeleteFunc(h.gives, func(name string) bool { return name != h.final && !taken[name] && mentions[name] == h.mentions[name] })
		for _, name := range h.gives {
			givers.last[name] = h
		}
		h.promise(lists)
	}
	for _, h := range all {
		h.bind(r, &givers)
		for _, name := range h.gives {
			givers.before[name] = h
		}
	}
}

// mention counts the names that a text refers to.
func mention(text string, names map[string]int) {
	for _, found := range named().FindAllStringSubmatch(text, -1) {
		names[found[1]]++
	}
}

func (h *handover) mention(text string) { mention(text, h.mentions) }

var (
	// named matches a name after the mark of a reference.
	named = lazy.Regexp(`(?:\{\{|\$\{?)\s*([A-Za-z_][\w-]*)`)
	// reference matches a reference in braces, with everything up to the closing mark.
	reference = lazy.Regexp(`(\{\{|\$\{)\s*([A-Za-z_][\w-]*)([^{}]*)(\}\}?)`)
)

// explain replaces the names in the texts of a task by what they mean.
func (h *handover) explain(t *workflow.Task) {
	if len(h.means) == 0 {
		return
	}
	if text := h.phrase(t.Prompt.Text); text != t.Prompt.Text {
		t.Prompt = workflow.Template{Text: text, Src: workflow.Source{Pos: t.Prompt.Src.Pos}}
	}
	for i := range t.Inputs {
		b := &t.Inputs[i]
		if text, ok := b.Value.(string); ok && h.phrase(text) != text {
			b.Value, b.Src = h.phrase(text), workflow.Source{Pos: b.Src.Pos}
		}
	}
}

// phrase returns a text of the agent with its names replaced by what they mean in this plan.
func (h *handover) phrase(text string) string {
	return reference().ReplaceAllStringFunc(text, func(found string) string {
		parts := reference().FindStringSubmatch(found)
		means, known := h.means[parts[2]]
		switch {
		case !known:
			return found
		case means == "":
			return strings.TrimSpace(parts[2] + parts[3])
		}
		return parts[1] + means + parts[3] + parts[4]
	})
}

// promise sets the output of an agent: one variable, or an object.
func (h *handover) promise(lists map[string]bool) {
	switch len(h.gives) {
	case 0:
	case 1:
		h.output = workflow.Output{Var: h.gives[0], Pos: h.pos}
		if lists[h.gives[0]] {
			h.output.Mode = workflow.JSON
		}
	default:
		properties, required := map[string]any{}, []any{}
		for _, name := range h.gives {
			properties[name] = map[string]any{}
			if lists[name] {
				properties[name] = map[string]any{"type": "array"}
			}
			required = append(required, name)
		}
		h.output = workflow.Output{Mode: workflow.JSON, Pos: h.pos, Schema: map[string]any{"type": "object", "properties": properties, "required": required}}
	}
}

// bind turns what other agents provide into inputs.
func (h *handover) bind(r *reader, from *givers) {
	if items := from.reference(h.each.name, h); items != "" {
		h.items = workflow.Expr{Text: items + h.each.path, Src: workflow.Source{Pos: h.each.pos}}
		h.inputs = []workflow.Binding{{Name: "item", Value: "${item}", Pos: h.each.pos}}
	} else if h.each.name != "" {
		r.unknownName(h.each)
	}
	bound := map[string]bool{}
	for _, t := range h.takes {
		value := from.reference(t.name, h)
		switch {
		case bound[t.name]:
		case value != "":
			h.inputs = append(h.inputs, workflow.Binding{Name: t.name, Value: "${" + value + "}", Pos: t.pos})
		case !t.loose && h.items.Text == "": // in a forEach it is a name of the item
			r.unknownName(t)
		}
		bound[t.name] = true
	}
	for name := range h.mentions {
		switch value := from.reference(name, h); {
		case from.known[name] && from.before[name] == nil: // no earlier agent has provided another value
		case value == "" && h.given[name], strings.HasPrefix(value, "steps["):
			h.means[name] = value
		}
	}
}

func (r *reader) unknownName(t taken) {
	r.report(workflow.Warningf(t.pos, codePlanName, "the agent receives only the name; make it an output of another agent, or declare it: <param name=\""+t.name+"\"/>", "no agent provides %q", t.name))
}

// givers are the agents that provide something, by its name.
type givers struct {
	before map[string]*handover // the nearest one before the agent that is being bound
	last   map[string]*handover
	known  map[string]bool // what the workflow declares
}

// reference returns how an agent refers to a name, or "" if no other agent provides it.
func (g *givers) reference(name string, h *handover) string {
	from := cmp.Or(g.before[name], g.last[name])
	switch {
	case from == nil || from == h:
		if g.known[name] {
			return name
		}
		return ""
	case len(from.gives) == 1:
		return name
	case from.each.name != "": // a list of objects, one for each item
		return "steps[" + strconv.Itoa(from.index) + "].output"
	}
	return "steps[" + strconv.Itoa(from.index) + "].output." + name
}
