package xmltext

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// Layout is white space as XML defines it. Any other space, such as a non-breaking one, is
// text.
const Layout = " \t\r\n"

// Preserve is the attribute that keeps the white space of an element's text.
const Preserve = "xml:space"

// HasText reports whether the element has text of its own that is not layout.
func (e Element) HasText() bool {
	for at := e.data().text; at >= 0; at = e.doc.pieces[at].next {
		p := e.doc.pieces[at]
		if p.cdata || strings.Trim(e.doc.text[p.from:p.to], Layout) != "" {
			return true
		}
	}
	return false
}

// TextSpan returns the range of the first text of the element that is not layout.
func (e Element) TextSpan() Span {
	for at := e.data().text; at >= 0; at = e.doc.pieces[at].next {
		p := e.doc.pieces[at]
		if s := e.doc.trim(Span{int(p.from), int(p.to)}); s.To > s.From {
			return s
		}
	}
	return e.Inner()
}

// Text returns the text of the element without its layout: white space around it, and the
// indentation that its lines share. A CDATA section, a character written as a reference and
// everything under xml:space="preserve" are kept unchanged.
func (e Element) Text() string {
	text, _, _ := e.content()
	return text
}

// Source returns Text with its start and end position.
func (e Element) Source() workflow.Source {
	text, at, indent := e.content()
	return workflow.Source{Text: text, Pos: e.doc.Pos(at), Indent: indent}
}

// content returns the text, its position, and the column of its lines.
func (e Element) content() (text string, at Span, indent int) {
	first := e.data().text
	if first < 0 {
		return "", e.Inner(), 0
	}
	p := e.doc.pieces[first]
	switch {
	case e.preserves() || e.hasCDATA():
		text, at = e.exact()
		return text, at, 0
	case p.next < 0:
		return e.laidOut(e.doc.text[p.from:p.to], Span{int(p.from), int(p.to)})
	}
	var b strings.Builder // there is a comment in the text
	for i := first; i >= 0; i = e.doc.pieces[i].next {
		p = e.doc.pieces[i]
		b.WriteString(e.doc.text[p.from:p.to])
	}
	return e.laidOut(b.String(), Span{int(e.doc.pieces[first].from), int(p.to)})
}

func (e Element) hasCDATA() bool {
	for at := e.data().text; at >= 0; at = e.doc.pieces[at].next {
		if e.doc.pieces[at].cdata {
			return true
		}
	}
	return false
}

func (e Element) preserves() bool {
	data := e.data()
	if data.attrs == data.attrsEnd {
		return false
	}
	a := e.Attr(Preserve)
	return a.Exists() && a.Value() == "preserve"
}

// laidOut returns text without its layout.
func (e Element) laidOut(raw string, at Span) (string, Span, int) {
	at, column := e.doc.trim(at), 0
	raw = strings.Trim(raw, Layout)
	if strings.IndexByte(raw, '\n') >= 0 || strings.IndexByte(raw, '\r') >= 0 {
		indent, own := e.doc.indentOf(at.From)
		raw, column = dedent(normal(raw), indent, own)
	}
	return decode(raw), at, column
}

// trim removes the white space at both ends.
func (d *Document) trim(s Span) Span {
	for s.From < s.To && isSpace(d.text[s.From]) {
		s.From++
	}
	for s.From < s.To && isSpace(d.text[s.To-1]) {
		s.To--
	}
	return s
}

// indentOf returns the white space before an offset if there is nothing else before it in
// its line; ok is false if there is.
func (d *Document) indentOf(offset int) (indent string, ok bool) {
	line := strings.LastIndexByte(d.text[:offset], '\n') + 1
	indent = d.text[line:offset]
	return indent, strings.Trim(indent, " \t") == "" && line > 0
}

