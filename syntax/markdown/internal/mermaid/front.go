package mermaid

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// frontMatter reads the YAML before the header.
func (r *reader) frontMatter(v *view, f frontMatter) {
	if !f.found {
		return
	}
	v = v.cut(newlines(v.text))
	r.chart.FrontMatter = v.span(0, f.end)
	if f.indent != "" {
		r.version(v, 0, len(f.indent), "indented front matter needs Mermaid 12", []edit{{from: 0, to: len(f.indent)}})
	}
	text := v.text[f.from:f.to]
	if f.indent != "" {
		text = strings.ReplaceAll("\n"+text, "\n"+f.indent, "\n")[1:]
	}
	doc := strictyaml.Read("", []byte(text))
	for _, d := range doc.Diagnostics() {
		if fatal(d.Code) {
			at := lineOf(v.text, f.from, d.Line)
			_, to := v.line(at)
			r.wrong(v, finding{code: codeFrontMatter, from: at, to: to, summary: "the front matter is not valid YAML: " + d.Summary,
				remedy: d.Detail, edits: quotedValue(v, at, to)})
			return
		}
	}
	if root := doc.Root(); root.IsMap() {
		if title := root.Map().Peek("title"); title.IsScalar() && !title.IsNull() {
			r.chart.Title = title.Source().Text
			if title.IsText() {
				r.chart.Title = title.Text()
			}
		}
	}
}

// lineOf returns the start of a line, counted from 1 at a place.
func lineOf(s string, at, line int) int {
	for ; line > 1 && at < len(s); line-- {
		at = lineEnd(s, at)
	}
	return at
}

// quotedValue puts the value of a line into quotes if that makes it valid YAML.
func quotedValue(v *view, from, to int) []edit {
	line := v.text[from:to]
	colon := strings.Index(line, ": ")
	if colon < 0 || strings.ContainsAny(line[colon:], `"'`) {
		return nil
	}
	value := strings.TrimSpace(line[colon+2:])
	at := from + colon + 2 + strings.Index(line[colon+2:], value)
	repaired := line[:colon+2] + `"` + value + `"`
	if value == "" || strictyaml.Read("", []byte(repaired)).Failed() {
		return nil
	}
	return []edit{{from: at, to: at, text: `"`}, {from: at + len(value), to: at + len(value), text: `"`}}
}

// unclosedDirective reports a directive that includes the rest of the text.
func (r *reader) unclosedDirective(v *view, f frontMatter) {
	if !strings.Contains(v.text, "%%{") {
		return
	}
	at := strings.LastIndex(v.text, "%%{")
	if strings.Contains(v.text[at:], "}%%") || directiveEnd(v.text, at+3) < len(v.text) {
		return
	}
	_, to := v.line(at)
	r.warn(v, finding{code: codeDirective, from: at, to: to, summary: "this directive is not closed, so everything after it is part of it",
		remedy: "end it with }%%", edits: []edit{{from: to, to: to, text: "}%%"}}})
}

// version reports what other versions of Mermaid do not support; only once for each kind if it
// cannot be written in another way.
func (r *reader) version(v *view, from, to int, what string, edits []edit) {
	if len(edits) == 0 {
		if slices.Contains(r.versions, what) {
			return
		}
		r.versions = append(r.versions, what)
	}
	r.warn(v, finding{code: codeVersion, from: from, to: to, summary: what, edits: edits})
}
