package mermaid

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reserved repairs an id that is a keyword of Mermaid.
func (s *slip) reserved() (f finding, ok bool) {
	at := s.at
	switch s.tok.kind {
	case kEnd, kStyle, kLinkStyle, kInterpolate, kClassDef, kClass, kHref, kClick, kCall, kGraph, kSubgraph, kTarget:
		if s.place != atStart && s.place != inNode && s.place != afterEdge && s.place != afterBars {
			return f, false
		}
	default:
		if at = s.from; s.place == inStyle || s.place == inClick || s.place == inSubgraph || s.why == extraEnd {
			if k, _ := keyword(s.s, at); k == kBad {
				return f, false
			}
		} else {
			return f, false
		}
	}
	end := at
	for end < len(s.s) && (is(s.s[end], isWord) || strings.IndexByte("-./", s.s[end]) >= 0 && innerDash(s.s, end)) {
		end++
	}
	after := skipBlanks(s.s, end)
	longer := words(s.s, at) < end
	if at == s.from && !longer && (after >= len(s.s) || !looksLikeLink(s.s, after) && (after > end || !isBracket(s.s[after]) && s.s[after] != '>')) {
		return f, false // it is used as a keyword
	}
	word := s.s[at:end]
	f = finding{code: codeID, from: at, to: end, summary: `"` + short(word) + `" is a Mermaid keyword`}
	if word == "end" {
		f.summary = `"end" closes a subgraph and is not an id`
	}
	f.remedy = "use another id"
	text := s.r.rename(word, s.s)
	if end >= len(s.s) || !isBracket(s.s[end]) && s.s[end] != '>' {
		text += `["` + word + `"]`
	}
	f.edits = []edit{{at, end, text}}
	return f, true
}

