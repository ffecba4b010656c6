package mermaid

import (
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unescape returns the text of a label with its escapes replaced.
func Unescape(text string) string {
	end := blanksBefore(text, 0, len(text))
	text = text[min(blanks(text, 0), end):end]
	if !strings.ContainsAny(text, "#&<\\") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for at := 0; at < len(text); {
		plain, n := unescapeAt(text, at)
		if n == 0 {
			plain, n = text[at:at+1], 1
		}
		b.WriteString(plain)
		at += n
	}
	return b.String()
}

// unescapeAt returns the text of the escape at a place, and the length of the escape.
func unescapeAt(s string, at int) (plain string, n int) {
	switch s[at] {
	case '#':
		if n = entityAt(s, at); n > 0 {
			return entity(s[at+1:at+n-1], n)
		}
	case '&':
		end := at + 1
		if strings.HasPrefix(s[end:], "#") {
			end++
		}
		if end = words(s, end); strings.HasPrefix(s[end:], ";") {
			return entity(s[at+1:end], end+1-at)
		}
	case '<':
		for _, br := range [...]string{"<br>", "<br/>", "<br />"} {
			if strings.HasPrefix(s[at:], br) {
				return "\n", len(br)
			}
		}
	case '\\':
		if strings.HasPrefix(s[at:], `\n`) {
			return "\n", 2
		}
	}
	return "", 0
}

// entity returns the character of an entity, without its marks.
func entity(name string, n int) (plain string, length int) {
	if name != "" && is(name[0], isDigit) {
		name = "#" + name
	}
	written := "&" + name + ";"
	plain = html.UnescapeString(written)
	if plain == written || plain != ";" && strings.HasSuffix(plain, ";") { // html also accepts prefixes of names
		return "", 0
	}
	return plain, n
}

// Escape returns a text as it is written between the quotes of a label, so that all versions of
// Mermaid show it unchanged: Unescape(Escape(text)) == text. It must be the only label on its
// line.
func Escape(text string) string {
	if text == "" {
		return " " // Mermaid does not allow empty labels, but ignores spaces
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRuneInString(text[at:])
		switch {
		case r == '\n':
			b.WriteString("<br/>")
		case r == utf8.RuneError && n == 1:
			b.WriteByte(text[at])
		case hazard(text, at, r, n):
			b.WriteString(escaped(r))
		default:
			b.WriteString(text[at : at+n])
		}
		at += n
	}
	return colons(b.String())
}

func escaped(r rune) string {
	switch r {
	case '"':
		return "#quot;"
	case '<':
		return "#lt;"
	case '&':
		return "#amp;"
	}
	return "#" + strconv.Itoa(int(r)) + ";"
}

// hazard reports whether a character would not be shown unchanged.
func hazard(s string, at int, r rune, n int) bool {
	before, after := rune(-1), rune(-1)
	if at > 0 {
		before, _ = utf8.DecodeLastRuneInString(s[:at])
	}
	if at+n < len(s) {
		after, _ = utf8.DecodeRuneInString(s[at+n:])
	}
	switch r {
	case '"', '<', '\\', '`':
		return true
	case '#':
		return entityAt(s, at) > 0 || starts(s, at)
	case '&':
		end := at + 1
		for end < len(s) && (is(s[end], isWord) || s[end] == '#') {
			end++
		}
		return end > at+1 && end < len(s) && s[end] == ';' || after == '#' ||
			after > 0 && after != '&' && after != '\n' && hazard(s, at+1, after, utf8.RuneLen(after))
	case '*', '~':
		return !isGap(before) || !isGap(after) || starts(s, at)
	case '_':
		return !isWordRune(before) || !isWordRune(after)
	case ']':
		return after == '(' // a link
	case '-', '+', '>', '=', '|':
		return starts(s, at)
	case '.', ')':
		return isDigitRune(before) && starts(s, digitsBefore(s, at))
	case '/':
		return after == '/' && before == ':' // an address would become a link
	case ':':
		return strings.HasPrefix(s[at:], ":fa-")
	case '$':
		return after == '$' || before == '$'
	case '%':
		return strings.HasPrefix(s[at:], "%%{")
	case '@':
		return isWordRune(before) && isWordRune(after)
	}
	if isSpace(r) {
		return r != ' ' || at == 0 || at+n == len(s) || before == '\n' || before == ' ' || after == '\n' || isDirection(s, at)
	}
	return r < ' ' && r > 0 || strings.HasPrefix(s[at:], "www.")
}

// starts reports whether a place is the first in its line, apart from white space.
func starts(s string, at int) bool {
	for at > 0 && (s[at-1] == ' ' || s[at-1] == '\t') {
		at--
	}
	return at == 0 || s[at-1] == '\n'
}

func digitsBefore(s string, at int) int {
	for at > 0 && is(s[at-1], isDigit) {
		at--
	}
	return at
}

// isDirection reports whether the space at a place is in "direction LR".
func isDirection(s string, at int) bool {
	if !strings.HasSuffix(s[:at], "direction") {
		return false
	}
	rest := strings.TrimLeftFunc(s[at:], isSpace)
	for _, d := range [...]string{"TB", "BT", "RL", "LR", "TD"} {
		if strings.HasPrefix(rest, d) {
			return true
		}
	}
	return false
}

func isSpace(r rune) bool     { return unicode.IsSpace(r) || r == 0xfeff }
func isGap(r rune) bool       { return r < 0 || isSpace(r) }
func isDigitRune(r rune) bool { return r >= '0' && r <= '9' }
func isWordRune(r rune) bool  { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// colons writes the colons before an entity, in the same word, as entities: Mermaid removes the
// last semicolon of a line that looks like a style.
func colons(s string) string {
	if !strings.Contains(s, ":") || !strings.Contains(s, "#") {
		return s
	}
	var b strings.Builder
	for {
		word, rest, more := strings.Cut(s, " ")
		last := max(0, strings.LastIndexByte(word, '#'))
		b.WriteString(strings.ReplaceAll(word[:last], ":", "#58;"))
		b.WriteString(word[last:])
		if !more {
			return b.String()
		}
		b.WriteByte(' ')
		s = rest
	}
}

// SafeID reports whether an id can be written unchanged in Mermaid 10, 11 and 12: letters, digits
// and _, and single dashes inside, but no keyword.
func SafeID(id string) bool {
	if id == "" || is(id[0], isDigit) || id[0] == '-' || id[len(id)-1] == '-' {
		return false
	}
	for i := range len(id) {
		if !is(id[i], isWord) && (id[i] != '-' || id[i-1] == '-') {
			return false
		}
	}
	first, _, _ := strings.Cut(id, "-")
	return !isReserved[first]
}

// isReserved are the words that an id must not start with: keywords of Mermaid, and property
// names of JavaScript, which Mermaid 10 finds in every object.
var isReserved = func() map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(`
		end graph flowchart swimlane subgraph style linkStyle classDef class click call href default interpolate
		direction accTitle accDescr _self _blank _parent _top
		constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf
		__proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__`) {
		m[word] = true
	}
	return m
}()
