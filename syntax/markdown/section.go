package markdown

import (
	"bytes"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// section is the part of a file about one node or subgraph, below a heading of level three that
// names it.
type section struct {
	id      string
	heading heading
	front   matter
	body    source.Span // its text without blank lines around it, and without its last line break
	whole   source.Span // from the heading to the next section
}

// sections finds the sections of the nodes whose ids are given.
func (d *document) sections(isID func(string) bool) []section {
	n := 0
	for i := range d.headings {
		if d.headings[i].level == 3 {
			n++
		}
	}
	list := make([]section, 0, n)
	for i, h := range d.headings {
		id := d.sectionID(h)
		if id == "" || !isID(id) {
			continue
		}
		list = append(list, d.section(id, i, isID))
	}
	return list
}

// sectionID returns the id that a heading may name: its title, with or without
// backticks.
func (d *document) sectionID(h heading) string {
	if h.level != 3 {
		return ""
	}
	return d.named(h)
}

// named returns the name in a heading.
func (d *document) named(h heading) string {
	title := d.title(h)
	if n := len(title); n > 2 && title[0] == '`' && title[n-1] == '`' {
		title = strings.TrimSpace(title[1 : n-1])
	}
	return title
}

// section returns the section of the i-th heading. It extends to the next heading that names a
// node, or to the mark that ends it. Any other heading is part of its text: prompts have headings
// of every level.
func (d *document) section(id string, i int, isID func(string) bool) section {
	h := d.headings[i]
	s := section{id: id, heading: h, front: h.front}
	from := h.line.To
	if s.front.exists() {
		from = s.front.whole.To
	}
	end := len(d.text.Bytes)
	for _, next := range d.headings[i+1:] {
		if next.level == endMark || isID(d.sectionID(next)) {
			end = next.line.From
			break
		}
	}
	s.whole = source.Span{From: h.line.From, To: end}
	s.body = trimLines(d.text.Bytes, from, end)
	return s
}

// trimLines removes the blank lines around a text, and its last line break.
func trimLines(b []byte, from, to int) source.Span {
	for from < to {
		end := to
		if i := bytes.IndexByte(b[from:to], '\n'); i >= 0 {
			end = from + i + 1
		}
		if len(bytes.TrimSpace(b[from:end])) > 0 {
			break
		}
		from = end
	}
	for to > from {
		start := bytes.LastIndexByte(b[from:to-1], '\n') + 1 + from
		if len(bytes.TrimSpace(b[start:to])) > 0 {
			break
		}
		to = start
	}
	if to > from && b[to-1] == '\n' {
		to--
	}
	if to > from && b[to-1] == '\r' {
		to--
	}
	return source.Span{From: from, To: to}
}

// prompt returns the text of a section with line feeds only.
func (d *document) prompt(s section) string {
	text := d.text.Bytes[s.body.From:s.body.To]
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte{'\n'})
	}
	return string(text)
}

// holds reports whether a text can be the body of a section and be read unchanged. Below front
// matter it may begin with a rule. The section is written and read, followed by another one and
// by what would close a comment.
func holds(text string, belowFront bool, isID func(string) bool) bool {
	if text == "" || strings.IndexByte(text, '\r') >= 0 || !strictyaml.IsPrintable(text) {
		return false
	}
	const first, last = "### \n\n", "### (end)"
	written := first
	if belowFront {
		written += "---\n---\n\n"
	}
	written += text + "\n\n" + last + "\n\n-->\n"
	d := scan(source.New("", []byte(written)))
	n := len(d.headings)
	if n < 2 || d.title(d.headings[n-1]) != "(end)" || d.headings[n-1].line.From != len(written)-len(last)-len("\n\n-->\n") {
		return false
	}
	s := d.section("", 0, func(id string) bool { return id == "(end)" || id != "" && isID(id) })
	return s.front.exists() == belowFront && s.body.To-s.body.From == len(text) && !d.broken()
}

// broken reports whether a fence of the file is not closed correctly.
func (d *document) broken() bool {
	for i := range d.fences {
		if f := &d.fences[i]; !f.ended || f.tail != "" {
			return true
		}
	}
	return false
}
