package mermaid

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// metaValue is what Mermaid itself reads from an @{…}.
type metaValue struct {
	shape   string
	label   string
	plain   bool // the label is not Markdown
	picture bool // an icon or an image instead of a text
	noShape bool // the shape is not a text

	problem string // of the YAML
	detail  string
	line    int // where it is: 1 is the line of the brace
}

// readMeta reads an @{…}.
func readMeta(text string, flow bool) metaValue {
	if flow {
		if m, ok := quickMeta(text); ok {
			return m
		}
	}
	return slowMeta(text, flow)
}

// quickMeta reads what nearly everyone writes: a few words, and strings without escapes.
func quickMeta(s string) (m metaValue, ok bool) {
	var keys [8]string
	n := 0
	for at := blanks(s, 0); at < len(s); n++ {
		key := at
		for at < len(s) && (is(s[at], isWord) || s[at] == '-') {
			at++
		}
		name := s[key:at]
		if name == "" || !strings.HasPrefix(s[at:], ": ") || n == len(keys) || slices.Contains(keys[:n], name) {
			return m, false
		}
		keys[n] = name
		value, end := quickValue(s, blanks(s, at+1))
		if end < 0 {
			return m, false
		}
		m.set(name, value)
		at = blanks(s, end)
		if at < len(s) {
			if s[at] != ',' {
				return m, false
			}
			at = blanks(s, at+1)
		}
	}
	return m, true
}

// quickValue reads a word or a string, or gives up.
func quickValue(s string, at int) (value string, end int) {
	if at < len(s) && s[at] == '"' {
		for end = at + 1; end < len(s) && s[end] != '"'; end++ {
			if s[end] == '\\' || s[end] == '\n' {
				return "", -1
			}
		}
		if end >= len(s) {
			return "", -1
		}
		return s[at+1 : end], end + 1
	}
	for end = at; end < len(s) && (is(s[end], isWord) || s[end] == '-' && end > at); end++ {
	}
	if value = s[at:end]; value == "" || value == "null" || is(value[0], isDigit) {
		return "", -1
	}
	return value, end
}

func (m *metaValue) set(key, value string) {
	switch key {
	case "shape":
		m.shape = value
	case "label":
		m.label = value
	case "icon", "img":
		m.picture = m.picture || value != ""
	case "labelType":
		m.plain = value == "string" || value == "text"
	}
}

// slowMeta reads an @{…} with everything that YAML supports.
func slowMeta(text string, flow bool) (m metaValue) {
	text = joined(text)
	lines := 1
	if flow {
		text = "{\n" + text + "\n}"
		lines = 0
	}
	doc := strictyaml.Read("", []byte(text))
	for _, d := range doc.Diagnostics() {
		if fatal(d.Code) {
			m.problem, m.detail, m.line = d.Summary, d.Detail, max(1, d.Line-1+lines)
			return m
		}
	}
	root := doc.Root()
	if !root.IsMap() {
		return m
	}
	fields := root.Map()
	for _, key := range [...]string{"shape", "icon", "img", "label", "labelType"} {
		n := fields.Peek(key)
		switch {
		case n.IsText():
			m.set(key, n.Text())
		case n.IsScalar() && !n.IsNull() && key == "shape":
			m.noShape = true
		case n.IsScalar() && !n.IsNull() && key == "label":
			m.set(key, n.Source().Text)
		}
	}
	return m
}

// fatal reports whether Mermaid's YAML parser also refuses such a text.
func fatal(code string) bool {
	switch code {
	case "yaml-syntax", "yaml-duplicate-key", "yaml-encoding", "yaml-documents":
		return true
	}
	return false
}

// joined returns the text of an @{…} with the lines of its strings joined, as Mermaid passes it
// to its YAML parser.
func joined(s string) string {
	if !strings.Contains(s, "\n") || !strings.Contains(s, `"`) {
		return s
	}
	var b strings.Builder
	for quoted := false; ; quoted = !quoted {
		piece, rest, found := strings.Cut(s, `"`)
		if quoted {
			for i, line := range strings.Split(piece, "\n") {
				if i > 0 {
					b.WriteString("<br/>")
					line = line[blanks(line, 0):]
				}
				b.WriteString(line)
			}
		} else {
			b.WriteString(piece)
		}
		if !found {
			return b.String()
		}
		b.WriteByte('"')
		s = rest
	}
}

