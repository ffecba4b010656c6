package mermaid

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fence ends the chart at the mark of a code block.
func (s *slip) fence() (f finding, ok bool) {
	line := s.line()
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return f, false
	}
	f = finding{code: codeFence, from: s.from, to: s.eol, last: true, summary: "the mark of a code block inside of the chart",
		remedy: "the chart ends here: leave out what follows"}
	if mark := run(s.s, s.from, line[0]); mark < s.eol {
		f.remedy = "a mark with nothing behind it ends the block"
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

// breaks repairs statements that are glued by <br/>.
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

// invisible leaves out characters that cannot be seen.
func (s *slip) invisible() (f finding, ok bool) {
	if s.at >= len(s.s) {
		return f, false
	}
	r, n := utf8.DecodeRuneInString(s.s[s.at:])
	if !unicode.Is(unicode.Cf, r) && r != 0xfe0f && (r >= ' ' || r == '\n') {
		return f, false
	}
	return finding{code: codeCharacter, from: s.at, to: s.at + n, summary: "a character that cannot be seen",
		remedy: "leave it out", edits: []edit{{s.at, s.at + n, ""}}}, true
}

// comment puts a comment on a line of its own.
func (s *slip) comment() (f finding, ok bool) {
	at, mark := s.commentAt()
	if mark == "" {
		return f, false
	}
	f = finding{code: codeComment, from: at, to: at + len(mark), summary: "a comment behind a statement", remedy: "a comment needs a line of its own"}
	text := "%%"
	if mark != "%%" {
		text = "%% "
		f.summary = `"` + mark + `" starts no comment`
		f.remedy = "a comment starts with %% and needs a line of its own"
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

// commentAt is where a comment starts that made the statement fail.
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
	// The word behind the mark was met first, or the mark stands in a title.
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

// foreignWords start lines of other diagrams, or of none.
var foreignWords = map[string]string{
	"participant": "sequence-diagram syntax", "actor": "sequence-diagram syntax", "activate": "sequence-diagram syntax",
	"deactivate": "sequence-diagram syntax", "autonumber": "sequence-diagram syntax", "loop": "sequence-diagram syntax",
	"alt": "sequence-diagram syntax", "opt": "sequence-diagram syntax", "par": "sequence-diagram syntax",
	"note": "sequence-diagram syntax", "Note": "sequence-diagram syntax", "rect": "sequence-diagram syntax",
	"if": "PlantUML syntax", "else": "PlantUML syntax", "elseif": "PlantUML syntax", "endif": "PlantUML syntax",
	"while": "PlantUML syntax", "endwhile": "PlantUML syntax", "fork": "PlantUML syntax", "@startuml": "PlantUML syntax",
	"@enduml": "PlantUML syntax", "skinparam": "PlantUML syntax", "partition": "PlantUML syntax",
	"title": "no statement of a flowchart", "section": "no statement of a flowchart", "state": "state-diagram syntax",
	"theme": "no statement of a flowchart", "config:": "no statement of a flowchart",
}

// foreign leaves out a line of another diagram.
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
	f = finding{code: codeNotation, from: s.from, to: s.from + len(word), summary: "this is " + what, remedy: "leave the line out"}
	switch word {
	case "title":
		f.remedy = "a title goes in the front matter: --- title: … ---"
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
	return finding{code: codeStatement, from: s.at, to: s.at + 1, summary: "two statements on one line",
		remedy: "write a newline between them", edits: []edit{{blanksBefore(s.s, s.from, s.at), s.at, "\n" + s.indent(s.at)}}}, true
}

// secondHeader leaves out a header in the middle of a chart.
func (s *slip) secondHeader() (f finding, ok bool) {
	if s.why != secondHeader {
		return f, false
	}
	line := strings.Fields(s.line())
	if len(line) > 2 {
		return f, false
	}
	from, _ := s.v.line(s.from)
	return finding{code: codeHeader, from: s.from, to: s.eol, summary: "a second header", remedy: "one chart has one: leave the line out",
		edits: []edit{{from, min(s.eol+1, len(s.s)), ""}}}, true
}
