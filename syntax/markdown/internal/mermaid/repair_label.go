package mermaid

import "strings"

// brackets are the pairs that open and close a label, the longer ones first.
var brackets = []struct{ open, close string }{
	{"(((", ")))"}, {"((", "))"}, {"([", "])"}, {"(-", "-)"}, {"(", ")"},
	{"[[", "]]"}, {"[(", ")]"}, {"[/", "/]"}, {"[/", `\]`}, {`[\`, `\]`}, {`[\`, "/]"}, {"[", "]"},
	{"{{", "}}"}, {"{", "}"}, {">", "]"},
}

// label repairs a label that must be quoted, is not closed, or is closed by the wrong bracket: it
// ends at the first bracket after which a node can end.
func (s *slip) label() (f finding, ok bool) {
	if s.place != inLabel && s.place != inTitle {
		return f, false
	}
	at := s.open.from
	if s.why == emptyText {
		return s.emptyLabel()
	}
	for _, b := range brackets {
		if !strings.HasPrefix(s.s[at:], b.open) {
			continue
		}
		start := at + len(b.open)
		if to := s.closer(start, b.close); to >= 0 && s.edgeIn(start, to) < 0 {
			return s.quoted(at, start, to), true
		}
	}
	return s.unclosed(at)
}

// closer returns where a label is closed, or -1.
func (s *slip) closer(start int, closer string) int {
	end := start + len(s.rest(start))
	if to := s.closerIn(start, end, closer); to >= 0 {
		return to
	}
	if s.place == inTitle {
		return -1
	}
	const most = 6
	for range most { // a label over several lines
		line := s.s[start:end]
		if looksLikeLinkIn(line) || strings.TrimSpace(line) == "" || end >= len(s.s) {
			break
		}
		start = end + 1
		end = start + len(s.rest(start))
		if startsStatement(s.s[start:end]) {
			break
		}
		if to := s.closerIn(start, end, closer); to >= 0 {
			return to
		}
	}
	return -1
}

// startsStatement reports whether a line is a statement, rather than the second line of a label.
func startsStatement(line string) bool {
	line = strings.TrimSpace(line)
	if k, _ := keyword(line, 0); k != kBad || nodeStart(line) {
		return true
	}
	for i := range len(line) {
		if strings.IndexByte(")]}", line[i]) >= 0 {
			return false
		}
		if k, _ := linkAt(line, i); k == kLink {
			return true
		}
	}
	return false
}

// nodeStart reports whether a text begins with an id and a bracket.
func nodeStart(s string) bool {
	id := words(s, 0)
	return id > 0 && id < len(s) && strings.IndexByte("([{", s[id]) >= 0
}

func (s *slip) closerIn(start, end int, closer string) int {
	plain := -1
	for at := start; ; at++ {
		i := strings.Index(s.s[at:end], closer)
		if i < 0 {
			break
		}
		at += i
		if at > start && s.endsLabel(at+len(closer)) {
			plain = at
			break
		}
	}
	if first := blanks(s.s, start); first >= len(s.s) || s.s[first] != '"' {
		return plain
	}
	if plain >= 0 && strings.Count(s.s[start:plain], `"`) == 1 {
		return plain
	}
	for at := start + 1; at < end; at++ {
		i := strings.Index(s.s[at:end], `"`+closer)
		if i < 0 {
			break
		}
		at += i
		if s.endsLabel(at + 1 + len(closer)) {
			return at + 1
		}
	}
	return plain
}

func (s *slip) endsLabel(at int) bool {
	if s.place == inTitle {
		return strings.TrimSpace(s.rest(at)) == ""
	}
	return endsNode(s.s, at)
}

// quoted puts a label into quotes.
func (s *slip) quoted(open, start, end int) finding {
	f := finding{code: codeLabel, from: s.at, to: s.at + 1, edits: quote(s.s, start, end)}
	if f.from < start || f.from >= end {
		f.from, f.to = start, end
	}
	name := s.owner(open)
	what := visible(s.s, f.from)
	switch {
	case s.open.kind == kSlash || s.open.kind == kBackslash:
		f.code, f.from, f.to = codeSlash, s.open.from, s.open.to
		f.summary = `"` + s.s[s.open.from:s.open.to] + `" begins a slanted shape, not the label` + name
	case strings.Contains(s.s[start:end], `\"`):
		f.code = codeQuote
		f.summary = `Mermaid does not support \" in the label` + name
		f.remedy = "write #quot; for a quote"
	case s.why == badMarkdown:
		f.code = codeQuote
		f.summary = "the Markdown label" + name + " contains a quote or a backtick"
		f.remedy = "write #96; for a backtick"
	case s.why == innerQuote && strings.Count(s.s[start:end], `"`) == 2 && strings.TrimLeft(s.s[start:end], " \t\n")[0] == '"':
		f.summary = "there is a space between the bracket and the quote of the label" + name
	case s.why == innerQuote || s.why == badQuote:
		f.code = codeQuote
		f.summary = "there is a quote inside the label" + name
		f.remedy = "write #quot; for a quote"
	default:
		f.summary = what + " in the label" + name + " must be in quotes"
	}
	return f
}

