package mermaid

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fence ends the chart at a code fence.
func (s *slip) fence() (f finding, ok bool) {
	line := s.line()
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return f, false
	}
	f = finding{code: codeFence, from: s.from, to: s.eol, last: true, summary: "a code fence inside the chart",
		remedy: "the chart ends here; remove what follows"}
	if mark := run(s.s, s.from, line[0]); mark < s.eol {
		f.remedy = "end the block with a fence and nothing after it"
		f.edits = []edit{{mark, s.eol, ""}}
	}
	return f, true
}

// entities repairs brackets and arrows that are written as HTML.
func (s *slip) entities() (f finding, ok bool) {
	quoted := false
	for at := s.from; at < s.eol; at++ {
		c := s.s[at]
		if c == '"' {
			quoted = !quoted
		}
		if c != '&' || quoted {
			continue
		}
		end := at + 1
		for end < s.eol && (is(s.s[end], isWord) || s.s[end] == '#') {
			end++
		}
		if end >= s.eol || s.s[end] != ';' {
			continue
		}
		plain := html.UnescapeString(s.s[at : end+1])
		if plain == s.s[at:end+1] {
			continue
		}
		f.edits = append(f.edits, edit{at, end + 1, plain})
		if plain == `"` {
			quoted = !quoted
		}
		at = end
	}
	if len(f.edits) == 0 {
		return s.breaks()
	}
	e := f.edits[0]
	f.code, f.from, f.to = codeEntity, e.from, e.to
	f.summary = `"` + s.s[e.from:e.to] + `" is HTML for "` + e.text + `"`
	f.remedy = "write the character itself"
	return f, true
}

// breaks repairs statements that are joined by <br/>.
func (s *slip) breaks() (f finding, ok bool) {
	if s.tok.kind != kLess || !strings.HasPrefix(s.s[s.at:], "<br") {
		return f, false
	}
	end := strings.IndexByte(s.rest(s.at), '>')
	if end < 0 {
		return f, false
	}
	end += s.at + 1
	return finding{code: codeEntity, from: s.at, to: end, summary: "<br> does not end a statement", remedy: "write a newline",
		edits: []edit{{s.at, skipBlanks(s.s, end), "\n" + s.indent(s.at)}}}, true
}

// invisible removes invisible characters.
func (s *slip) invisible() (f finding, ok bool) {
	if s.at >= len(s.s) {
		return f, false
	}
	r, n := utf8.DecodeRuneInString(s.s[s.at:])
	if !unicode.Is(unicode.Cf, r) && r != 0xfe0f && (r >= ' ' || r == '\n') {
		return f, false
	}
	return finding{code: codeCharacter, from: s.at, to: s.at + n, summary: "there is an invisible character here",
		remedy: "remove it", edits: []edit{{s.at, s.at + n, ""}}}, true
}

// comment puts a comment on its own line.
func (s *slip) comment() (f finding, ok bool) {
	at, mark := s.commentAt()
	if mark == "" {
		return f, false
	}
	f = finding{code: codeComment, from: at, to: at + len(mark), summary: "there is a comment after a statement", remedy: "put the comment on its own line"}
	text := "%%"
	if mark != "%%" {
		text = "%% "
		f.summary = `"` + mark + `" does not start a comment`
		f.remedy = "start a comment with %% on its own line"
	}
	start := at
	if before, _ := s.v.line(at); strings.TrimSpace(s.s[before:at]) != "" {
		start = blanksBefore(s.s, before, at)
		text = "\n" + s.indent(at) + text
	}
	next := at + len(mark)
	if mark != "%%" {
		next = skipBlanks(s.s, next)
	}
	f.edits = []edit{{start, next, text}}
	if end := strings.Index(s.rest(next), "-->"); mark == "<!--" && end >= 0 {
		f.edits = append(f.edits, edit{blanksBefore(s.s, next, next+end), next + end + 3, ""})
	}
	return f, true
}

