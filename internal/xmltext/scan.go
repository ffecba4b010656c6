package xmltext

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a token is.
type tokenKind uint8

const (
	endOfText tokenKind = iota
	charData
	cdataSection
	comment
	instruction
	startTag
	endTag
)

// token is a piece of the text. The attributes of a start tag are the last ones
// of the document.
type token struct {
	kind     tokenKind
	from, to int
	name     string
	empty    bool // <a/>
	cut      bool // the text ends within it
}

// scanner is the tokenizer. It never stops at an error: it reports it and reads the text in
// the way that is most likely meant.
type scanner struct {
	*Document
	pos      int
	isTag    func(name string) bool // what counts as a tag; nil: everything that looks like one
	problems func(mistake)
}

// mistake is something in the text that is not well-formed.
type mistake struct {
	at              Span
	code            string
	summary, detail string
	fix             string // what replaces what is between fixAt; only with fixed
	fixAt           Span
	fixed           bool
}

func (m mistake) fixedBy(at Span, text string) mistake {
	m.fix, m.fixAt, m.fixed = text, at, true
	return m
}

// next reads a token.
func (s *scanner) next() token {
	if s.pos >= len(s.text) {
		return token{kind: endOfText, from: s.pos, to: s.pos}
	}
	if s.text[s.pos] == '<' {
		if t, ok := s.markup(); ok {
			return t
		}
	}
	return s.characters()
}

// characters reads up to the next markup. A < that does not begin markup is text.
func (s *scanner) characters() token {
	from := s.pos
	for at := from; ; at++ {
		i := strings.IndexByte(s.text[at:], '<')
		if i < 0 {
			s.pos = len(s.text)
			break
		}
		if at += i; s.beginsMarkup(at) {
			s.pos = at
			break
		}
		s.strayBracket(at)
	}
	s.checkReferences(Span{from, s.pos})
	if i := strings.Index(s.text[from:s.pos], "]]>"); i >= 0 {
		s.problems(mistake{
			at: Span{from + i, from + i + 3}, code: codeSyntax,
			summary: "]]> is not allowed in text", detail: "write ]]&gt;",
		}.fixedBy(Span{from + i + 2, from + i + 3}, "&gt;"))
	}
	return token{kind: charData, from: from, to: s.pos}
}

// beginsMarkup reports whether the < at an offset begins a tag, a comment, a section or an
// instruction.
func (s *scanner) beginsMarkup(at int) bool {
	rest := s.text[at+1:]
	switch {
	case rest == "":
		return s.isTag != nil // cut off
	case rest[0] == '!':
		return isDeclaration(rest) || s.isTag != nil && isBeginning(rest)
	case rest[0] == '?':
		return true
	case rest[0] == '/':
		rest = rest[1:]
	}
	name := rest[:nameEnd(rest)]
	switch {
	case name == "":
		return s.isTag != nil && rest == ""
	case s.isTag == nil:
		return true
	}
	return len(name) == len(rest) || s.isTag(name)
}

func isDeclaration(rest string) bool {
	return strings.HasPrefix(rest, "!--") || strings.HasPrefix(rest, "![CDATA[") || isDoctype(rest)
}

func isDoctype(rest string) bool {
	return len(rest) >= len("!DOCTYPE") && strings.EqualFold(rest[:len("!DOCTYPE")], "!DOCTYPE")
}

// isBeginning reports whether a truncated text may become a declaration.
func isBeginning(rest string) bool {
	return slices.ContainsFunc([]string{"!--", "![CDATA[", "!DOCTYPE"}, func(whole string) bool { return strings.HasPrefix(whole, rest) })
}

func (s *scanner) strayBracket(at int) {
	s.problems(mistake{
		at: Span{at, at + 1}, code: codeSyntax,
		summary: "this < does not begin a tag", detail: "write &lt; for the character itself",
	}.fixedBy(Span{at, at + 1}, "&lt;"))
}

// markup reads what begins at a <; ok is false if nothing does.
func (s *scanner) markup() (t token, ok bool) {
	if !s.beginsMarkup(s.pos) {
		return token{}, false
	}
	rest := s.text[s.pos+1:]
	switch {
	case strings.HasPrefix(rest, "!--"):
		return s.section(comment, "<!--", "-->", "the comment"), true
	case strings.HasPrefix(rest, "![CDATA["):
		return s.section(cdataSection, "<![CDATA[", "]]>", "the CDATA section"), true
	case strings.HasPrefix(rest, "?"):
		return s.section(instruction, "<?", "?>", "the instruction"), true
	case isDoctype(rest):
		return s.doctype(), true
	case s.isTag != nil && (rest == "" || rest[0] == '!' || nameEnd(strings.TrimPrefix(rest, "/")) == len(strings.TrimPrefix(rest, "/"))):
		s.pos = len(s.text) // cut off before it says what it is
		return token{kind: endOfText, from: s.pos, to: s.pos, cut: true}, true
	case strings.HasPrefix(rest, "/"):
		return s.end(), true
	}
	return s.start(), true
}

