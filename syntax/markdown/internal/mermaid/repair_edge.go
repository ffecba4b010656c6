package mermaid

import (
	"strings"
)

// strayArrows are arrows that Mermaid does not know, with the ones that they mean. Longer ones
// come first.
var strayArrows = []struct{ written, means string }{
	{"-->>", "-->"}, {"->>", "-->"}, {"- ->", "-->"}, {"-- >", "-->"}, {"=>", "==>"}, {"->", "-->"},
	{"—>", "-->"}, {"–>", "-->"}, {"―>", "-->"}, {"−>", "-->"}, {"-—>", "-->"},
	{"→", "-->"}, {"⟶", "-->"}, {"➜", "-->"}, {"➔", "-->"}, {"➡️", "-->"}, {"➡", "-->"}, {"⇒", "==>"}, {"⟹", "==>"},
	{"↔", "<-->"}, {"⟷", "<-->"}, {"——>", "-->"}, {"——", "---"}, {"—", "---"},
}

// strayArrow returns one more than the index of such an arrow, or 0.
func strayArrow(s string, at int) int {
	for i, a := range strayArrows {
		if strings.HasPrefix(s[at:], a.written) {
			return i + 1
		}
	}
	return 0
}

// arrow repairs an arrow that Mermaid does not know.
func (s *slip) arrow() (f finding, ok bool) {
	at := s.at
	if s.open.kind == kTag || s.place == inEdge {
		at = s.open.from
	}
	if at > s.from && at <= len(s.s) && (s.s[at-1] == '-' || s.s[at-1] == '=') {
		at-- // the dash is in the id before
	}
	if s.place == inEdge {
		return s.singleEnd()
	}
	for ; at >= s.from; at-- { // there may be white space before it
		if i := strayArrow(s.s, min(at, len(s.s))); i > 0 {
			a := strayArrows[i-1]
			f = finding{code: codeArrow, from: at, to: at + len(a.written),
				summary: `"` + a.written + `" is not a Mermaid arrow`, remedy: `use ` + a.means}
			f.edits = []edit{{at, at + len(a.written), a.means}}
			if at > 0 && s.s[at-1] != ' ' && (s.s[at-1] == 'x' || s.s[at-1] == 'o') {
				f.edits[0].text = " " + a.means
			}
			return f, true
		}
		if at > len(s.s)-1 || blankAt(s.s, at) == 0 || s.s[at] == '\n' {
			break
		}
	}
	return f, false
}

// singleEnd repairs an edge whose text ends with a single dash: -- text ->.
func (s *slip) singleEnd() (f finding, ok bool) {
	open := s.trim(s.open)
	rest := s.rest(open.to)
	text, behind, found := strings.Cut(rest, "->")
	dash := open.to + len(text)
	switch {
	case strings.HasPrefix(rest, " >"):
		f = finding{code: codeArrow, from: open.from, to: open.to + 2, summary: "this arrow contains a space", remedy: "use -->"}
		f.edits = []edit{{open.to, open.to + 2, ">"}}
		return f, true
	case strings.HasPrefix(rest, "|") && strings.Contains(rest[1:], "|"):
		f = finding{code: codeArrow, from: open.from, to: open.to, summary: `"` + s.s[open.from:open.to] + `" before a label has no arrowhead`, remedy: "use -->"}
		f.edits = []edit{{open.to, open.to, ">"}}
		return f, true
	case !found || strings.HasSuffix(text, "-") || strings.TrimSpace(text) == "" || strings.TrimSpace(behind) == "":
		return f, false
	}
	f = finding{code: codeArrow, from: dash, to: dash + 2, summary: `"->" cannot end the text of an edge`, remedy: "use -->"}
	f.edits = []edit{{dash, dash + 2, "-->"}}
	if dash > 0 && s.s[dash-1] != ' ' {
		f.edits[0].text = " -->"
	}
	return f, true
}

// trim returns a token without the blanks around it.
func (s *slip) trim(t token) token {
	t.from = blanks(s.s[:t.to], t.from)
	t.to = blanksBefore(s.s, t.from, t.to)
	return t
}

// doubleHead repairs an arrow with an extra arrowhead: -->>.
func (s *slip) doubleHead() (f finding, ok bool) {
	at := s.at
	if s.place == inLabel && s.open.kind == kTag {
		at = s.open.from
	}
	if at == 0 || at >= len(s.s) || s.s[at] != '>' || s.s[at-1] != '>' {
		return f, false
	}
	f = finding{code: codeArrow, from: at, to: at + 1, summary: `an arrow has only one ">"`, remedy: "use -->"}
	f.edits = []edit{{at, at + 1, ""}}
	return f, true
}