// meta reads the @{…} of a node and reports its mistakes.
func (r *reader) meta(v *view, m *mention) metaValue {
	if m.meta.to == 0 {
		return metaValue{}
	}
	r.version(v, m.meta.from-2, m.meta.from, "@{…} needs Mermaid 11.3 or newer", nil)
	from, to := m.meta.from, m.meta.to
	value := readMeta(v.text[from:to], m.meta.flow)
	if value.problem != "" {
		return r.brokenMeta(v, m, value)
	}
	switch {
	case value.noShape:
		r.wrong(v, finding{code: codeShape, from: from, to: to, summary: "a shape must be a word", remedy: "such as rect or diam"})
	case value.shape != "" && !isShapeName[value.shape]:
		value.shape = r.unknownShape(v, from, to, value.shape)
	case value.shape != "" && strings.Contains(shapesSince12, " "+value.shape+" "):
		r.version(v, from, to, "the shape "+value.shape+" needs Mermaid 12", nil)
	}
	return value
}

// brokenMeta reports an @{…} that is not valid YAML, and reads it with its values in quotes.
func (r *reader) brokenMeta(v *view, m *mention, value metaValue) metaValue {
	from, to := m.meta.from, m.meta.to
	f := finding{code: codeMeta, from: from, to: to, summary: "@{…} is not valid YAML: " + value.problem, remedy: value.detail}
	if edits := quotedFields(v.text, from, to); len(edits) > 0 {
		repaired := v.changed(from, to, edits).text
		if again := readMeta(repaired, m.meta.flow); again.problem == "" {
			f.edits, value = edits, again
		}
	}
	r.wrong(v, f)
	return value
}

// quotedFields returns the edits that put the values of a flow map into quotes.
func quotedFields(s string, from, to int) (edits []edit) {
	for at := from; at < to; {
		colon := strings.Index(s[at:to], ": ")
		if colon < 0 {
			return edits
		}
		start := blanks(s[:to], at+colon+2)
		end := fieldEnd(s, start, to)
		value := strings.TrimRight(s[start:end], " \t\n,")
		if value != "" && value[0] != '"' && value[0] != '\'' && words(value, 0) < len(value) {
			edits = append(edits, edit{start, start, `"`})
			for i := range len(value) {
				if value[i] == '"' {
					edits = append(edits, edit{start + i, start + i + 1, "'"})
				}
			}
			edits = append(edits, edit{start + len(value), start + len(value), `"`})
		}
		at = end
	}
	return edits
}

// fieldEnd returns where a value ends: before the next key, at the end of its line, or at the end
// of the map.
func fieldEnd(s string, at, to int) int {
	if at < to && s[at] == '"' {
		if i := strings.IndexByte(s[at+1:to], '"'); i >= 0 {
			at += i + 2
		}
	}
	for ; at < to && s[at] != '\n'; at++ {
		if s[at] != ',' {
			continue
		}
		key := blanks(s[:to], at+1)
		if end := words(s[:to], key); end > key && strings.HasPrefix(s[end:to], ":") {
			return at
		}
	}
	return at
}

// unknownShape reports a shape that does not exist, and returns the one that was probably meant.
func (r *reader) unknownShape(v *view, from, to int, name string) string {
	at := from + max(0, strings.Index(v.text[from:to], name))
	f := finding{code: codeShape, from: at, to: at + len(name), summary: `there is no shape "` + short(name) + `"`}
	near := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if !isShapeName[near] {
		near = workflow.Nearest(near, shapeNames)
	}
	if near != "" && at+len(name) <= to && v.text[at:at+len(name)] == name {
		f.remedy = "use " + near
		f.edits = []edit{{at, at + len(name), near}}
	}
	r.wrong(v, f)
	return near
}