// commentAt returns where a comment starts that made the statement fail.
func (s *slip) commentAt() (at int, mark string) {
	for _, at := range [...]int{s.from, s.at, blanks(s.s, s.at)} {
		if at >= len(s.s) || at > s.from && blankAt(s.s, at-1) == 0 && s.place != inSubgraph {
			continue
		}
		for _, m := range [...]string{"%%", "//", "<!--", "# ", "#"} {
			if !strings.HasPrefix(s.s[at:], m) {
				continue
			}
			if m == "#" && (at != s.from || s.place == inStyle || entityAt(s.s, at) > 0) {
				continue
			}
			if strings.HasPrefix(s.s[at:], "%%{") {
				continue
			}
			return at, strings.TrimSpace(m)
		}
	}
	// The parser failed at the word after the mark, or the mark is in a title.
	if s.place == afterNode || s.place == inSubgraph || s.place == inTitle {
		line := s.s[s.from:min(max(s.from, s.at), s.eol)]
		for _, m := range [...]string{" %%", " //", " <!--"} {
			if i := strings.LastIndex(line, m); i > 0 {
				return s.from + i + 1, strings.TrimSpace(m)
			}
		}
	}
	return 0, ""
}

// foreignWords are words that start lines of other diagrams, or lines that no diagram has.
var foreignWords = map[string]string{
	"participant": "sequence-diagram syntax", "actor": "sequence-diagram syntax", "activate": "sequence-diagram syntax",
	"deactivate": "sequence-diagram syntax", "autonumber": "sequence-diagram syntax", "loop": "sequence-diagram syntax",
	"alt": "sequence-diagram syntax", "opt": "sequence-diagram syntax", "par": "sequence-diagram syntax",
	"note": "sequence-diagram syntax", "Note": "sequence-diagram syntax", "rect": "sequence-diagram syntax",
	"if": "PlantUML syntax", "else": "PlantUML syntax", "elseif": "PlantUML syntax", "endif": "PlantUML syntax",
	"while": "PlantUML syntax", "endwhile": "PlantUML syntax", "fork": "PlantUML syntax", "@startuml": "PlantUML syntax",
	"@enduml": "PlantUML syntax", "skinparam": "PlantUML syntax", "partition": "PlantUML syntax",
	"title": "not a statement of a flowchart", "section": "not a statement of a flowchart", "state": "state-diagram syntax",
	"theme": "not a statement of a flowchart", "config:": "not a statement of a flowchart",
}

// foreign removes a line of another diagram.
func (s *slip) foreign() (f finding, ok bool) {
	line := s.line()
	word := line
	if i := strings.IndexAny(line, " \t("); i > 0 {
		word = line[:i]
	}
	what := foreignWords[word]
	if what == "" || word == line && word != "autonumber" && !strings.HasPrefix(word, "@") || looksLikeLinkIn(line) {
		return f, false
	}
	f = finding{code: codeNotation, from: s.from, to: s.from + len(word), summary: "this is " + what, remedy: "remove the line"}
	switch word {
	case "title":
		f.remedy = "write the title in the front matter: --- title: … ---"
		f.edits = []edit{{s.from, s.from, "%% "}}
	case "note", "Note", "theme", "config:", "skinparam", "section", "autonumber":
		f.edits = []edit{{s.from, s.from, "%% "}}
	}
	return f, true
}

// glued repairs two statements on one line.
func (s *slip) glued() (f finding, ok bool) {
	if s.place != afterNode || len(s.st.links) == 0 || !s.tok.kind.inID() || s.at == 0 || blankAt(s.s, s.at-1) == 0 {
		return f, false
	}
	p := newParser(s.rest(s.at))
	if p.statement() != nil || len(p.st.links) == 0 || len(p.st.nodes) == 0 {
		return f, false
	}
	return finding{code: codeStatement, from: s.at, to: s.at + 1, summary: "there are two statements on this line",
		remedy: "write a newline between them", edits: []edit{{blanksBefore(s.s, s.from, s.at), s.at, "\n" + s.indent(s.at)}}}, true
}

// secondHeader removes a header in the middle of a chart.
func (s *slip) secondHeader() (f finding, ok bool) {
	if s.why != secondHeader {
		return f, false
	}
	line := strings.Fields(s.line())
	if len(line) > 2 {
		return f, false
	}
	from, _ := s.v.line(s.from)
	return finding{code: codeHeader, from: s.from, to: s.eol, summary: "the chart has a second header", remedy: "remove the line",
		edits: []edit{{from, min(s.eol+1, len(s.s)), ""}}}, true
}
