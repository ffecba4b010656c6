package mermaid

import (
	"strings"
)

// misreadChain warns about what Mermaid reads without an error, but not as its author means it,
// and about what other versions of Mermaid do not support.
func (r *reader) misreadChain(v *view, s *statement) {
	for i := range s.links {
		r.misreadLink(v, &s.links[i], s.nodes[s.joints[i]].from)
	}
	for i := range s.nodes {
		m := &s.nodes[i]
		if m.shape != NoShape {
			r.misreadLabel(v, m)
		}
		switch c := v.text[m.from]; {
		case c == '%' || c == '`':
			r.misreadMark(v, m)
		case strings.IndexByte(v.text[m.from+1:m.to], '&') >= 0:
			r.doubts = append(r.doubts, doubt{ampID, v, m.from, m.to})
		}
	}
	if len(r.chart.Statements) == 0 && len(s.nodes) == 1 && s.nodes[0].end == s.nodes[0].to {
		r.misreadDirection(v, &s.nodes[0])
	}
}

// misreadLink warns about arrows that take a letter, or lose an arrowhead.
func (r *reader) misreadLink(v *view, l *link, next int) {
	t := v.text
	first := t[l.first.from:l.first.to]
	if l.second.to > 0 {
		at := l.second.from
		if c := takenLetter(t, l); c != "" {
			r.warn(v, finding{code: codeArrowLetter, from: at, to: at + 1,
				summary: "Mermaid reads the label of this edge as " + short(l.label.text),
				remedy:  `"` + c + `" before an arrow is read as part of it; put a space between them`, edits: []edit{{at + 1, at + 1, " "}}})
		}
	} else if last := first[len(first)-1]; (last == 'x' || last == 'o') && len(first) > 3 && l.label.pieces == 0 && next == l.first.to {
		r.doubts = append(r.doubts, doubt{arrowLetter, v, next - 1, next})
	}
	switch {
	case l.mixed:
		r.warn(v, finding{code: codeHead, from: l.from, to: l.to, summary: "the two halves of this arrow do not match",
			remedy: "use the same kind of line, and the same arrowhead or none, in both"})
	case tailOf(first[0]) != NoHead && l.style.tail == NoHead:
		r.warn(v, finding{code: codeHead, from: l.first.from, to: l.first.from + 1,
			summary: visible(first, 0) + " at the start of this arrow is not drawn", remedy: "an arrowhead at the start needs the same one at the end"})
	}
	if l.id[1] > 0 {
		r.version(v, l.id[0], l.id[1]+1, "the id of an edge needs Mermaid 11.5 or newer", nil)
	}
	if l.second.to == 0 && l.label.pieces > 0 && next > l.to+1 {
		r.version(v, l.to, next, "two spaces after a label need Mermaid 12", []edit{{l.to, next, " "}})
	}
	r.signInLabel(v, &l.label, l.first.to)
}

// takenLetter returns the x or o at the end of a label that Mermaid reads as part of the arrow
// after it.
func takenLetter(t string, l *link) string {
	at := l.second.from
	if l.second.to > 0 && (t[at] == 'x' || t[at] == 'o') && at > 0 && at == l.label.to && is(t[at-1], isWord) {
		return t[at : at+1]
	}
	return ""
}

// misreadLabel warns about labels that are not shown as they are written.
func (r *reader) misreadLabel(v *view, m *mention) {
	t := v.text
	start, end := inner(m)
	switch {
	case m.label.slip && (strings.Contains(t[start:end], `\"`) || quotesInside(t[start:end])):
		r.warn(v, finding{code: codeQuote, from: start, to: end, summary: "Mermaid shows this label as " + short(m.label.text),
			remedy: "write #quot; for a quote", edits: quote(t, start, end)})
	case m.open.kind == kSlash && m.shape == LeanRight && isPath(m.label.text) && !m.label.quoted:
		r.warn(v, finding{code: codeSlash, from: m.open.from, to: m.end, summary: "this is a slanted shape, not the label " + short(t[m.open.from+1:m.end-1]),
			remedy: "put the path in quotes", edits: quote(t, m.open.from+1, m.end-1)})
	}
	if at := listMark(t, m.label.from, m.label.to); at > 0 && !m.label.markdown {
		r.warn(v, finding{code: codeList, from: m.label.from, to: at + 1, summary: "Mermaid reads this label as a list, and does not show it",
			edits: []edit{{at, at + 1, escaped(rune(t[at]))}}})
	}
	r.signInLabel(v, &m.label, start)
}

// quotesInside reports whether a label in quotes has other quotes in it, which are not shown.
func quotesInside(label string) bool {
	label = strings.TrimSpace(label)
	return strings.HasPrefix(label, `"`) && strings.HasSuffix(label, `"`) && strings.Count(label, `"`) > 2
}

// inner returns the range between the brackets of a node.
func inner(m *mention) (start, end int) {
	start, end = m.open.to, m.end-1
	switch m.shape {
	case Circle, Hexagon:
		start++
		end--
	case Stadium, Subroutine, Cylinder, Ellipse, LeanLeft, LeanRight, Trapezoid, InvTrapezoid:
		end--
	case DoubleCircle:
		end -= 2
	case Rect:
		start = m.label.from
	}
	return start, max(start, end)
}

// isPath reports whether a text looks like a path rather than words.
func isPath(s string) bool {
	if s == "" || hasBlank(s) {
		return false
	}
	return strings.ContainsAny(s, "/{:") || strings.ToLower(s) == s
}