// dedent removes the indentation that all lines but the first share, also from the first if
// it begins its line in the file. The column is where the lines begin.
func dedent(raw string, first string, own bool) (text string, column int) {
	lines := strings.Split(raw, "\n")
	shared, known := first, own
	for _, l := range lines[1:] {
		content := strings.TrimLeft(l, " \t")
		if content == "" {
			continue
		}
		if indent := l[:len(l)-len(content)]; known {
			shared = common(shared, indent)
		} else {
			shared, known = indent, true
		}
	}
	for i, l := range lines[1:] {
		switch {
		case strings.HasPrefix(l, shared):
			lines[i+1] = l[len(shared):]
		case strings.Trim(l, " \t") == "":
			lines[i+1] = ""
		}
	}
	if own {
		lines[0] = first[len(shared):] + lines[0]
	}
	return strings.Join(lines, "\n"), len(shared) + 1
}

func common(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// exact returns text with a CDATA section, or whose white space counts. White space next to
// a CDATA section is layout.
func (e Element) exact() (string, Span) {
	keep := e.preserves()
	var b strings.Builder
	span := Span{-1, -1}
	for at := e.data().text; at >= 0; at = e.doc.pieces[at].next {
		p := e.doc.pieces[at]
		raw := normal(e.doc.text[p.from:p.to])
		switch {
		case p.cdata:
			b.WriteString(raw)
		case !keep && strings.Trim(raw, Layout) == "":
			continue
		default:
			b.WriteString(decode(e.edges(raw, at, keep)))
		}
		if span.From < 0 {
			span.From = int(p.from)
		}
		span.To = int(p.to)
	}
	if span.From < 0 {
		span = e.Inner()
	}
	return b.String(), span
}

// edges removes the layout from the first and the last piece.
func (e Element) edges(raw string, at int32, keep bool) string {
	data := e.data()
	if keep {
		return raw
	}
	if at == data.text {
		raw = strings.TrimLeft(raw, Layout)
	}
	if at == data.textEnd {
		raw = strings.TrimRight(raw, Layout)
	}
	return raw
}

// normal normalizes every line break to a line feed, as XML requires.
func normal(raw string) string {
	if strings.IndexByte(raw, '\r') < 0 {
		return raw
	}
	return breaks.Replace(raw)
}

var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// decode replaces references. Invalid ones stay unchanged; the tokenizer has reported them.
func decode(raw string) string {
	at := strings.IndexByte(raw, '&')
	if at < 0 {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw))
	for at >= 0 {
		b.WriteString(raw[:at])
		char, size := reference(raw[at:])
		if size == 0 {
			char, size = "&", 1
		}
		b.WriteString(char)
		raw = raw[at+size:]
		at = strings.IndexByte(raw, '&')
	}
	b.WriteString(raw)
	return b.String()
}

// reference returns the character that a reference at the beginning of raw stands for, and
// the length of the reference; 0 if it is not one.
func reference(raw string) (char string, size int) {
	end := len(raw) - len(strings.TrimLeft(raw[1:], "#0123456789abcdefghijklmnopqrstuvwxyzABCDEF"))
	if end < 2 || end == len(raw) || raw[end] != ';' {
		return "", 0
	}
	name := raw[1:end]
	if name[0] != '#' {
		char = predefined(name)
		if char == "" {
			return "", 0
		}
		return char, end + 1
	}
	digits, base := name[1:], 10
	if strings.HasPrefix(digits, "x") {
		digits, base = digits[1:], 16
	}
	code, err := strconv.ParseUint(digits, base, 32)
	if err != nil || !isChar(rune(code)) {
		return "", 0
	}
	return string(rune(code)), end + 1
}

func predefined(name string) string {
	switch name {
	case "lt":
		return "<"
	case "gt":
		return ">"
	case "amp":
		return "&"
	case "quot":
		return `"`
	case "apos":
		return "'"
	}
	return ""
}

// isChar reports whether XML 1.0 allows a character.
func isChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= utf8.MaxRune
}

// CanHold reports whether XML can contain a text, escaped or not.
func CanHold(text string) bool {
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
				return false
			}
		}
		if !isChar(r) {
			return false
		}
		i += size
	}
	return true
}
