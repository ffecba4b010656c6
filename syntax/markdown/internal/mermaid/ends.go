package mermaid

import "strings"

// block is a subgraph that is still open, with the indentation of its first line and of its
// contents, which is -1 if there are none yet.
type block struct{ at, indent, body int }

// enders are what people write instead of "end". Mermaid reads them as nodes.
var enders = map[string]bool{"endsubgraph": true, "endSubgraph": true, "end_subgraph": true, "End": true, "END": true}

// missingEnds finds where the missing ends of subgraphs belong, by the indentation of the lines.
// If that does not help, they belong at the end of the text.
func missingEnds(v *view, at, count int) []finding {
	s := &blocks{v: v}
	p := newParser(v.text)
	for p.at = at; p.at < len(p.text); {
		if f := p.statement(); f != nil {
			p.at = lineEnd(v.text, p.st.from)
			p.st.to = p.st.from
		}
		if p.st.form != noForm {
			s.statement(&p.st)
		}
	}
	for len(s.open) > 0 {
		s.drop(len(v.text) - 1)
	}
	if len(s.missing) == count {
		return s.missing
	}
	end := len(v.text) - 1
	f := finding{code: codeEnd, from: end, to: end, summary: "a subgraph is not closed", remedy: "write end below its last line", exact: true}
	if len(s.missing) > 0 {
		f.from, f.to = s.missing[0].from, s.missing[0].to
	}
	f.edits = []edit{s.ends(end, strings.Repeat("end\n", count))}
	return []finding{f}
}

// blocks tracks subgraphs by their indentation.
type blocks struct {
	v       *view
	open    []block
	missing []finding
}

func (b *blocks) statement(st *statement) {
	line, _ := b.v.line(st.from)
	indent := st.from - line
	first := strings.TrimSpace(b.v.text[line:st.from]) == ""
	if n := len(b.open); n > 0 && b.open[n-1].body < 0 {
		b.open[n-1].body = indent
	}
	switch {
	case st.form == endForm:
		for first && len(b.open) > 1 && b.open[len(b.open)-1].indent > indent {
			b.drop(line)
		}
		b.pop()
	case len(b.open) > 0 && st.form == chainForm && len(st.nodes) == 1 && enders[b.v.text[st.from:st.to]]:
		b.missing = append(b.missing, finding{code: codeEnd, from: st.from, to: st.to, summary: `"` + b.v.text[st.from:st.to] + `" does not close a subgraph`,
			edits: []edit{{st.from, st.to, "end"}}})
		b.pop()
	default:
		for first && len(b.open) > 0 && b.top().body > b.top().indent && indent <= b.top().indent {
			b.drop(line)
		}
	}
	if st.form == subgraphForm {
		b.open = append(b.open, block{st.from, indent, -1})
	}
}

func (b *blocks) top() block { return b.open[len(b.open)-1] }

func (b *blocks) pop() {
	if len(b.open) > 0 {
		b.open = b.open[:len(b.open)-1]
	}
}

// drop closes the innermost subgraph at the start of a line.
func (b *blocks) drop(at int) {
	f := b.top()
	b.pop()
	_, to := b.v.line(f.at)
	b.missing = append(b.missing, finding{code: codeEnd, from: f.at, to: to, summary: "the subgraph is not closed",
		remedy: "write end below its last line", exact: true, edits: []edit{b.end(at, f.indent)}})
}

// end returns the edit that inserts an "end" at a place: the start of a line, or the end of the
// text.
func (b *blocks) end(at, indent int) edit {
	return b.ends(at, strings.Repeat(" ", indent)+"end\n")
}

// ends returns the edit that inserts whole lines at such a place. A text without a final line
// break stays without one.
func (b *blocks) ends(at int, lines string) edit {
	if at > 0 && b.v.text[at-1] != '\n' {
		lines = "\n" + strings.TrimSuffix(lines, "\n")
	}
	return edit{at, at, lines}
}
