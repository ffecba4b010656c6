package mermaid

import (
	"strings"
)

// A mistake is repaired by editing the text of its statement, and the repaired text is read
// instead. So what is read after a mistake is the result of the fix.
//
// repairs are tried in order, the more certain ones first. The first one that lets the reader get
// past the mistake is used.
var repairs = []func(*slip) (finding, bool){
	(*slip).fence, (*slip).entities, (*slip).invisible, (*slip).comment, (*slip).foreign,
	(*slip).endSubgraph, (*slip).brace, (*slip).reserved,
	(*slip).arrow, (*slip).doubleHead, (*slip).label, (*slip).emptyBars, (*slip).bars, (*slip).edgeText, (*slip).backwards,
	(*slip).lineBreak, (*slip).noTarget, (*slip).gap, (*slip).labelBefore, (*slip).labelBehind, (*slip).labelQuoted,
	(*slip).colonLabel, (*slip).classBehindMeta, (*slip).meta, (*slip).subgraph, (*slip).style, (*slip).glued,
	(*slip).nodeByLabel, (*slip).badID, (*slip).strayCloser, (*slip).secondHeader,
}

// slip is a statement that cannot be read.
type slip struct {
	*fault
	r    *reader
	v    *view
	st   *statement
	s    string // the text of the view
	from int    // where the statement starts
	eol  int    // end of the line of from
	at   int    // where parsing failed
}

// recover reads a statement with a mistake. It returns the place to continue from.
func (r *reader) recover(v *view, st *statement, f *fault, depth int) int {
	s := &slip{fault: f, r: r, v: v, st: st, s: v.text, from: st.from, at: f.tok.from}
	_, s.eol = v.line(st.from)
	r.budget -= max(0, f.tok.from-st.from) + 4*(s.eol-s.from) + 64
	const deepest = 24
	if depth < deepest && r.budget > 0 {
		for _, repair := range repairs {
			found, ok := repair(s)
			if !ok {
				continue
			}
			if next, done := r.repair(s, found, depth); done {
				return next
			}
		}
	}
	r.wrong(v, s.unknown())
	return min(s.eol+1, len(v.text))
}

// repair reads the statement with the edits of a finding, if that helps.
func (r *reader) repair(s *slip, f finding, depth int) (next int, done bool) {
	if f.last {
		r.wrong(s.v, f)
		return len(s.s), true
	}
	if len(f.edits) == 0 {
		r.wrong(s.v, f)
		return min(s.eol+1, len(s.s)), true
	}
	last := f.edits[len(f.edits)-1].to
	end := s.regionEnd(last)
	repaired := s.v.changed(s.from, end, f.edits)
	repaired = repaired.cut(comments(repaired.text))
	p := newParser(repaired.text)
	for p.at < len(p.text) {
		if fault := p.statement(); fault == nil {
			continue
		} else if repaired.offset(fault.tok.from) < s.v.offset(last) {
			return 0, false
		}
		break
	}
	r.wrong(s.v, f)
	r.statements(repaired, 0, depth+1)
	return end, true
}

// regionEnd returns the end of the lines that have to be read together with a place.
func (s *slip) regionEnd(at int) int {
	end := lineEnd(s.s, max(at, s.eol))
	if at > 0 && at == end && s.s[at-1] == '\n' {
		end = at
	}
	const most = 20
	for range most {
		next := blanks(s.s, end)
		if next >= len(s.s) {
			break
		}
		k, _ := linkAt(s.s, next)
		if k == kBad && !endsInArrow(s.s[s.from:end]) {
			break
		}
		end = lineEnd(s.s, next)
	}
	return end
}

// endsInArrow reports whether a text ends with an arrow that leads to the next line.
func endsInArrow(s string) bool {
	s = strings.TrimRight(s, " \t\n")
	for _, a := range [...]string{"--", "-->", "==>", "==", ".->", "--x", "--o", "~~~", ".-"} {
		if strings.HasSuffix(s, a) {
			return true
		}
	}
	return false
}

// indent returns the indentation of the line at a place.
func (s *slip) indent(at int) string {
	from, _ := s.v.line(at)
	return s.s[from:min(skipBlanks(s.s, from), at)]
}

// rest returns the rest of the line after a position.
func (s *slip) rest(at int) string {
	end := lineEnd(s.s, at)
	if end > at && s.s[end-1] == '\n' {
		end--
	}
	return s.s[at:end]
}

// line returns the line of the statement, beginning at the statement.
func (s *slip) line() string { return s.s[s.from:s.eol] }

// unknown returns the finding if nothing better is known.
func (s *slip) unknown() finding {
	at := min(s.at, max(s.from, s.eol-1))
	f := finding{code: codeStatement, from: at, to: min(at+1, len(s.s)), summary: visible(s.s, at) + " is not allowed here"}
	switch s.place {
	case inSubgraph, inTitle:
		f.code, f.remedy = codeSubgraph, `open a subgraph with: subgraph id ["title"]`
	case inClick:
		f.code, f.remedy = codeStyle, `write click id "address" "tip", or click id call name()`
	case inStyle:
		f.code, f.remedy = codeStyle, "write a style such as style id fill:#fff,stroke:#000"
	case inLabel, inBars:
		f.code, f.remedy = codeLabel, "put the label that starts with "+visible(s.s, s.open.from)+" in double quotes"
	case inEdge:
		f.code, f.remedy = codeEdgeLabel, `write an edge such as a -->|"label"| b`
	case inMeta:
		f.code, f.remedy = codeMeta, "close it with } on the same line"
	case atStart, inNode, afterNode, afterBars, afterEdge:
		f.remedy = `write a node, such as id["label"], or an edge, such as a -->|"label"| b`
	}
	return f
}

// looksLikeLink reports whether an arrow starts here, including arrows that Mermaid does not
// know.
func looksLikeLink(s string, at int) bool {
	if at >= len(s) {
		return false
	}
	if k, _ := linkAt(s, at); k != kBad {
		return true
	}
	return strayArrow(s, at) > 0
}

// endsNode reports whether what is here can follow a node.
func endsNode(s string, at int) bool {
	end := at
	for end < len(s) && s[end] != '\n' && blankAt(s, end) > 0 {
		end += blankAt(s, end)
	}
	if end >= len(s) || s[end] == '\n' || s[end] == ';' || looksLikeLink(s, end) {
		return true
	}
	rest := s[end:]
	if end > at && (strings.HasPrefix(rest, "& ") || strings.HasPrefix(rest, "%%") || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "# ")) {
		return true
	}
	if end > at {
		if id := words(s, end); id > end && id < len(s) && s[id] == '@' {
			return looksLikeLink(s, id+1)
		}
	}
	return strings.HasPrefix(rest, ":::") || strings.HasPrefix(rest, "@{") || strings.HasPrefix(rest, "<br")
}

// skipBlanks skips the white space of a line.
func skipBlanks(s string, at int) int {
	for at < len(s) && s[at] != '\n' && blankAt(s, at) > 0 {
		at += blankAt(s, at)
	}
	return at
}
