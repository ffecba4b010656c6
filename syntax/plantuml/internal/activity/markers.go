package activity

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// A block is a diagram of a file: what is between @startuml and @enduml.
type block struct {
	from, to       int
	header         string
	name           string
	nameSpan       source.Span
	whole          source.Span
	opener, closer source.Span
	kind           string // after @start
	wrapped        bool
}

// blocks returns the diagrams of a text. If no diagram is marked, it is the whole text.
func blocks(text string) []block {
	s := newScanner(text)
	var found []block
	open := -1
	for at := 0; at < len(text); {
		raw, from, next := s.physical(at)
		if strings.IndexByte(raw, '@') < 0 && strings.IndexByte(raw, '\\') < 0 {
			at = next
			continue
		}
		if header, ok := startHeader(raw); ok {
			s.header = header
			raw, from, next = s.physical(at)
		}
		switch {
		case startsWith(raw, "start") && len(trimSpace(raw)) > 6:
			if open >= 0 {
				found[open].to, found[open].whole.To = at, at
			}
			found = append(found, openBlock(raw, from, next, s.header))
			open = len(found) - 1
		case open >= 0 && startsWith(raw, "end"):
			b := &found[open]
			b.to, b.closer = at, span(raw, from)
			b.whole.To = b.closer.To
			open = -1
		case open < 0:
			s.header = ""
		}
		at = next
	}
	if open >= 0 {
		found[open].to, found[open].whole.To = len(text), len(text)
	}
	if len(found) == 0 {
		found = append(found, block{to: len(text), whole: source.Span{To: len(text)}, kind: "uml", wrapped: true})
	}
	return found
}

func openBlock(raw string, from, next int, header string) block {
	b := block{from: next, header: header, opener: span(raw, from)}
	b.whole.From = b.opener.From
	text := trimSpace(raw)[6:]
	end := wordEnd(text, 0)
	b.kind = lower(text[:end])
	name := strings.Trim(text[end:], " \t{}()\"")
	if name != "" {
		at := b.opener.From + 6 + end + strings.Index(text[end:], name)
		b.nameSpan = source.Span{From: at, To: at + len(name)}
		b.name = strings.TrimPrefix(name, "id=")
	}
	return b
}

func span(raw string, from int) source.Span {
	lead := leading(raw)
	return source.Span{From: from + lead, To: from + lead + len(trimSpace(raw))}
}

// startsWith reports whether a line begins with @word or \word.
func startsWith(raw, word string) bool {
	text := raw[leading(raw):]
	return text != "" && (text[0] == '@' || text[0] == '\\') && strings.HasPrefix(text[1:], word)
}

// startHeader returns what is before @start on its line, if it is not a word: the comment mark of
// some programming language. PlantUML removes it from the following lines.
func startHeader(raw string) (string, bool) {
	at := strings.Index(raw, "start")
	if at < 1 || raw[at-1] != '@' && raw[at-1] != '\\' {
		return "", false
	}
	header := raw[:at-1]
	header = header[:len(header)-len(header[len(strings.TrimRight(header, " \t")):])]
	tag := false
	for _, c := range header {
		switch {
		case tag:
			tag = c != '>'
		case c == '<':
			tag = true
		case c == '~' || c < 0x80 && isWord(byte(c)) || c >= 0x80 && c != '\ufeff':
			return "", false
		}
	}
	if trimSpace(header) == "" {
		return "", true
	}
	return raw[:at-1], true
}

// markers reports mistakes around the diagram.
func (r *reader) markers() {
	d := r.diagram
	first := source.Span{From: d.Whole.From, To: d.Whole.From}
	if r.wrapped {
		r.problem(workflow.Error, CodeMarker, first, "the diagram has no @startuml",
			"write @startuml before its first line and @enduml after its last one",
			r.src.Edit(first, "@startuml\n"), r.src.Edit(source.Span{From: d.Whole.To, To: d.Whole.To}, r.lineEnd(d.Whole.To)+"@enduml\n"))
		return
	}
	if d.Closer.To == 0 {
		end := source.Span{From: d.Whole.To, To: d.Whole.To}
		if r.refuse(&line{from: d.Opener.From, to: d.Opener.To}) {
			return
		}
		r.problem(workflow.Error, CodeMarker, d.Opener, "@startuml at line "+r.lineOf(d.Opener.From)+" has no @enduml",
			"write @enduml after the last line of the diagram", r.src.Edit(end, r.lineEnd(end.From)+"@enduml\n"))
	}
}