// section reads from one mark to another.
func (s *scanner) section(kind tokenKind, open, closing, what string) token {
	t := token{kind: kind, from: s.pos}
	from := s.pos + len(open)
	i := strings.Index(s.text[from:], closing)
	if i < 0 {
		s.pos, t.to, t.cut = len(s.text), len(s.text), true
		s.problems(mistake{at: Span{t.from, t.from + len(open)}, code: codeSyntax, summary: what + " is never closed", detail: "close it with " + closing})
		return t
	}
	s.pos = from + i + len(closing)
	t.to = s.pos
	if j := strings.Index(s.text[from:from+i], "--"); kind == comment && (j >= 0 || strings.HasSuffix(s.text[from:from+i], "-")) {
		if j < 0 {
			j = i - 1
		}
		s.problems(mistake{
			at: Span{from + j, from + j + 2}, code: codeSyntax,
			summary: "a comment cannot contain --", detail: "write a single dash, or put a space between",
		})
	}
	return t
}

// doctype skips a document type with its declarations.
func (s *scanner) doctype() token {
	t := token{kind: instruction, from: s.pos}
	depth := 0
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		s.pos++
		if c == '<' || c == '[' {
			depth++
		} else if c == '>' || c == ']' {
			if depth--; depth == 0 {
				break
			}
		}
	}
	t.to = s.pos
	s.problems(mistake{
		at: Span{t.from, t.from + len("<!DOCTYPE")}, code: codeDoctype,
		summary: "a document type is not allowed", detail: "remove it: custom entities are never expanded",
	}.fixedBy(Span{t.from, t.to}, ""))
	return t
}

// end reads </name>.
func (s *scanner) end() token {
	t := token{kind: endTag, from: s.pos}
	s.pos += 2
	t.name = s.name()
	s.space()
	switch {
	case s.pos >= len(s.text):
		t.cut = true
		s.problems(s.cutTag(t))
	case s.text[s.pos] == '>':
		s.pos++
	default:
		s.skipToTagEnd()
		s.problems(mistake{
			at: Span{t.from, s.pos}, code: codeSyntax,
			summary: "an end tag may contain only a name", detail: "write </" + t.name + ">",
		}.fixedBy(Span{t.from, s.pos}, "</"+t.name+">"))
	}
	t.to = s.pos
	return t
}

// skipToTagEnd moves past the next >, or before the next <.
func (s *scanner) skipToTagEnd() {
	i := strings.IndexAny(s.text[s.pos:], "<>")
	switch {
	case i < 0:
		s.pos = len(s.text)
	case s.text[s.pos+i] == '>':
		s.pos += i + 1
	default:
		s.pos += i
	}
}

func (s *scanner) cutTag(t token) mistake {
	return mistake{
		at: Span{t.from, t.from + 1}, code: codeSyntax,
		summary: "the tag <" + t.name + " is never closed", detail: "close it with >",
	}
}

// start reads a start tag with its attributes.
func (s *scanner) start() token {
	t := token{kind: startTag, from: s.pos}
	s.pos++
	t.name = s.name()
	for {
		spaced := s.space()
		switch {
		case s.pos >= len(s.text):
			t.cut = true
			s.problems(s.cutTag(t))
			return s.ended(t)
		case s.text[s.pos] == '>':
			s.pos++
			return s.ended(t)
		case strings.HasPrefix(s.text[s.pos:], "/>"):
			s.pos += 2
			t.empty = true
			return s.ended(t)
		case s.text[s.pos] == '<':
			s.problems(s.cutTag(t).fixedBy(Span{s.pos, s.pos}, ">"))
			return s.ended(t)
		default:
			t.cut = s.attribute(spaced) || t.cut
		}
	}
}

func (s *scanner) ended(t token) token {
	t.to = s.pos
	return t
}

// space skips white space and reports whether there was any.
func (s *scanner) space() bool {
	from := s.pos
	for s.pos < len(s.text) && isSpace(s.text[s.pos]) {
		s.pos++
	}
	return s.pos > from
}

// name reads a name.
func (s *scanner) name() string {
	end := nameEnd(s.text[s.pos:])
	name := s.text[s.pos : s.pos+end]
	s.pos += end
	return name
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// nameEnd returns the length of the name at the beginning of a text.
func nameEnd(text string) int {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if !nameByte[c] || i == 0 && !startByte(c) {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isNameRune(r, i == 0) {
			return i
		}
		i += size
	}
	return len(text)
}

var nameByte = func() (table [utf8.RuneSelf]bool) {
	for c := range table {
		table[c] = c == '-' || c == '.' || c >= '0' && c <= '9' || startByte(byte(c))
	}
	return table
}()

func startByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':'
}

// isNameRune follows the table of XML 1.0, fifth edition.
func isNameRune(r rune, first bool) bool {
	return unicode.Is(nameStart, r) || !first && unicode.Is(nameMore, r)
}

var (
	nameStart = &unicode.RangeTable{
		R16: []unicode.Range16{
			{0xC0, 0xD6, 1}, {0xD8, 0xF6, 1}, {0xF8, 0x2FF, 1}, {0x370, 0x37D, 1}, {0x37F, 0x1FFF, 1}, {0x200C, 0x200D, 1},
			{0x2070, 0x218F, 1}, {0x2C00, 0x2FEF, 1}, {0x3001, 0xD7FF, 1}, {0xF900, 0xFDCF, 1}, {0xFDF0, 0xFFFD, 1},
		},
		R32: []unicode.Range32{{0x10000, 0xEFFFF, 1}},
	}
	nameMore = &unicode.RangeTable{R16: []unicode.Range16{{0xB7, 0xB7, 1}, {0x300, 0x36F, 1}, {0x203F, 0x2040, 1}}}
)

// IsName reports whether a text can be the name of an element, without prefix.
func IsName(text string) bool {
	return text != "" && nameEnd(text) == len(text) && !strings.Contains(text, ":") && utf8.ValidString(text)
}