// listMark returns the character that makes a text a Markdown list, or 0.
func listMark(s string, from, to int) int {
	at := from
	for at < to && is(s[at], isDigit) {
		at++
	}
	if at+1 >= to || s[at+1] != ' ' {
		return 0
	}
	if at > from && (s[at] == '.' || s[at] == ')') || at == from && (s[at] == '-' || s[at] == '*' || s[at] == '+') {
		return at
	}
	return 0
}

// signInLabel warns about an @ in a label: Mermaid 11 reads what is before it as the id of an
// edge.
func (r *reader) signInLabel(v *view, b *label, start int) {
	if b.pieces != 1 || b.quoted || b.markdown {
		return
	}
	at := strings.IndexByte(b.text, '@')
	if at < 0 || start > b.from || hasBlank(v.text[start:b.from+at]) || at+1 < len(b.text) && (b.text[at+1] == '{' || b.text[at+1] == '"') {
		return
	}
	r.warn(v, finding{code: codeVersion, from: b.from + at, to: b.from + at + 1, summary: "Mermaid 11 does not read @ in a label without quotes",
		edits: quote(v.text, b.from, b.to)})
}

// misreadMark warns about marks that Mermaid reads as nodes.
func (r *reader) misreadMark(v *view, m *mention) {
	switch id := v.text[m.from:m.to]; {
	case id == "%%":
		r.warn(v, finding{code: codeComment, from: m.from, to: m.to, summary: "Mermaid reads %% without text as a node, not as a comment",
			remedy: "write some text after it", edits: []edit{{m.to, m.to, " -"}}})
	case strings.HasPrefix(id, "```"):
		r.warn(v, finding{code: codeFence, from: m.from, to: m.to, summary: "Mermaid reads the code fence as a node",
			remedy: "remove the line", edits: cutLine(v, m.from)})
	}
}

// misreadDirection warns about a direction on its own line.
func (r *reader) misreadDirection(v *view, m *mention) {
	id := v.text[m.from:m.to]
	if _, known := directionAt(v.text, m.from); known == "" || words(id, 0) != len(id) {
		return
	}
	head := blanksBefore(v.text, 0, m.from)
	if k, to := keyword(v.text[:head], 0); k != kGraph || to != head {
		return
	}
	r.warn(v, finding{code: codeHeader, from: m.from, to: m.to, summary: id + " on its own line is a node, not the direction",
		remedy: "write it after the first word", edits: []edit{{head, m.from, " "}}})
}

// misreadDecor warns about decorations that do more than their author means.
func (r *reader) misreadDecor(v *view, s *statement) {
	t := v.text
	switch {
	case s.decor == Direction && s.strayDir:
		r.vanished(v, s)
	case s.decor == Direction && s.dir == "TD":
		r.version(v, s.value[0], s.value[1], "direction TD in the middle of a chart needs Mermaid 12", []edit{{s.value[1] - 1, s.value[1], "B"}})
	case s.decor == Style:
		r.doubts = append(r.doubts, doubt{styledOnly, v, s.names[0], s.names[1]})
	}
	if s.names[1] > 0 && s.decor != Click {
		for _, gap := range [...][2]int{{blanksBefore(t, s.from, s.names[0]), s.names[0]}, {s.names[1], s.value[0]}} {
			if gap[1] > gap[0]+1 {
				r.version(v, gap[0], gap[1], "two spaces in a style need Mermaid 12", []edit{{gap[0], gap[1], " "}})
			}
		}
	}
}

// vanished warns about a line that Mermaid ignores because it contains "direction LR".
func (r *reader) vanished(v *view, s *statement) {
	t := v.text
	f := finding{code: codeDirection, from: s.value[0], to: s.value[1],
		summary: `"` + short(t[s.value[0]:s.value[1]]) + `" makes Mermaid ignore the whole line`}
	word := s.value[0] + len("direction")
	if s.value[0] != s.from {
		f.remedy = "write #32; for the space"
		f.edits = []edit{{word, s.value[1] - 2, "#32;"}}
		r.warn(v, f)
		return
	}
	rest := strings.TrimLeft(t[s.value[1]:s.to], "; \t")
	if strings.HasPrefix(rest, "%%") || strings.HasPrefix(rest, "//") {
		return
	}
	f.from, f.to = s.to-len(rest), s.to
	f.summary = `Mermaid ignores what follows "direction ` + s.dir + `"`
	f.remedy = "write it on its own line"
	f.edits = []edit{{s.value[1], s.to - len(rest), "\n"}}
	r.warn(v, f)
}

// misreadSubgraph warns about names that Mermaid does not read to their end, or reads as a title.
func (r *reader) misreadSubgraph(v *view, s *statement) {
	t := v.text
	_, eol := v.line(s.from)
	switch {
	case s.id.slip && s.id.from < eol && strings.Contains(t[s.id.from:max(s.id.from, s.to)], "\n"):
		r.warn(v, finding{code: codeSubgraph, from: s.id.from, to: eol, summary: `"end" in the name of a subgraph makes Mermaid include the next line`,
			remedy: "put the name in quotes", edits: quote(t, s.id.from, eol)})
	case s.blank && !s.titled && !hasBlank(s.id.text):
		r.doubts = append(r.doubts, doubt{blankName, v, s.id.from, s.id.to})
	}
}