// edgeText repairs a text that is not allowed between the halves of an edge: it goes between
// bars.
func (s *slip) edgeText() (f finding, ok bool) {
	if s.place != inEdge || s.open.kind != kStartLink {
		return f, false
	}
	open := s.trim(s.open)
	c := s.s[open.to-1]
	eol := open.to + len(s.rest(open.to))
	from, to := s.secondArrow(open.to, eol, c)
	if to == 0 {
		return s.noSecondHalf(open, eol)
	}
	text := strings.TrimSpace(s.s[open.to:from])
	f = finding{code: codeEdgeLabel, from: min(s.at, from), to: min(s.at, from) + 1,
		summary: visible(s.s, min(s.at, from)) + " is not allowed in the text of this edge", remedy: "put the text between bars"}
	arrow := s.s[from:to]
	if arrow[0] == '.' {
		arrow = "-" + arrow
	}
	if tail := s.s[open.from]; tail == '<' || tail == 'x' || tail == 'o' {
		arrow = string(tail) + arrow
	}
	if text == "" {
		f.summary, f.remedy = "the text of this edge is empty", "remove it"
		f.edits = []edit{{open.from, to, arrow}}
		return f, true
	}
	textFrom := open.to + strings.Index(s.s[open.to:from], text)
	edits := quote(s.s, textFrom, textFrom+len(text))
	first, last := &edits[0], &edits[len(edits)-1]
	first.from, first.text = open.from, arrow+`|"`
	last.to, last.text = to, `"| `
	last.to = skipBlanks(s.s, to)
	f.edits = edits
	return f, true
}

// secondArrow returns the arrow that ends the text of an edge on its line.
func (s *slip) secondArrow(at, eol int, c byte) (from, to int) {
	for ; at < eol; at++ {
		if s.s[at] != '-' && s.s[at] != '=' && s.s[at] != '.' {
			continue
		}
		k, end := linkAt(s.s, at)
		if k == kLink && end <= eol && (s.s[end-1] == '>' || blankAt(s.s, min(end, len(s.s)-1)) > 0) && (c == s.s[at] || s.s[at] == '-') {
			return at, end
		}
		for at+1 < eol && s.s[at+1] == s.s[at] {
			at++
		}
	}
	return 0, 0
}

// noSecondHalf repairs an edge with a text but no second half: the last word is its target.
func (s *slip) noSecondHalf(open token, eol int) (f finding, ok bool) {
	rest := strings.TrimRight(s.s[open.to:eol], " \t;")
	cut := strings.LastIndexAny(rest, " \t")
	if cut < 0 {
		return f, false
	}
	text, id := strings.TrimSpace(rest[:cut]), rest[cut+1:]
	f = finding{code: codeArrow, from: open.from, to: open.to, summary: `"` + s.s[open.from:open.to] + `" has no second half`, remedy: "an arrow ends with -->"}
	nodes := nodeStart(strings.TrimSpace(rest)) || strings.HasSuffix(text, " &") // not a text
	if !nodes && (id == "" || words(id, 0) != len(id)) || s.s[open.from] == '<' {
		return f, false
	}
	if text == "" || nodes {
		f.edits = []edit{{open.to, open.to, ">"}}
		return f, true
	}
	from := open.to + strings.Index(s.s[open.to:eol], text)
	edits := quote(s.s, from, from+len(text))
	edits[0].from, edits[0].text = open.from, `-->|"`
	edits[len(edits)-1].text = `"|`
	f.edits = edits
	return f, true
}

// backwards repairs A <-- B, which Mermaid does not support.
func (s *slip) backwards() (f finding, ok bool) {
	if s.place != inEdge || s.open.kind != kStartLink || s.s[s.trim(s.open).from] != '<' {
		return f, false
	}
	open := s.trim(s.open)
	end := open.to + len(s.rest(open.to))
	left, right := strings.TrimSpace(s.s[s.from:open.from]), strings.TrimRight(strings.TrimSpace(s.s[open.to:end]), ";")
	if left == "" || right == "" || looksLikeLinkIn(left) || looksLikeLinkIn(right) {
		return f, false
	}
	arrow := map[byte]string{'-': "-->", '=': "==>", '.': "-.->"}[s.s[open.to-1]]
	f = finding{code: codeArrow, from: open.from, to: open.to, summary: `"` + s.s[open.from:open.to] + `" cannot lead backwards`,
		remedy: "swap the two nodes, and use a forward arrow"}
	f.edits = []edit{{s.from, end, right + " " + arrow + " " + left}}
	return f, true
}

func looksLikeLinkIn(s string) bool {
	for i := range len(s) {
		if k, _ := linkAt(s, i); k == kLink {
			return true
		}
	}
	return false
}

// lineBreak repairs a label whose target is on the next line.
func (s *slip) lineBreak() (f finding, ok bool) {
	if s.place != afterBars || s.tok.kind != kNewline {
		return f, false
	}
	next := blanks(s.s, s.at)
	if next >= len(s.s) {
		return f, false
	}
	f = finding{code: codeArrow, from: s.at, to: s.at, summary: "the line ends between a label and its target",
		remedy: "write the target on the same line", edits: []edit{{blanksBefore(s.s, s.from, s.at), next, " "}}}
	return f, true
}

