package activity

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The building blocks of PlantUML's patterns. Each takes a text and an offset; those that may
// fail return -1.

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// blanks returns the offset after white space and no-break spaces. The \n between the lines of a
// condition does not count.
func blanks(s string, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case c == ' ' || c >= '\t' && c <= '\r' && c != '\n':
			i++
		case c == 0xc2 && i+1 < len(s) && s[i+1] == 0xa0:
			i += 2
		default:
			return i
		}
	}
	return i
}

// back returns the offset before the white space that ends at an offset.
func back(s string, i int) int {
	for i > 0 {
		switch c := s[i-1]; {
		case c == ' ' || c >= '\t' && c <= '\r' && c != '\n':
			i--
		case c == 0xa0 && i > 1 && s[i-2] == 0xc2:
			i -= 2
		default:
			return i
		}
	}
	return i
}

// word returns the offset after a word in any case, or -1. The word need not end there: PlantUML
// reads `forkagain` as `fork again`.
func word(s string, i int, want string) int {
	if i < 0 || len(s)-i < len(want) {
		return -1
	}
	for k := range len(want) {
		if s[i+k]|0x20 != want[k]|0x20 || s[i+k] != want[k] && !isWord(want[k]) {
			return -1
		}
	}
	return i + len(want)
}

// words returns the offset after several words, with or without white space between them.
func words(s string, i int, want ...string) int {
	for n, w := range want {
		if n > 0 {
			i = blanks(s, i)
		}
		if i = word(s, i, w); i < 0 {
			return -1
		}
	}
	return i
}

// semicolon returns the offset after a semicolon, if there is one.
func semicolon(s string, i int) int {
	if i < len(s) && s[i] == ';' {
		return i + 1
	}
	return i
}

// byteAt returns the offset after a byte, or -1.
func byteAt(s string, i int, c byte) int {
	if i < 0 || i >= len(s) || s[i] != c {
		return -1
	}
	return i + 1
}

// colour returns the offset after #name, #name-name or the like, or -1.
func colour(s string, i int) int {
	if byteAt(s, i, '#') < 0 {
		return -1
	}
	end := wordEnd(s, i+1)
	if end > i+1 && end < len(s) && strings.IndexByte(`-\|/`, s[end]) >= 0 {
		if far := wordEnd(s, end+1); far > end+1 {
			return far
		}
	}
	if end >= i+3 {
		return end
	}
	return -1
}

func wordEnd(s string, i int) int {
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return i
}

// colours returns the offset after a colour, or after a list like
// #red;line:blue;text:green, or -1.
func colours(s string, i int) int {
	if byteAt(s, i, '#') < 0 {
		return -1
	}
	simple := colour(s, i)
	at := i + 1
	if simple >= 0 && byteAt(s, simple, ';') >= 0 {
		at = simple + 1
	}
	end := -1
	for {
		next := aspect(s, at)
		if next < 0 {
			break
		}
		end = next
		if byteAt(s, next, ';') < 0 {
			break
		}
		at, end = next+1, next+1
	}
	if end > simple {
		return end
	}
	return simple
}

// aspect returns the offset after an entry such as line:blue in a list of colours, or -1.
func aspect(s string, i int) int {
	for _, name := range []string{"text", "back", "header", "line.dashed", "line.dotted", "line.bold", "line", "shadowing"} {
		if at := word(s, i, name); at >= 0 {
			if end := colour("#"+s[min(at+1, len(s)):], 0); byteAt(s, at, ':') >= 0 && end >= 0 {
				return at + end
			}
			return at
		}
	}
	return -1
}

// prefix returns a colour before a keyword, as in #red:if, and the offset after it.
func prefix(s string) (color part, at int) {
	if end := colour(s, 0); end >= 0 && byteAt(s, end, ':') >= 0 {
		return part{0, end}, end + 1
	}
	return part{}, 0
}

