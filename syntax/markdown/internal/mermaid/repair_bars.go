package mermaid

import "strings"

// bars repairs a label between bars that must be quoted, or is not closed.
func (s *slip) bars() (f finding, ok bool) {
	if s.place != inBars {
		return f, false
	}
	start := s.open.to
	eol := start + len(s.rest(start))
	first := skipBlanks(s.s, start)
	for at := start; at < eol; at++ {
		i := strings.IndexByte(s.s[at:eol], '|')
		if i < 0 {
			break
		}
		at += i
		inner := strings.TrimSpace(s.s[start:at])
		if s.s[first] == '"' && !strings.HasSuffix(inner, `"`) || inner == "" || !startsNode(s.s, skipBlanks(s.s, at+1)) {
			continue
		}
		return s.quotedBars(start, at), true
	}
	return s.openBars(start, eol)
}

func startsNode(s string, at int) bool {
	if at >= len(s) {
		return false
	}
	return is(s[at], isID) || letterAt(s, at) > 0
}

func (s *slip) quotedBars(start, end int) finding {
	f := finding{code: codeLabel, from: s.at, to: s.at + 1, edits: quote(s.s, start, end)}
	if f.from < start || f.from >= end {
		f.from, f.to = start, end
	}
	f.summary = visible(s.s, f.from) + " in the label of an edge must be in quotes"
	if s.why == innerQuote || s.s[f.from] == '"' {
		f.code, f.summary, f.remedy = codeQuote, "a quote inside the label of an edge", "write #quot; for a quote"
	}
	return f
}

// openBars repairs a label without its second bar: the target is the word before a bracket, or
// the last word.
func (s *slip) openBars(start, eol int) (f finding, ok bool) {
	rest := strings.TrimRight(s.s[start:eol], " \t;")
	if strings.Contains(rest, "|") {
		return f, false
	}
	cut := strings.LastIndexAny(rest[:end(rest, strings.IndexAny(rest, "[({"))], " \t")
	if cut <= 0 || !startsNode(rest, cut+1) {
		return f, false
	}
	to := start + len(strings.TrimRight(rest[:cut], " \t"))
	edits := quote(s.s, start, to)
	edits[len(edits)-1].text += "|"
	return finding{code: codeEdgeLabel, from: s.open.from, to: s.open.to, summary: "the label of an edge is not closed",
		remedy: `close it with "|"`, edits: edits}, true
}

// end returns a place in a text, or its end if there is no such place.
func end(s string, at int) int {
	if at < 0 {
		return len(s)
	}
	return at
}

// emptyBars repairs bars without a label, or doubled ones.
func (s *slip) emptyBars() (f finding, ok bool) {
	if s.place != inBars || !strings.HasPrefix(s.s[s.open.from:], "||") {
		return f, false
	}
	from := s.open.from
	f = finding{code: codeEdgeLabel, from: from, to: from + 2, summary: "the bars contain no label", remedy: "remove them"}
	f.edits = []edit{{from, from + 2, ""}}
	rest := s.rest(from + 2)
	if i := strings.Index(rest, "||"); i > 0 {
		f.summary, f.remedy = "there are double bars around the label", "write one bar on each side"
		f.edits = []edit{{from, from + 1, ""}, {from + 2 + i, from + 3 + i, ""}}
	}
	return f, true
}

// gap repairs a space between an id and its brackets.
func (s *slip) gap() (f finding, ok bool) {
	n := len(s.st.nodes)
	if n == 0 || s.place != afterNode && s.place != atStart || !s.tok.kind.isShape() || s.tok.kind == kTag {
		return f, false
	}
	m := s.st.nodes[n-1]
	if m.end != m.to || blanks(s.s, m.to) != s.at {
		return f, false
	}
	return finding{code: codeLabel, from: m.to, to: s.at, summary: "there is a space between " + short(s.s[m.from:m.to]) + " and its label",
		remedy: "write the bracket directly after the id", edits: []edit{{m.to, s.at, ""}}}, true
}

// classBehindMeta repairs A@{…}:::name.
func (s *slip) classBehindMeta() (f finding, ok bool) {
	n := len(s.st.nodes)
	if s.place != afterNode || s.tok.kind != kClassSep || n == 0 || s.st.nodes[n-1].meta.to == 0 {
		return f, false
	}
	end := s.tok.to
	for end < len(s.s) && (is(s.s[end], isWord) || s.s[end] == '-' && innerDash(s.s, end)) {
		end++
	}
	m := s.st.nodes[n-1].meta
	return finding{code: codeMeta, from: s.at, to: end, summary: "the class comes after @{…}", remedy: "write the class before @{…}",
		edits: []edit{{m.from - 2, m.from - 2, s.s[s.at:end]}, {s.at, end, ""}}}, true
}

// meta repairs an @{ that is not closed, or contains a brace.
func (s *slip) meta() (f finding, ok bool) {
	if s.place != inMeta && (s.place != afterNode || len(s.st.nodes) == 0 || s.st.nodes[len(s.st.nodes)-1].meta.to == 0) {
		return f, false
	}
	from := s.open.from
	if s.place != inMeta {
		from = s.st.nodes[len(s.st.nodes)-1].meta.from - 2
	}
	eol := from + len(s.rest(from))
	f = finding{code: codeMeta, from: from, to: from + 2, summary: "@{ is not closed", remedy: "close it with }"}
	line := s.s[from:eol]
	last := strings.LastIndexByte(line, '}')
	if last > 0 {
		if edits := quotedBraces(s.s, from+2, from+last); len(edits) > 0 {
			f.from, f.to = edits[0].from, edits[0].from+1
			f.summary, f.remedy = `"}" in a value of @{…} must be in quotes`, "put the value in double quotes"
			f.edits = edits
			return f, true
		}
	}
	if last < 0 && s.why == unclosedMeta {
		to := from + len(strings.TrimRight(line, " \t"))
		f.edits = []edit{{to, to, " }"}}
		return f, true
	}
	return f, false
}

// quotedBraces puts the values that contain braces into quotes.
func quotedBraces(s string, from, to int) (edits []edit) {
	for at := from; at < to; {
		colon := strings.Index(s[at:to], ": ")
		if colon < 0 {
			return edits
		}
		start := skipBlanks(s[:to], at+colon+2)
		end, depth := start, 0
		for ; end < to && (s[end] != ',' || depth > 0); end++ {
			switch s[end] {
			case '{', '[', '(':
				depth++
			case '}', ']', ')':
				depth--
			}
		}
		value := strings.TrimRight(s[start:end], " ")
		if strings.ContainsAny(value, "{}^") && !strings.Contains(value, `"`) {
			edits = append(edits, edit{start, start, `"`}, edit{start + len(value), start + len(value), `"`})
		}
		at = end
	}
	return edits
}

// inQuotes returns a text as it may appear between quotes, with the entities of its author.
func inQuotes(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, `\"`, `"`), `"`, "#quot;")
}
