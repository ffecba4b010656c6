package cli

import (
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// values maps the names in braces of a manifest to values. A missing or empty value does
// not exist, and whatever names it is left out.
type values map[string]any

// has reports whether a value exists.
func (v values) has(name string) bool {
	switch value := v[name].(type) {
	case nil:
		return false
	case string:
		return value != ""
	case []any:
		return len(value) > 0
	case map[string]any, pairs:
		return len(pairsOf(value)) > 0
	default:
		return true
	}
}

// pairs is a map with its own order.
type pairs []pair

type pair struct {
	key   string
	value any
}

// pairsOf returns the members of a map, in its own order or else in that of the keys.
func pairsOf(v any) pairs {
	if list, isOrdered := v.(pairs); isOrdered {
		return list
	}
	members, _ := v.(map[string]any)
	list := make(pairs, 0, len(members))
	for _, key := range sorted.Keys(members) {
		list = append(list, pair{key, members[key]})
	}
	return list
}

// MarshalJSON writes an object.
func (list pairs) MarshalJSON() ([]byte, error) {
	members := make([]string, len(list))
	for i, p := range list {
		members[i] = workflow.FormatJSON(p.key) + ":" + workflow.FormatJSON(p.value)
	}
	return []byte("{" + strings.Join(members, ",") + "}"), nil
}

// template is a text with names in braces: "--model={model}". Literal braces are doubled.
type template []segment

type segment struct {
	text string // literal text,
	name string // or the value of that name,
	form string // formatted as "", "json" or "toml"
}

// parseTemplate parses a template. The second result says what is wrong with it.
func parseTemplate(text string) (template, string) {
	var t template
	for text != "" {
		at := strings.IndexAny(text, "{}")
		if at < 0 {
			return t.literal(text), ""
		}
		t, text = t.literal(text[:at]), text[at:]
		switch {
		case strings.HasPrefix(text, "{{"), strings.HasPrefix(text, "}}"):
			t, text = t.literal(text[:1]), text[2:]
			continue
		case text[0] == '}':
			return nil, "unmatched }"
		}
		end := strings.IndexByte(text, '}')
		if end < 0 {
			return nil, "unclosed {"
		}
		name, form, formed := strings.Cut(text[1:end], ":")
		if formed && form != "json" && form != "toml" {
			return nil, "a value can be formatted as json or toml, not as " + form
		}
		t, text = append(t, segment{name: name, form: form}), text[end+1:]
	}
	return t, ""
}

// literal appends text to a template.
func (t template) literal(text string) template {
	if text == "" {
		return t
	}
	if n := len(t); n > 0 && t[n-1].name == "" {
		t[n-1].text += text
		return t
	}
	return append(t, segment{text: text})
}

// names returns the values that the template needs.
func (t template) names() (list []string) {
	for _, s := range t {
		if s.name != "" {
			list = append(list, s.name)
		}
	}
	return list
}

// value fills in a template; false if something that it names does not exist. A template
// that is a single name becomes that value, of any type.
func (t template) value(v values) (any, bool) {
	for _, name := range t.names() {
		if !v.has(name) {
			return nil, false
		}
	}
	if value := t.whole(v); value != nil {
		return value, true
	}
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.format(v))
	}
	return b.String(), true
}

// whole returns the value of a template that is a single name; nil if it is not.
func (t template) whole(v values) any {
	if len(t) == 1 && t[0].name != "" && t[0].form == "" {
		return v[t[0].name]
	}
	return nil
}

func (s segment) format(v values) string {
	switch {
	case s.name == "":
		return s.text
	case s.form == "json":
		return workflow.FormatJSON(v[s.name])
	case s.form == "toml":
		return formatTOML(v[s.name])
	default:
		return workflow.FormatText(v[s.name])
	}
}

// text returns the template as text.
func (t template) text(v values) (string, bool) {
	value, ok := t.value(v)
	return workflow.FormatText(value), ok
}

// form is a value with templates in place of its strings: template, map[string]form,
// []form, or any other scalar.
type form any

// fill puts values into a form. Members that need missing values are left out, and so is
// anything that is empty as a result.
func fill(f form, v values) (any, bool) {
	switch f := f.(type) {
	case template:
		if list, isList := f.whole(v).([]any); isList && list != nil {
			return list, true // even an empty one: some CLIs insist on it
		}
		return f.value(v)
	case map[string]form:
		out := map[string]any{}
		for key, member := range f {
			if value, ok := fill(member, v); ok {
				out[key] = value
			}
		}
		return out, len(out) > 0 || len(f) == 0
	case []form:
		out := []any{}
		for _, member := range f {
			if value, ok := fill(member, v); ok {
				out = append(out, value)
			}
		}
		return out, len(out) > 0 || len(f) == 0
	default:
		return f, f != nil
	}
}

// argument is one entry of a list of arguments: words that are used together, if everything
// that they name exists.
type argument struct {
	words  []template
	when   string // a value that must exist, though no word names it; "": none
	unless string // a value that must not exist; "": none
	each   string // a list: the words are used for each of its entries; "": none
}

// arguments fills in a list of arguments. A word that consists only of the name of a list
// becomes the entries of that list.
func arguments(list []argument, v values) []string {
	var argv []string
	for _, a := range list {
		if a.when != "" && !v.has(a.when) || a.unless != "" && v.has(a.unless) {
			continue
		}
		for _, scope := range a.scopes(v) {
			argv = append(argv, a.fill(scope)...)
		}
	}
	return argv
}

// scopes returns the values with which the words are filled in, one set for each
// repetition.
func (a *argument) scopes(v values) []values {
	if a.each == "" {
		return []values{v}
	}
	var scopes []values
	add := func(members values) {
		for name, value := range v {
			if _, inner := members[name]; !inner {
				members[name] = value
			}
		}
		scopes = append(scopes, members)
	}
	switch list := v[a.each].(type) {
	case []any:
		for _, item := range list {
			add(values{"item": item})
		}
	case map[string]any, pairs:
		for _, p := range pairsOf(list) {
			add(values{"key": p.key, "item": p.value})
		}
	}
	return scopes
}

func (a *argument) fill(v values) []string {
	var argv []string
	for _, word := range a.words {
		value, ok := word.value(v)
		if !ok {
			return nil
		}
		if list, isList := value.([]any); isList {
			for _, item := range list {
				argv = append(argv, workflow.FormatText(item))
			}
			continue
		}
		argv = append(argv, workflow.FormatText(value))
	}
	return argv
}