// lineEnd returns a newline, unless there is one before an offset.
func (r *reader) lineEnd(at int) string {
	if at == 0 || r.scan.text[at-1] == '\n' {
		return ""
	}
	return "\n"
}

// directive parses a line of the preprocessor.
func (r *reader) directive(l *line) {
	r.decor(Directive, l)
	name := directiveWord(l.text)
	if r.skip != "" {
		if strings.HasPrefix(strings.ReplaceAll(lower(l.text), " ", ""), "!end"+r.skip) {
			r.skip = ""
		}
		return
	}
	loads := includes(name)
	if name == "theme" {
		_, theme, _ := strings.Cut(l.text, "theme")
		if loads = strings.Contains(theme, " from "); !loads {
			r.theme(l, trimSpace(theme))
		}
	}
	if isHarmless(name) && !loads {
		return
	}
	at := l.span(0, max(wordEnd(l.text, leading(l.text[1:])+1), 1))
	if loads {
		r.problem(workflow.Warning, CodePreprocessor, at, "not checked: included files are not read: "+trimDetail(l.text),
			"copy what the diagram needs into this file, and remove the line; keep it if it only changes the appearance")
		return
	}
	r.diagram.Preprocessed = true
	switch name {
	case "procedure", "function", "unquoted", "final":
		r.skip = "procedure"
		if strings.Contains(lower(l.text), "function") {
			r.skip = "function"
		}
		if strings.Contains(lower(l.text), "return ") {
			r.skip = ""
		}
	case "definelong":
		r.skip = "definelong"
	case "end", "endif", "endwhile", "endfor", "endfunction", "endprocedure", "enddefinelong", "else", "elseif", "return":
		return
	}
	r.problem(workflow.Error, CodePreprocessor, at, "not checked: preprocessor directives are not supported: "+trimDetail(l.text),
		"replace the lines that begin with ! with their result; !theme and !pragma are allowed")
}

// theme checks whether PlantUML has a theme, without which it refuses the diagram.
func (r *reader) theme(l *line, name string) {
	if slices.Contains(themes, name) || r.refuse(l) {
		return
	}
	edits, detail := r.remove(l), "remove the line, or write a theme like !theme plain"
	if meant := workflow.Meant(name, themes); meant != "" {
		detail = "write !theme " + meant
		edits = []workflow.Edit{r.src.Edit(l.whole(), "!theme "+meant)}
	}
	r.problem(workflow.Error, codeSyntax, l.whole(), "PlantUML has no theme "+quoted(name), detail, edits...)
}

var themes = strings.Fields(`_none_ amiga aws-orange black-knight bluegray blueprint carbon-gray cerulean cerulean-outline
	cloudscape-design crt-amber crt-green cyborg cyborg-outline hacker lightgray mars materia materia-outline metal
	mimeograph minty mono plain reddress-darkblue reddress-darkgreen reddress-darkorange reddress-darkred
	reddress-lightblue reddress-lightgreen reddress-lightorange reddress-lightred sandstone silver sketchy
	sketchy-outline spacelab spacelab-white sunlust superhero superhero-outline toy united vibrant`)

// trimDetail returns a text that is short enough for a message.
func trimDetail(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}

// finish closes what is still open, and sets the body of the diagram.
func (r *reader) finish() {
	if len(r.stack) > 1 && !r.stopped {
		r.left = true
		r.unclosed(1, nil)
	}
	for len(r.stack) > 1 {
		r.shut(source.Span{})
	}
	r.diagram.Body = r.items
	r.items = nil
	if r.foreign || r.stopped || r.diagram.Preprocessed {
		return
	}
	if !r.drawn() && len(r.diagram.Lanes) == 0 && len(r.found) == 0 {
		r.foreign = true
		if r.refuse(&line{from: r.diagram.Whole.From, to: r.diagram.Whole.From}) {
			return
		}
		at := r.diagram.Opener
		r.problem(workflow.Error, codeNotation, at, "the diagram has no activities", "write at least one step, like :Read the code;")
	}
}

// drawn reports whether the diagram contains something that only activity diagrams have. Labels
// and notes are possible elsewhere.
func (r *reader) drawn() bool {
	for _, e := range r.diagram.Body {
		_, label := e.(*Label)
		if _, note := e.(*Note); !label && !note {
			return true
		}
	}
	return false
}
