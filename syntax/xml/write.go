package xml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Format writes a model as a careful person would: with dependencies between agents, separate
// elements for all other edges, and long texts on their own lines, but without defaults. It
// parses the result again to make sure that it has the digest of the model.
func Format(w *workflow.Workflow) ([]byte, error) {
	digest, written := workflow.Digest(w), yaml.Mixed(w)
	for _, results := range []bool{true, false} {
		p := &printer{}
		p.element(newWriter(written, results).workflow(), 0)
		text := []byte(p.String())
		if again, found := Parse("", text); !found.Errors() && workflow.Digest(again) == digest {
			return text, nil
		}
	}
	return nil, fmt.Errorf("xml: the workflow %q cannot be written in XML: it contains text that is not UTF-8, or an id with a comma", w.Name)
}

// writer creates the elements of a model whose texts are in the Mixed dialect.
type writer struct {
	w       *workflow.Workflow
	results bool // {{agent_1_result}} stands for the output of the step 1
	onError workflow.OnError
	ids     map[string]bool
	depends map[place][]string // by the step that depends
	ways    map[place][]workflow.Edge
}

// place identifies a step: an each and the only step in it may have the same id.
type place struct {
	graph *workflow.Graph
	id    string
}

func newWriter(w *workflow.Workflow, results bool) *writer {
	out := &writer{w: w, results: results, onError: yaml.MostOnError(&w.Body), ids: map[string]bool{}, depends: map[place][]string{}, ways: map[place][]workflow.Edge{}}
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { out.ids[n.ID] = true })
	out.split(&w.Body)
	return out
}

// split sorts the edges of a graph into dependencies and ways. The first edges of a step can be
// dependencies if they are plain and lead to steps of the graph in their order.
func (out *writer) split(g *workflow.Graph) {
	order := make(map[string]int, len(g.Nodes))
	for i := range g.Nodes {
		order[g.Nodes[i].ID] = i + 1
	}
	last := map[string]int{} // by source: the order of the target of its last dependency
	for _, e := range g.Edges {
		at, from, to := place{g, e.To}, place{g, e.From}, order[e.To]
		if e.On == workflow.OnSuccess && to > last[e.From] && len(out.ways[from]) == 0 {
			out.depends[at] = append(out.depends[at], e.From)
			last[e.From] = to
			continue
		}
		out.ways[from] = append(out.ways[from], e)
	}
	for i := range g.Nodes {
		if body := g.Nodes[i].Body(); body != nil && !yaml.IsRepeat(&g.Nodes[i]) {
			out.split(body)
		}
	}
}

// workflow returns the whole file.
func (out *writer) workflow() *element {
	root := out.head()
	out.steps(root, &out.w.Body)
	return root
}

// head returns the root without its steps.
func (out *writer) head() *element {
	w := out.w
	e := &element{name: "workflow"}
	e.always("name", w.Name)
	if out.onError != workflow.Stop {
		e.attr("on_error", string(out.onError))
	}
	e.word("description", w.Description)
	for _, p := range w.Inputs {
		e.add(param(p))
	}
	if len(w.State) > 0 {
		e.add(objectElement("state", w.State))
	}
	for _, a := range w.Agents {
		lane := e.add(&element{name: "lane"})
		lane.always("name", a.Name)
		lane.word("role", a.Role)
		lane.word("color", a.Color)
		lane.word("title", a.Title)
	}
	if w.Limits != (workflow.Limits{}) {
		e.add(limits(w.Limits))
	}
	if w.Output.Text != "" {
		e.add(textElement("output", out.template(w.Output.Text)))
	}
	return e
}

func param(p workflow.Param) *element {
	e := &element{name: "param"}
	e.always("name", p.Name)
	e.word("type", string(p.Type))
	if p.Required == p.HasDefault {
		e.attr("required", strconv.FormatBool(p.Required))
	}
	e.word("description", p.Description)
	if p.HasDefault {
		e.add(valueElement("default", p.Default))
	}
	return e
}

func limits(l workflow.Limits) *element {
	e := &element{name: "limits"}
	e.number("max_steps", l.Steps)
	e.number("max_parallel", l.Parallel)
	e.number("max_depth", l.Depth)
	if l.Runtime != 0 {
		e.attr("max_runtime", workflow.FormatDuration(l.Runtime))
	}
	if l.CostUSD != 0 {
		e.attr("max_cost_usd", strconv.FormatFloat(l.CostUSD, 'f', -1, 64))
	}
	e.number("max_tokens", int(l.Tokens))
	e.number("replans", l.Replans)
	return e
}

func (e *element) number(name string, n int) {
	if n != 0 {
		e.attr(name, strconv.Itoa(n))
	}
}

// template returns a text in the form used here: the output of the step 1 is {{agent_1_result}}.
func (out *writer) template(text string) string {
	const before, behind = `${nodes["`, `"].output}`
	if !out.results || !strings.Contains(text, before) {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, before)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		id, rest, ok := strings.Cut(text[i+len(before):], behind)
		escaped := i > 0 && text[i-1] == '$'
		if !ok || escaped || !isDigits(id) || !out.ids[id] {
			b.WriteString(text[:i+len(before)])
			text = text[i+len(before):]
			continue
		}
		b.WriteString(text[:i] + "{{agent_" + id + "_result}}")
		text = rest
	}
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// valueElement returns a value that is not a template.
func valueElement(name string, v any) *element {
	e := &element{name: name, full: true}
	e.value(v)
	return e
}

// value sets the value of an element: text unchanged, lists and objects as elements or in a line
// of JSON, everything else as JSON.
func (e *element) value(v any) {
	switch v := v.(type) {
	case string:
		switch {
		case !xmltext.CanHold(v):
			e.attr("type", "json")
			e.text = asJSON(v)
		default:
			if !isText(v) {
				e.attr("type", "string")
			}
			e.text = v
		}
		return
	case []any:
		if text := asJSON(v); len(v) > 0 && (len(text) > 60 || strings.Contains(text, `\n`)) {
			for _, item := range v {
				e.add(valueElement("item", item))
			}
			return
		}
	case map[string]any:
		if canBeElements(v) {
			e.members(v)
			return
		}
	}
	e.text = asJSON(v)
}

func (e *element) members(object map[string]any) {
	for _, key := range sorted.Keys(object) {
		e.add(valueElement(key, object[key]))
	}
}

// canBeElements reports whether the keys of an object can be written as elements without being
// mistaken for something else.
func canBeElements(object map[string]any) bool {
	keys := sorted.Keys(object)
	if len(keys) == 0 || slices.Equal(keys, []string{"item"}) || slices.Equal(keys, []string{"name", "value"}) {
		return false
	}
	return !slices.ContainsFunc(keys, func(key string) bool { return !xmltext.IsName(key) || len(key) > wide })
}

// objectElement returns the element for a map such as a config.
func objectElement(name string, object map[string]any) *element {
	e := &element{name: name, full: true}
	e.value(object)
	return e
}
