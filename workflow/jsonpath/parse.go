package jsonpath

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth limits the nesting of filters, parentheses and calls; maxLength limits the length of
// the path.
const (
	maxDepth  = 50
	maxLength = 10_000
)

// maxIndex is the largest whole number that every JSON implementation represents exactly.
const maxIndex = 1<<53 - 1

// Parse parses a path. An error is an *Error.
func Parse(text string) (*Path, error) {
	p := &parser{text: text}
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	return path, nil
}

// parser parses text from pos on.
type parser struct {
	text  string
	pos   int
	depth int
}

func (p *parser) path() (*Path, error) {
	switch {
	case len(p.text) > maxLength:
		return nil, p.errorf("the path is longer than %d bytes", maxLength)
	case !utf8.ValidString(p.text):
		return nil, p.errorf("the path is not valid UTF-8")
	case !p.accept("$"):
		return nil, p.errorf("a path must begin with $")
	}
	segments, err := p.segments()
	if err != nil {
		return nil, err
	}
	if p.pos < len(p.text) {
		return nil, p.errorf("unexpected %s", p.found())
	}
	return &Path{query{segments: segments}}, nil
}

func (p *parser) errorf(format string, args ...any) error {
	return &Error{p.pos, fmt.Sprintf(format, args...)}
}

// found describes what is at pos, for errors.
func (p *parser) found() string {
	if p.pos == len(p.text) {
		return "end"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return strconv.QuoteRune(r)
}

func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) accept(s string) bool {
	if !strings.HasPrefix(p.text[p.pos:], s) {
		return false
	}
	p.pos += len(s)
	return true
}

func (p *parser) blanks() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *parser) enter() error {
	p.depth++
	if p.depth > maxDepth {
		return p.errorf("nested more than %d levels deep", maxDepth)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// segments parses all segments that follow. Blanks may appear before each, but not after the
// last.
func (p *parser) segments() ([]segment, error) {
	var list []segment
	for {
		before := p.pos
		p.blanks()
		if c := p.peek(); c != '.' && c != '[' {
			p.pos = before
			return list, nil
		}
		s, err := p.segment()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
}

func (p *parser) segment() (segment, error) {
	descend := p.accept("..")
	if !descend && p.accept(".") || descend && p.peek() != '[' {
		one, err := p.shorthand()
		return segment{descend, []selector{one}}, err
	}
	p.pos++ // [
	list, err := p.selectors()
	return segment{descend, list}, err
}

// shorthand parses the name or the * after a dot.
func (p *parser) shorthand() (selector, error) {
	if p.accept("*") {
		return wildcardSelector{}, nil
	}
	start := p.pos
	for p.pos < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.pos:])
		if !isNameRune(r) || p.pos == start && r >= '0' && r <= '9' {
			break
		}
		p.pos += size
	}
	if p.pos == start {
		return nil, p.errorf("expected a name or * after the dot, found %s", p.found())
	}
	return nameSelector(p.text[start:p.pos]), nil
}

func isNameRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf
}

// selectors parses the list after an opening bracket, and the closing bracket.
func (p *parser) selectors() ([]selector, error) {
	var list []selector
	for {
		p.blanks()
		one, err := p.selector()
		if err != nil {
			return nil, err
		}
		list = append(list, one)
		p.blanks()
		if p.accept("]") {
			return list, nil
		}
		if !p.accept(",") {
			return nil, p.errorf("expected , or ], found %s", p.found())
		}
	}
}

func (p *parser) selector() (selector, error) {
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		name, err := p.quoted()
		return nameSelector(name), err
	case p.accept("*"):
		return wildcardSelector{}, nil
	case p.accept("?"):
		p.blanks()
		keep, err := p.or()
		return filterSelector{keep}, err
	case c == ':' || c == '-' || isDigit(c):
		return p.indexOrSlice()
	}
	return nil, p.errorf("expected a selector, found %s", p.found())
}

func (p *parser) indexOrSlice() (selector, error) {
	start, err := p.optionalInt()
	if err != nil {
		return nil, err
	}
	before := p.pos
	p.blanks()
	if !p.accept(":") {
		p.pos = before
		return indexSelector(*start), nil // only a : may appear without a number
	}
	s := sliceSelector{start: start}
	p.blanks()
	if s.end, err = p.optionalInt(); err != nil {
		return nil, err
	}
	p.blanks()
	if p.accept(":") {
		p.blanks()
		s.step, err = p.optionalInt()
	}
	return s, err
}

// optionalInt parses a whole number, if there is one.
func (p *parser) optionalInt() (*int, error) {
	start := p.pos
	p.accept("-")
	digits := p.digits()
	switch {
	case digits == 0 && p.pos == start:
		return nil, nil
	case digits == 0:
		return nil, p.errorf("expected a digit, found %s", p.found())
	}
	text := p.text[start:p.pos]
	n, err := strconv.Atoi(text)
	if err != nil || n > maxIndex || n < -maxIndex || text == "-0" || text != strconv.Itoa(n) {
		p.pos = start
		return nil, p.errorf("%s is not an index", text)
	}
	return &n, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (p *parser) digits() int {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	return p.pos - start
}

// quoted parses a string in single or double quotes.
func (p *parser) quoted() (string, error) {
	quote := p.peek()
	p.pos++
	var b strings.Builder
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == quote:
			p.pos++
			return b.String(), nil
		case c < ' ':
			return "", p.errorf("control character %s in a string", p.found())
		case c == '\\':
			p.pos++
			if err := p.escape(&b, quote); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
	return "", p.errorf("string without closing quote")
}

var escapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '/': '/', '\\': '\\'}

// escape parses what follows a backslash.
func (p *parser) escape(b *strings.Builder, quote byte) error {
	c := p.peek()
	if meant, ok := escapes[c]; ok || c == quote {
		if c == quote {
			meant = quote
		}
		b.WriteByte(meant)
		p.pos++
		return nil
	}
	if !p.accept("u") {
		return p.errorf("unknown escape \\%s", p.text[p.pos:min(p.pos+1, len(p.text))])
	}
	r, err := p.hex()
	if err != nil {
		return err
	}
	if r >= 0xD800 && r <= 0xDFFF {
		if r, err = p.surrogate(r); err != nil {
			return err
		}
	}
	b.WriteRune(r)
	return nil
}

func (p *parser) hex() (rune, error) {
	if p.pos+4 <= len(p.text) {
		if n, err := strconv.ParseUint(p.text[p.pos:p.pos+4], 16, 32); err == nil {
			p.pos += 4
			return rune(n), nil
		}
	}
	return 0, p.errorf("expected four hexadecimal digits after \\u")
}

// surrogate parses the second half of a surrogate pair.
func (p *parser) surrogate(high rune) (rune, error) {
	if high <= 0xDBFF && p.accept(`\u`) {
		low, err := p.hex()
		if err != nil {
			return 0, err
		}
		if low >= 0xDC00 && low <= 0xDFFF {
			return (high-0xD800)<<10 + (low - 0xDC00) + 0x10000, nil
		}
	}
	return 0, p.errorf("incomplete surrogate pair")
}