// owner names the node whose label is opened at a place.
func (s *slip) owner(open int) string {
	if n := len(s.st.nodes); n > 0 && s.place == inLabel {
		if m := s.st.nodes[n-1]; m.open.from == open {
			return " of " + short(s.s[m.from:m.to])
		}
	}
	return ""
}

// quote returns the edits that put a range into quotes, with the quotes inside it written as
// entities.
func quote(s string, start, end int) (edits []edit) {
	from, to := start, end
	from = blanks(s[:to], from)
	to = blanksBefore(s, from, to)
	open, closed := edit{start, from, `"`}, edit{to, end, `"`}
	first, last := from < to && s[from] == '"', from < to-1 && s[to-1] == '"' && s[to-2] != '\\'
	if alone := strings.Count(s[from:to], `"`) == 1; first && last || first && alone {
		from++
		open.to = from
	}
	if alone := strings.Count(s[from:to], `"`) == 1; last && (first || alone) {
		to--
		closed.from = to
	}
	edits = append(edits, open)
	if from < to && s[from] == '`' {
		edits = append(edits, edit{from, from + 1, "#96;"})
		from++
	}
	for at := from; at < to; at++ {
		switch {
		case strings.HasPrefix(s[at:to], `\"`):
			edits = append(edits, edit{at, at + 2, "#quot;"})
			at++
		case s[at] == '"':
			edits = append(edits, edit{at, at + 1, "#quot;"})
		}
	}
	return append(edits, closed)
}

// emptyLabel repairs brackets without a text.
func (s *slip) emptyLabel() (finding, bool) {
	f := finding{code: codeLabel, from: s.open.from, to: s.at, summary: "the label" + s.owner(s.open.from) + " is empty"}
	if s.place == inTitle {
		_, to := s.v.line(s.at)
		f.edits = []edit{{from: blanksBefore(s.s, s.from, s.open.from), to: to}}
		return f, true
	}
	start := s.open.to
	for start < s.at && (s.s[start] == '(' || s.s[start] == '{') {
		start++
	}
	f.edits = []edit{{from: start, to: s.at, text: `" "`}}
	f.remedy = "for an empty label, write a space in quotes"
	return f, true
}

// unclosed repairs a label that is closed by another bracket, or not at all.
func (s *slip) unclosed(at int) (f finding, ok bool) {
	start := s.open.to
	closer := "]"
	for _, b := range brackets {
		if strings.HasPrefix(s.s[at:], b.open) {
			start, closer = at+len(b.open), b.close
			break
		}
	}
	end := start + len(s.rest(start))
	f = finding{code: codeLabel, from: at, to: start,
		summary: `"` + s.s[at:start] + `" is not closed` + strings.Replace(s.owner(at), " of", " in the label of", 1),
		remedy:  `close it with "` + closer + `"`}
	for to := start + 1; to < end; to++ {
		c := s.s[to]
		if c != ')' && c != ']' && c != '}' {
			continue
		}
		last := to
		for last < end && (s.s[last] == ')' || s.s[last] == ']' || s.s[last] == '}') {
			last++
		}
		if s.endsLabel(last) && s.edgeIn(start, to) < 0 {
			f.from, f.to = to, last
			f.summary = `"` + s.s[to:last] + `" does not close "` + s.s[at:start] + `"`
			f.edits = append(quote(s.s, start, to), edit{to, last, closer})
			return f, true
		}
		to = last
	}
	to := s.linkIn(start, end)
	if to < 0 {
		to = end
	}
	to = blanksBefore(s.s, start, to)
	if to > start && s.s[to-1] == ';' {
		to--
	}
	if to == start {
		return f, false
	}
	f.edits = append(quote(s.s, start, to), edit{to, to, closer})
	return f, true
}

// linkIn returns the first space before an arrow in a range, or before "& node[", or -1.
func (s *slip) linkIn(start, end int) int {
	for i := start; i < end; i++ {
		if blankAt(s.s, i) == 0 {
			continue
		}
		if looksLikeLink(s.s, skipBlanks(s.s, i)) {
			return i
		}
		if node, ok := strings.CutPrefix(s.s[i:end], " & "); ok && nodeStart(node) {
			return i
		}
	}
	return -1
}

// edgeIn returns where what seems to be a label continues with an arrow to another node, or -1:
// after the arrow, a bracket is opened that the label does not close, so the next closing bracket
// belongs to that node.
func (s *slip) edgeIn(start, end int) int {
	link := s.linkIn(start, end)
	if link < 0 {
		return -1
	}
	open := 0
	for _, c := range []byte(s.s[link:end]) {
		switch c {
		case '(', '[', '{':
			open++
		case ')', ']', '}':
			open--
		}
	}
	if open <= 0 {
		return -1
	}
	return link
}