// arrow returns the offset after -> or -[style]->, and its style.
func arrow(s string, i int) (style part, at int) {
	if strings.HasPrefix(s[i:], "->") {
		return part{}, i + 2
	}
	if !strings.HasPrefix(s[i:], "-[") {
		return part{}, -1
	}
	end := strings.Index(s[i:], "]->")
	if end < 0 || !arrowStyle(s[i+2:i+end]) {
		return part{}, -1
	}
	return part{i + 2, i + end}, i + end + 3
}

func arrowStyle(s string) bool {
	for s != "" {
		item := s
		if at := strings.IndexAny(s, ",;"); at >= 0 {
			item, s = s[:at], s[at+1:]
			if s == "" {
				return false
			}
		} else {
			s = ""
		}
		switch rest, thick := strings.CutPrefix(strings.ToLower(item), "thickness="); {
		case thick && rest != "" && strings.Trim(rest, "0123456789") == "":
		case len(item) > 1 && item[0] == '#' && wordEnd(item, 1) == len(item):
		default:
			switch strings.ToLower(item) {
			case "dotted", "dashed", "plain", "bold", "hidden", "norank", "single", "node":
			default:
				return false
			}
		}
		if s == "" {
			return true
		}
	}
	return false
}

// stereotypes returns the stereotypes at the end of a text, and the offset before them and the
// white space before them.
func stereotypes(s string) (group part, at int) {
	end := len(s)
	at = end
	for strings.HasSuffix(s[:at], ">>") {
		open := strings.LastIndexByte(s[:at-2], '<')
		if open < 1 || s[open-1] != '<' || open+1 == at-2 || strings.IndexByte(s[open+1:at-2], '>') >= 0 {
			break
		}
		group = part{open - 1, end}
		at = back(s, open-1)
	}
	if group.from == 0 {
		return part{}, end
	}
	return group, at
}

// link returns a [[link]] at the end of a text, and the offset where the link and the white space
// before it begin.
func link(s string) (url part, at int) {
	if !strings.HasSuffix(s, "]]") {
		return part{}, len(s)
	}
	open := strings.LastIndex(s, "[[")
	if open < 1 || open+2 >= len(s)-2 || strings.IndexByte(s[open+2:len(s)-2], ']') >= 0 {
		return part{}, len(s)
	}
	return part{open, len(s)}, back(s, open)
}

// closing returns the parenthesis that ends a statement, apart from a semicolon and stereotypes,
// or -1. It is tight if no space is before the semicolon, which some patterns require.
func closing(s string) (at int, group part, tight bool) {
	group, end := stereotypes(s)
	end = back(s, end)
	tight = true
	if end > 0 && s[end-1] == ';' {
		before := back(s, end-1)
		tight = before == end-1
		end = before
	}
	if end == 0 || s[end-1] != ')' {
		return -1, group, false
	}
	return end - 1, group, tight
}

// name returns the offset after letters, digits, _ and . of any script, or -1.
func name(s string, i int) int {
	start := i
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if !isWord(c) && c != '.' {
				break
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			break
		}
		i += n
	}
	if i == start {
		return -1
	}
	return i
}

// named reports whether a text contains a letter, a digit, _ or a dot. A title without one does
// not count.
func named(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsNumber(r)
	}) >= 0
}

// embedded reports whether a line opens a diagram within a text.
func embedded(text string) bool {
	rest, ok := strings.CutPrefix(text, "{{")
	if !ok {
		return false
	}
	switch rest {
	case "", "board", "creole", "chronology", "chen", "chart", "ditaa", "ebnf", "files", "gantt", "json",
		"mindmap", "nwdiag", "packetdiag", "regex", "salt", "uml", "wbs", "wire", "yaml":
		return true
	}
	return false
}

// endsNote reports whether a line ends a note.
func endsNote(text string) bool {
	at := word(text, 0, "end")
	if at < 0 {
		return false
	}
	if at < len(text) && blanks(text, at) == at+1 {
		at++
	}
	return word(text, at, "note") == len(text)
}
