package xml

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/workflow"
)

// A value is written as elements or as text. If all elements are called item, they form a list,
// otherwise an object. Text that is valid JSON, except for a string in quotes, is that value; any
// other text is a string. The attribute type overrides this: type="string" is text, type="json"
// is JSON.

// value reads a value.
func (r *reader) value(e xmltext.Element) any {
	if e.First().Exists() {
		if e.HasText() {
			r.strayText(e)
		}
		return r.members(e)
	}
	text := e.Text()
	kind := e.Attr("type")
	switch {
	case !kind.Exists():
		v, _ := jsonOf(text)
		return v
	case kind.Value() == "string":
		return text
	case kind.Value() == "json":
		return r.json(e, text)
	}
	r.report(workflow.Errorf(kind.Pos(), codeValue, "write json or string, or leave it out", "unknown value type %q", kind.Value()))
	return text
}

func (r *reader) json(e xmltext.Element, text string) any {
	v, err := workflow.ParseJSON([]byte(text))
	if err != nil {
		pos := e.Source().Pos
		if text == "" {
			pos = e.Pos()
		}
		r.report(workflow.Errorf(pos, codeValue, err.Error()+"; JSON text needs quotes", "<%s> is not JSON", e.Name()))
		return nil
	}
	return v
}

// members reads a list or an object. Duplicate keys are reported.
func (r *reader) members(e xmltext.Element) any {
	var list []any
	items := true
	for c := range e.Children() {
		items = items && c.Name() == "item"
	}
	if items {
		for c := range e.Children() {
			list = append(list, r.value(c))
		}
		return list
	}
	object := map[string]any{}
	for c := range e.Children() {
		if _, twice := object[c.Name()]; twice {
			r.errorf(c, codeTwice, "remove one of them; entries of a list are all called item", "<%s> has %s twice", e.Name(), c.Name())
		}
		object[c.Name()] = r.value(c)
	}
	return object
}

// jsonOf returns the value of a text that is JSON, otherwise the text; ok says which.
func jsonOf(text string) (v any, ok bool) {
	if !mayBeJSON(text) {
		return text, false
	}
	v, err := workflow.ParseJSON([]byte(text))
	if err != nil {
		return text, false
	}
	return v, true
}

// mayBeJSON looks only at the ends of a text, so that most texts need not be parsed. Text in
// quotes does not count as JSON: quotes in XML are part of the text.
func mayBeJSON(text string) bool {
	text = strings.Trim(text, xmltext.Layout)
	if text == "" {
		return false
	}
	first, last := text[0], text[len(text)-1]
	switch {
	case first == '{':
		inner := strings.TrimLeft(text[1:], xmltext.Layout)
		return last == '}' && inner != "" && (inner[0] == '"' || inner[0] == '}')
	case first == '[':
		return last == ']'
	case first == '-' || first >= '0' && first <= '9':
		return last >= '0' && last <= '9'
	}
	return text == "true" || text == "false" || text == "null"
}

// object reads an object, such as a config: a map of values with their positions. It returns nil
// if the element is empty.
func (r *reader) object(e xmltext.Element) (values map[string]any, places map[string]xmltext.Element) {
	if !e.First().Exists() && e.Text() == "" {
		return nil, nil
	}
	v := r.value(e)
	object, ok := v.(map[string]any)
	if !ok {
		if !r.doc.Failed() || !e.Attr("type").Exists() {
			r.report(workflow.Errorf(e.Pos(), codeValue, `write elements, or JSON: {"key": "value"}`, "<%s> must contain keys with values", e.Name()))
		}
		return nil, nil
	}
	places = make(map[string]xmltext.Element, len(object))
	for name := range object {
		places[name] = e
	}
	for c := range e.Children() {
		places[c.Name()] = c
	}
	return object, places
}

// composed converts an object for the parser of YAML.
func (r *reader) composed(e xmltext.Element) strictyaml.Node {
	values, places := r.object(e)
	pairs := make([]strictyaml.Pair, 0, len(values))
	for _, name := range slices.SortedFunc(maps.Keys(values), func(a, b string) int { return int(places[a].Span().From - places[b].Span().From) }) { // positions are found fast in the order of the text
		at := places[name]
		pairs = append(pairs, strictyaml.Pair{Key: name, Pos: at.Pos(), Value: r.words().Of(values[name], sourceOf(at, values[name]))})
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].Key < pairs[j].Key })
	return r.words().Map(pairs, e.Pos())
}

// sourceOf returns the position of a value: exactly if it is text, otherwise that of its element.
func sourceOf(e xmltext.Element, v any) workflow.Source {
	if text, ok := v.(string); ok && !e.First().Exists() {
		if src := e.Source(); src.Text == text {
			return src
		}
	}
	return workflow.Source{Pos: e.Pos()}
}

// isText reports whether a text without a type is read as itself.
func isText(text string) bool {
	_, ok := jsonOf(text)
	return !ok
}

// asJSON returns a value as JSON that XML can represent.
func asJSON(v any) string { return escapeRest.Replace(workflow.FormatJSON(v)) }

// escapeRest escapes characters that JSON allows but XML does not.
var escapeRest = strings.NewReplacer("\uFFFE", `\ufffe`, "\uFFFF", `\uffff`)
