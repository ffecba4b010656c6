package activity

import (
	"sort"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// A line is a line as the patterns see it, with the positions of its bytes. Usually it is a line
// of the file. PlantUML joins lines that end in a backslash, removes comments at the ends of a
// line, and treats an en dash as a hyphen; then it consists of pieces.
type line struct {
	raw  string
	text string // raw without white space around it
	lead int    // where text begins in raw
	from int    // where the line begins in the file
	to   int    // where it ends, without the line break
	next int    // where the next line begins

	pieces []piece
	kind   lineKind
	made   bool // it replaces what the author wrote
}

// A piece says that the bytes of raw from at on are in the file from pos on.
type piece struct{ at, pos int }

type lineKind uint8

const (
	plain lineKind = iota
	comment
	directive
	fileEnd
)

const enDash = "–"

// span returns where a range of l.text is in the file.
func (l *line) span(from, to int) source.Span {
	if from >= to {
		at := l.pos(from + l.lead)
		if from > 0 && from == len(l.text) { // except in a line that adds nothing
			at = min(at, l.whole().To)
		}
		return source.Span{From: at, To: at}
	}
	at := l.pos(from + l.lead)
	return source.Span{From: at, To: max(at, min(l.pos(to+l.lead-1)+1, l.to))}
}

func (l *line) whole() source.Span { return l.span(0, len(l.text)) }

func (l *line) pos(at int) int {
	if l.pieces == nil {
		return l.from + at
	}
	i := sort.Search(len(l.pieces), func(i int) bool { return l.pieces[i].at > at })
	if i == 0 {
		return l.from
	}
	p := l.pieces[i-1]
	pos := p.pos + at - p.at
	if i < len(l.pieces) {
		pos = min(pos, max(p.pos, l.pieces[i].pos))
	}
	return min(pos, l.to)
}

// scanner splits a text into lines. It has no state: the same offset always returns the same
// line, so that a reader can look ahead.
type scanner struct {
	text    string
	end     int    // of the diagram
	header  string // what is before @startuml on its line, and is removed from all others
	returns bool   // the text has carriage returns
	dashes  bool   // and en dashes
	inner   bool   // and ends of comments
}

func newScanner(text string) scanner {
	return scanner{
		text: text, end: len(text), returns: strings.IndexByte(text, '\r') >= 0,
		dashes: strings.Contains(text, enDash), inner: strings.Contains(text, "'/"),
	}
}

// physical returns the line of the file at an offset, and where the next one begins.
func (s *scanner) physical(at int) (raw string, from, next int) {
	rest := s.text[at:s.end]
	var n int
	if s.returns {
		n = strings.IndexAny(rest, "\r\n")
	} else {
		n = strings.IndexByte(rest, '\n')
	}
	switch {
	case n < 0:
		raw, next = rest, s.end
	case rest[n] == '\r' && n+1 < len(rest) && rest[n+1] == '\n':
		raw, next = rest[:n], at+n+2
	default:
		raw, next = rest[:n], at+n+1
	}
	from = at
	if s.header != "" {
		if strings.HasPrefix(s.header, raw) {
			return "", from + len(raw), next
		}
		if cut, ok := strings.CutPrefix(raw, s.header); ok {
			from += len(s.header)
			raw = cut
		}
	}
	if strings.HasPrefix(raw, "\ufeff") {
		raw, from = raw[3:], from+3
	}
	return raw, from, next
}

// merged returns the line at an offset, joined with those that follow a backslash.
func (s *scanner) merged(at int) line {
	if at >= s.end {
		return line{from: s.end, to: s.end, next: s.end, kind: fileEnd}
	}
	raw, from, next := s.physical(at)
	l := line{raw: raw, from: from, to: from + len(raw), next: next}
	if joins(raw) || s.dashes && strings.Contains(raw, enDash) {
		s.assemble(&l)
	}
	return l
}

func joins(raw string) bool {
	return strings.HasSuffix(raw, `\`) && !strings.HasSuffix(raw, `\\`)
}

func (s *scanner) assemble(l *line) {
	var text []byte
	raw, from := l.raw, l.from
	for {
		for i := 0; i < len(raw); {
			n := strings.Index(raw[i:], enDash)
			if n < 0 {
				l.pieces = append(l.pieces, piece{len(text), from + i})
				text = append(text, raw[i:]...)
				break
			}
			l.pieces = append(l.pieces, piece{len(text), from + i})
			text = append(text, raw[i:i+n]...)
			text = append(text, '-')
			i += n + len(enDash)
		}
		l.to = from + len(raw)
		n := len(text)
		if n == 0 || text[n-1] != '\\' || n > 1 && text[n-2] == '\\' {
			break
		}
		at := s.skipComments(l.next)
		if at >= s.end {
			break
		}
		text = text[:n-1]
		raw, from, l.next = s.physical(at)
		raw, from = innerComment(raw, from)
	}
	l.raw = string(text)
}

// skipComments returns where the first line that is not a comment begins: between joined lines,
// comments do not count.
func (s *scanner) skipComments(at int) int {
	long := false
	for at < s.end {
		raw, _, next := s.physical(at)
		text := trimSpace(raw)
		switch {
		case long:
			long = !strings.HasSuffix(text, "'/")
		case strings.HasPrefix(text, "'"):
		case strings.HasPrefix(text, "/'") && strings.HasSuffix(text, "'/"):
		case strings.HasPrefix(text, "/'") && !strings.Contains(text, "'/"):
			long = true
		default:
			return at
		}
		at = next
	}
	return at
}

// line returns the line at an offset as the patterns see it. A comment is one line, however long
// it is.
func (s *scanner) line(at int) line {
	l := s.merged(at)
	if l.kind == fileEnd {
		return l
	}
	l.lead = leading(l.raw)
	rest := l.raw[l.lead:]
	if rest == "" {
		return l
	}
	switch rest[0] {
	case '\'':
		l.kind = comment
		l.text = rest
		return l
	case '/':
		if len(rest) > 1 && rest[1] == '\'' && s.blockComment(&l, rest) {
			return l
		}
	case '!':
		if directiveWord(rest) != "" {
			l.kind = directive
		}
	case 0xc2:
		if after := strings.TrimLeft(rest, "\u00a0 \t"); strings.HasPrefix(after, "'") {
			l.kind = comment
			l.text = rest
			return l
		}
	}
	if s.inner && strings.Contains(l.raw, "'/") {
		cutComments(&l)
	}
	l.text = l.raw[l.lead:]
	for len(l.text) > 0 && l.text[len(l.text)-1] <= ' ' {
		l.text = l.text[:len(l.text)-1]
	}
	return l
}

// blockComment parses a comment that is a whole line, or several.
func (s *scanner) blockComment(l *line, rest string) bool {
	text := trimSpace(rest)
	l.text = rest
	switch {
	case strings.HasSuffix(text, "'/") && len(text) >= 4:
		l.kind = comment
		return true
	case strings.Contains(rest, "'/"):
		return false
	}
	l.kind = comment
	for l.next < s.end {
		m := s.merged(l.next)
		l.next, l.to = m.next, m.to
		if strings.HasSuffix(trimSpace(m.raw), "'/") {
			return true
		}
	}
	l.to = s.end
	return true
}

// cutComments removes /' '/ at the ends of a line.
func cutComments(l *line) {
	raw, from := innerComment(l.raw, 0)
	if len(raw) == len(l.raw) {
		return
	}
	cut := line{raw: raw, from: l.pos(from), to: l.to, next: l.next, kind: l.kind}
	if l.pieces != nil {
		for _, p := range l.pieces {
			cut.pieces = append(cut.pieces, piece{max(p.at-from, 0), p.pos + max(from-p.at, 0)})
		}
	}
	*l = cut
	l.lead = leading(raw)
}

// innerComment returns what PlantUML keeps of a line, and how far its beginning has moved.
func innerComment(raw string, from int) (string, int) {
	text := trimSpace(raw)
	if strings.HasPrefix(text, "/'") {
		if at := strings.Index(raw, "'/"); at >= 0 {
			return raw[at+2:], from + at + 2
		}
	}
	if strings.HasSuffix(text, "'/") {
		if at := strings.LastIndex(raw, "/'"); at >= 0 {
			return raw[:at], from
		}
	}
	return raw, from
}

// directiveWord returns the directive of a line that the preprocessor executes, or "" if there is
// none.
func directiveWord(text string) string {
	rest := strings.TrimLeft(text[1:], " \t")
	end := 0
	for end < len(rest) && (isWord(rest[end]) || rest[end] == '$') {
		end++
	}
	word := strings.ToLower(rest[:end])
	if isDirective(word) {
		return word
	}
	for _, scope := range []string{"local", "global"} {
		if word == scope {
			rest = strings.TrimLeft(rest[end:], " \t")
			end = 0
			for end < len(rest) && (isWord(rest[end]) || rest[end] == '$' || rest[end] >= 0x80) {
				end++
			}
		}
	}
	after := strings.TrimLeft(rest[end:], " \t")
	if end > 0 && (strings.HasPrefix(after, "=") || strings.HasPrefix(after, "?=")) {
		return "assignment"
	}
	return ""
}

// isDirective reports whether the preprocessor knows a word.
func isDirective(word string) bool {
	switch word {
	case "define", "definelong", "undef", "ifdef", "ifndef", "if", "else", "elseif", "endif", "while",
		"endwhile", "foreach", "endfor", "procedure", "function", "unquoted", "final", "endfunction",
		"endprocedure", "enddefinelong", "end", "return", "exit", "assert":
		return true
	}
	return isHarmless(word) || includes(word)
}

// isHarmless reports whether a directive does not change the lines around it.
func isHarmless(word string) bool {
	switch word {
	case "theme", "option", "log", "dump_memory", "startsub", "endsub":
		return true
	}
	return false
}

// includes reports whether a directive reads another file.
func includes(word string) bool {
	switch word {
	case "include", "includeurl", "include_many", "include_once", "includedef", "includesub", "import":
		return true
	}
	return false
}

func leading(s string) int {
	n := 0
	for n < len(s) && s[n] <= ' ' {
		n++
	}
	return n
}

func trimSpace(s string) string {
	s = s[leading(s):]
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}
