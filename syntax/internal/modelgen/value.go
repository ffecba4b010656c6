package modelgen

import (
	"encoding/json"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// pieces are the building blocks of text: everything that some notation has to escape.
var pieces = []string{
	"word", "Two words", " ", "\n", "\n\n", "  indented\n", "\tTab", "trailing  \n", ": ", " #", "#", "- item\n", "---\n", "...\n",
	`"`, `'`, "''", "`", "```\n", "\\", `\n`, "{", "}", "{{", "}}", "{{x}}", "$", "$$", "$NAME", "[", "]", "]]>", "<!--", "-->", "&amp;", "<b>", "%", "@startuml\n",
	"|", ">", "!", "*", "&", "?", "=", "~", "null", "true", "yes", "12", "1e3", "0x1F", "2025-01-09", ",", ";\n",
	"naïve", "日本語", "👩‍🚀", "שלום", "\u202Ertl", "e\u0301", "\u00a0", "\u2028", "\u0085", "\x01", "\x7f", "\r\n", "\r", "\uFEFF", "\uFFFD", "\U0010FFFF",
}

// text is any text.
func (g *generator) text() string {
	switch g.number(0, 60) {
	case 0, 3, 4, 5:
		return strings.Repeat(pick(g, pieces), g.number(1, 30))
	case 1:
		return strings.Repeat("A long prompt goes on: \"and\" on.\n  It has lines,\n\nsome of them blank. ", 20<<10/70)
	case 2, 6, 7, 8:
		return "Plain text."
	}
	var b strings.Builder
	for range g.number(1, 6) {
		b.WriteString(pick(g, pieces))
	}
	return b.String()
}

var references = []string{"inputs.topic", "vars.draft", "vars.größe", "nodes.review.output", `nodes["007"].status`, "groups.scanners.outputs", "previous.output", "failure.error", "item", "index", "iteration", "_iteration_count", "vars.list[0].name", `vars.draft ?? "none"`}

// reference returns a reference in canonical form.
func (g *generator) reference() string { return canonicalExpr(pick(g, references)) }

// condition returns a condition in canonical form.
func (g *generator) condition() string {
	left := pick(g, references)
	return canonicalExpr(pick(g, []string{
		left, "!(" + left + ")", left + ` == "yes"`, left + " != 3 && " + pick(g, references) + " > 1.5",
		left + ` contains 'it''s'`, left + ` matches "^\d+: #"`, `"{{x}}" in ` + left, "true", "1",
	}))
}

func canonicalExpr(text string) string {
	e, err := expr.ParseExpr(text, expr.Canonical)
	if err != nil {
		return "true"
	}
	return e.String()
}

// template returns text with references in canonical form.
func (g *generator) template() string {
	var b strings.Builder
	for range g.number(1, 3) {
		if g.coin() {
			b.WriteString("${" + pick(g, references) + "}")
		} else {
			b.WriteString(strings.ReplaceAll(g.text(), "${", "$${"))
		}
	}
	t, err := expr.ParseTemplate(b.String(), expr.Canonical)
	if err != nil {
		return "no reference"
	}
	return t.String()
}

func (g *generator) variable() string {
	return pick(g, []string{"draft", "list", "no", "größe", "x y"})
}

// value returns any value, with strings created by text.
func (g *generator) value(depth int, text func() string) any {
	kind := g.number(0, 9)
	if depth == 0 {
		kind %= 8
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return g.coin()
	case 2, 3:
		return json.Number(pick(g, []string{"0", "-0", "1", "-12", "1.50", "12345678901234567890", "1e400", "2E-7", "0.1"}))
	case 4, 5, 6, 7:
		return text()
	case 8:
		list := []any{}
		for range g.number(0, 3) {
			list = append(list, g.value(depth-1, text))
		}
		return list
	}
	return g.members(depth-1, text)
}

func (g *generator) members(depth int, text func() string) map[string]any {
	object := map[string]any{}
	for range g.number(0, 3) {
		object[g.key()] = g.value(depth, text)
	}
	return object
}

func (g *generator) key() string {
	return pick(g, []string{"a", "b", "model", "max tokens", "yes", "12", "a.b", "<<", "größe", "{{k}}", "", strings.Repeat("long", 400), g.text()})
}

// object returns a map of plain values, or nil.
func (g *generator) object(depth int) map[string]any {
	if g.coin() {
		return nil
	}
	if m := g.members(depth, g.text); len(m) > 0 {
		return m
	}
	return nil
}

// templates returns a map of values whose strings are templates, or nil.
func (g *generator) templates(depth int) map[string]any {
	if !g.rarely() {
		return nil
	}
	return g.members(depth, g.template)
}

func (g *generator) bindings() []workflow.Binding {
	var bs []workflow.Binding
	taken := map[string]bool{}
	for range g.number(0, 2) {
		if b := (workflow.Binding{Name: g.key(), Value: g.value(2, g.template)}); !taken[b.Name] {
			bs = append(bs, b)
			taken[b.Name] = true
		}
	}
	return bs
}

func (g *generator) labels() map[string]string {
	if !g.rarely() {
		return nil
	}
	return map[string]string{g.key(): g.text(), "team": pick(g, []string{"docs", "", "7", "on"})}
}

func (g *generator) options() []workflow.Option {
	var options []workflow.Option
	for range g.number(0, 2) {
		options = append(options, workflow.Option{Value: g.label(), Label: g.maybe(g.text), Description: g.maybe(g.text)})
	}
	return options
}

// output returns any kind of output. It has a pattern only if its mode uses one.
func (g *generator) output() workflow.Output {
	o := workflow.Output{Var: g.maybe(g.variable)}
	switch g.number(0, 5) {
	case 0:
		o.Mode = workflow.JSON
		o.Schema = g.schema()
	case 1:
		o.Mode, o.Pattern = workflow.JSONPath, "$.a['b: c'][0]"
	case 2:
		o.Mode, o.Pattern = workflow.Regex, `^(\d+): "x" #.*$`
	case 3:
		o.Mode = workflow.FirstLine
	case 4:
		o.Schema = g.schema()
	}
	return o
}

// schema returns a JSON Schema that restricts the value.
func (g *generator) schema() any {
	return pick(g, []any{
		nil, true,
		map[string]any{"type": "object", "properties": map[string]any{"pass": map[string]any{"type": "boolean"}}, "required": []any{"pass"}},
		map[string]any{"type": "array", "items": map[string]any{"type": "string", "description": g.text()}},
		map[string]any{"enum": []any{"a", json.Number("1"), nil}, "title": g.text()},
		map[string]any{"$ref": "#/$defs/x", "$defs": map[string]any{"x": map[string]any{"const": g.value(1, g.text)}}},
	})
}

func (g *generator) params() []workflow.Param {
	var params []workflow.Param
	taken := map[string]bool{}
	for range g.number(0, 3) {
		p := workflow.Param{Name: g.key(), Type: pick(g, []workflow.ParamType{workflow.AnyType, workflow.StringType, workflow.NumberType, workflow.IntegerType, workflow.BooleanType, workflow.ArrayType, workflow.ObjectType})}
		p.Description, p.Required, p.HasDefault = g.maybe(g.text), g.coin(), g.coin()
		if p.HasDefault {
			p.Default = g.value(2, g.text)
		}
		if !taken[p.Name] {
			params = append(params, p)
			taken[p.Name] = true
		}
	}
	return params
}

func (g *generator) lanes() []workflow.AgentRef {
	var lanes []workflow.AgentRef
	for range g.number(0, 2) {
		lanes = append(lanes, workflow.AgentRef{Name: g.text(), Role: g.maybe(g.text), Color: g.maybe(g.text), Title: g.maybe(g.text)})
	}
	return lanes
}

func (g *generator) limits() workflow.Limits {
	if g.coin() {
		return workflow.Limits{}
	}
	return workflow.Limits{
		Steps: g.number(0, 200), Parallel: g.number(0, 20), Depth: g.number(0, 9), Runtime: g.duration(),
		CostUSD: pick(g, []float64{0, 5, 0.25, 1e-9}), Tokens: int64(g.number(0, 100000)), Replans: g.number(0, 3),
	}
}