// safeID turns an id that cannot be written into one that can.
func safeID(id string) string {
	var b strings.Builder
	for i, r := range id {
		switch {
		case r < utf8.RuneSelf && is(byte(r), isWord) && (i > 0 || !is(byte(r), isDigit)), letterAt(id, i) > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	text := strings.Trim(b.String(), "_")
	if text == "" {
		text = "node"
		for i, r := range id {
			if i < 16 {
				text += "_" + strconv.FormatInt(int64(r), 16)
			}
		}
	}
	if !SafeID(text) && letterAt(text, 0) == 0 {
		text += "_"
	}
	return text
}

// rename returns the id that replaces one that cannot be written: the same everywhere, and not
// that of another node.
func (r *reader) rename(id, text string) string {
	if name, ok := r.renamed[id]; ok {
		return name
	}
	name := safeID(id)
	const most = 8
	for range most {
		i, taken := r.nodes[name]
		if !(taken && r.chart.Nodes[i].Text != id || !taken && r.search(text) && hasWord(text, name)) {
			break
		}
		name += "_"
	}
	if r.renamed == nil {
		r.renamed = map[string]string{}
	}
	r.renamed[id] = name
	return name
}

// hasWord reports whether a word is in a text.
func hasWord(s, word string) bool {
	for at := 0; ; at++ {
		i := strings.Index(s[at:], word)
		if i < 0 {
			return false
		}
		at += i
		if (at == 0 || !is(s[at-1], isWord)) && wordAt(s, at, word) && !strings.HasPrefix(s[at+len(word):], `["`) {
			return true
		}
	}
}

// nodeByLabel repairs a node that is referred to by its label.
func (s *slip) nodeByLabel() (f finding, ok bool) {
	from, to, quoted := s.phrase()
	if to <= from {
		return f, false
	}
	text := s.s[from:to]
	name := text
	if quoted {
		name = strings.Trim(text, `"`)
	}
	if !quoted && !s.isPhrase(name, to) || strings.TrimSpace(name) == "" {
		return f, false
	}
	f = finding{code: codeUnknownNode, from: from, to: to, summary: `"` + short(name) + `" is not a node`}
	if id := s.idOf(name); id != "" {
		f.remedy = "use its id " + id
		f.edits = []edit{{from, to, id}}
		return f, true
	}
	if len(s.st.links) == 0 && !quoted && !looksLikeLinkIn(s.line()) {
		return f, false
	}
	f.remedy = "an id cannot contain spaces"
	if quoted {
		f.remedy = "an id cannot contain quotes"
	}
	_, named := s.r.renamed[name] // it already has its label
	f.edits = []edit{{from, to, s.r.rename(name, s.s)}}
	if !named && (to >= len(s.s) || strings.IndexByte("([{", s.s[to]) < 0) {
		f.edits[0].text += `["` + inQuotes(name) + `"]`
	}
	return f, true
}

// isPhrase reports whether some words can only be the name of one node: they are not all nodes
// themselves, they do not contain half of an arrow, and they do not end in a label that is never
// opened.
func (s *slip) isPhrase(name string, to int) bool {
	if !hasBlank(name) || strings.Contains(name, " -") || to < len(s.s) && strings.IndexByte(")]}", s.s[to]) >= 0 {
		return false
	}
	return slices.ContainsFunc(strings.Fields(name), func(word string) bool {
		_, isNode := s.r.nodes[word]
		return !isNode
	})
}

// phrase returns what is in place of an id: a string, or words up to an arrow.
func (s *slip) phrase() (from, to int, quoted bool) {
	switch {
	case s.tok.kind == kString && (s.place == atStart || s.place == afterEdge || s.place == afterBars || s.place == inNode):
		end := strings.IndexByte(s.rest(s.at+1), '"')
		if end < 1 {
			return 0, 0, false
		}
		return s.at, s.at + end + 2, true
	case s.place == afterNode && len(s.st.nodes) > 0 && s.st.nodes[len(s.st.nodes)-1].end == s.st.nodes[len(s.st.nodes)-1].to:
		from = s.st.nodes[len(s.st.nodes)-1].from
	default:
		return 0, 0, false
	}
	eol := from + len(s.rest(from))
	for to = from; to < eol; to++ {
		c := s.s[to]
		if c == ';' || isBracket(c) || c == '"' || blankAt(s.s, to) > 0 && (looksLikeLink(s.s, skipBlanks(s.s, to)) || strings.HasPrefix(s.s[to:], " & ")) {
			break
		}
	}
	return from, blanksBefore(s.s, from, to), false
}

// idOf returns the id of the only node that has a label, or "".
func (s *slip) idOf(label string) string {
	if !s.r.search(s.s) {
		return ""
	}
	found := ""
	for _, n := range s.r.chart.Nodes {
		if n.HasText && strings.EqualFold(Unescape(n.Text), label) {
			if found != "" && found != n.ID {
				return ""
			}
			found = n.ID
		}
	}
	if found != "" {
		return found
	}
	for _, around := range [...]string{"[" + label + "]", `["` + label + `"]`, "(" + label + ")", "{" + label + "}"} {
		if i := strings.Index(s.s, around); i > 0 {
			from := i
			for from > 0 && is(s.s[from-1], isWord) {
				from--
			}
			return s.s[from:i]
		}
	}
	return ""
}

// badID repairs an id with a character that is not allowed.
func (s *slip) badID() (f finding, ok bool) {
	if s.place != atStart && s.place != inNode && s.place != afterEdge && s.place != afterBars && s.place != afterNode {
		return f, false
	}
	if s.tok.kind != kBad && s.tok.kind != kLess && s.tok.kind != kLinkID && s.tok.kind != kUp || s.at >= len(s.s) || isBracket(s.s[s.at]) {
		return f, false
	}
	from, to := s.at, s.at
	for from > s.from && s.s[from-1] != '>' && !isBracket(s.s[from-1]) && blankAt(s.s, from-1) == 0 && s.s[from-1] != '"' && s.s[from-1] != ';' {
		from--
	}
	for to < len(s.s) && !isBracket(s.s[to]) && blankAt(s.s, to) == 0 && s.s[to] != '"' && s.s[to] != ';' && !arrowAt(s.s, to) {
		to++
	}
	id := s.s[from:to]
	if id == "" {
		return f, false
	}
	f = finding{code: codeID, from: s.at, to: s.at + 1, summary: visible(s.s, s.at) + " is not allowed in an id", remedy: "use letters and digits"}
	text := s.r.rename(id, s.s)
	if to >= len(s.s) || !isBracket(s.s[to]) {
		text += `["` + inQuotes(id) + `"]`
	}
	f.edits = []edit{{from, to, text}}
	return f, true
}

func arrowAt(s string, at int) bool {
	k, _ := linkAt(s, at)
	return k != kBad && s[at] != 'x' && s[at] != 'o'
}

// strayCloser removes a bracket that closes nothing.
func (s *slip) strayCloser() (f finding, ok bool) {
	if s.at >= len(s.s) || strings.IndexByte(")]}", s.s[s.at]) < 0 {
		return f, false
	}
	if n := len(s.st.nodes); n > 0 && s.st.nodes[n-1].end == s.st.nodes[n-1].to {
		return f, false // it belongs to a label that is never opened
	}
	return finding{code: codeLabel, from: s.at, to: s.at + 1, summary: visible(s.s, s.at) + " does not close anything",
		remedy: "remove it", edits: []edit{{s.at, s.at + 1, ""}}}, true
}