// noTarget repairs an arrow without a target.
func (s *slip) noTarget() (f finding, ok bool) {
	n := len(s.st.links)
	if s.place != afterEdge && s.place != afterBars || n == 0 {
		return f, false
	}
	l := s.st.links[n-1]
	if s.why != missingTarget && s.tok.kind != kEOF && !strings.Contains(s.s[l.to:max(l.to, s.at)], "\n") && s.tok.kind != kSemi {
		return f, false
	}
	f = finding{code: codeArrow, from: l.from, to: l.to, summary: "this arrow has no target", remedy: "write a node after it, or remove it"}
	f.edits = []edit{{blanksBefore(s.s, s.from, l.from), l.to, ""}}
	return f, true
}

// labelBefore repairs A |label| --> B.
func (s *slip) labelBefore() (f finding, ok bool) {
	if s.place != afterNode || s.tok.kind != kPipe {
		return f, false
	}
	bar := strings.IndexByte(s.rest(s.at+1), '|')
	if bar < 0 {
		return f, false
	}
	end := s.at + 1 + bar + 1
	arrow := skipBlanks(s.s, end)
	k, to := kBad, 0
	if arrow < len(s.s) {
		k, to = linkAt(s.s, arrow)
	}
	if k != kLink {
		return f, false
	}
	f = finding{code: codeEdgeLabel, from: s.at, to: end, summary: "the label comes before its arrow", remedy: "write it after the arrow"}
	label := strings.Trim(s.s[s.at+1:end-1], " \"")
	f.edits = []edit{{s.at, arrow, ""}, {to, to, `|"` + inQuotes(label) + `"|`}}
	return f, true
}

// labelBehind repairs A --> B |label|.
func (s *slip) labelBehind() (f finding, ok bool) {
	n := len(s.st.links)
	if s.place != afterNode || s.tok.kind != kPipe || n == 0 || s.st.links[n-1].label.pieces > 0 {
		return f, false
	}
	rest := strings.TrimRight(s.rest(s.at), " \t;")
	if len(rest) < 3 || rest[len(rest)-1] != '|' {
		return f, false
	}
	f = finding{code: codeEdgeLabel, from: s.at, to: s.at + len(rest), summary: "the label comes after the node", remedy: "write it after the arrow"}
	f.edits = s.moved(rest[1:len(rest)-1], blanksBefore(s.s, s.from, s.at), s.at+len(rest))
	return f, true
}

// moved moves a label to the last arrow.
func (s *slip) moved(label string, from, to int) []edit {
	at := s.st.links[len(s.st.links)-1].to
	text := `|"` + inQuotes(strings.Trim(strings.TrimSpace(label), `"`)) + `"|`
	if at < len(s.s) && blankAt(s.s, at) == 0 {
		text += " "
	}
	return []edit{{at, at, text}, {from, to, ""}}
}

// labelQuoted repairs A --> "label" B.
func (s *slip) labelQuoted() (f finding, ok bool) {
	if s.place != afterEdge || s.tok.kind != kString {
		return f, false
	}
	end := strings.IndexByte(s.rest(s.at+1), '"')
	if end <= 0 {
		return f, false
	}
	end += s.at + 2
	next := skipBlanks(s.s, end)
	if next >= len(s.s) || !is(s.s[next], isWord) {
		return f, false
	}
	l := s.st.links[len(s.st.links)-1]
	f = finding{code: codeEdgeLabel, from: s.at, to: end, summary: "the label of an edge goes between bars",
		edits: []edit{{l.to, s.at, "|"}, {end, end, "|"}}}
	return f, true
}

// colonLabel repairs A --> B: label.
func (s *slip) colonLabel() (f finding, ok bool) {
	n, m := len(s.st.links), len(s.st.nodes)
	if s.place != afterNode || n == 0 || m == 0 || s.st.links[n-1].label.pieces > 0 {
		return f, false
	}
	node := s.st.nodes[m-1]
	colon := node.to - 1
	if s.tok.kind == kColon {
		colon = s.at
	} else if node.to == 0 || s.s[colon] != ':' || node.end != node.to {
		return f, false
	}
	rest := strings.TrimRight(s.rest(colon+1), " \t;")
	label := strings.TrimSpace(rest)
	if label == "" || looksLikeLinkIn(label) {
		return f, false
	}
	f = finding{code: codeEdgeLabel, from: colon, to: colon + 1, summary: "Mermaid does not support labels after a colon", remedy: "write the label after the arrow"}
	f.edits = s.moved(label, blanksBefore(s.s, s.from, colon), colon+1+len(rest))
	return f, true
}
