package agent

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Escape makes text fit to stand inside of a part of a prompt: it cannot end the
// part or begin another one. It changes as little as it can, so that code stays
// code:
//
//  1. What looks like one of our tags gets a backslash before its name:
//     <\hocket:task>. It does not matter whether it is written with other letters
//     that look the same, with signs, white space or what nobody sees inside, with
//     entities, in any case, or is escaped already.
//  2. Comments, CDATA sections, quotes in tags and the like that are begun and not
//     ended get a backslash behind their bracket: <\!--. So do code fences, "\```",
//     where one might still be open at the end. Else they would swallow what follows.
//  3. Control characters become U+FFFD and line ends "\n".
//  4. Invisible copies of ASCII, and what nobody sees where several of it stand in a
//     row, become visible: \u{e0041}. People who look at a text would not know that
//     it says more. So do characters that turn the direction of writing, unless the
//     text is trusted.
func Escape(text string, trusted bool) string {
	text = withoutControls(text, trusted)
	text = escapeTags(text)
	text = escapeOpen(text)
	return escapeFences(text)
}

// attribute makes text fit to stand in quotes inside of a tag. What is no plain
// letter, digit or one of a few signs is written as an entity.
func attribute(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		switch {
		case r < utf8.RuneSelf && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("._-/:#@+,()[]~ ", r)),
			r >= utf8.RuneSelf && unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lo, unicode.Nd):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "&#x%X;", r)
		}
	}
	return b.String()
}

// withoutControls replaces what no text holds and what nobody sees.
func withoutControls(text string, trusted bool) string {
	text = strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), "\ufffd")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	suspect := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || invisible(r))
	}
	if !strings.ContainsFunc(text, suspect) {
		return text
	}
	var b strings.Builder
	row := 0
	for _, r := range text {
		if row++; !invisible(r) {
			row = 0
		}
		switch {
		case !suspect(r):
			b.WriteRune(r)
		case unicode.IsControl(r):
			b.WriteRune(utf8.RuneError)
		case smuggles(r) || row > longestRow || !trusted && turns(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// longestRow is how many characters that nobody sees stand in a row in honest texts,
// as in some emoji. More of them are a message.
const longestRow = 2

// invisible says whether a character takes no place of its own.
func invisible(r rune) bool {
	return (r == 0xad || r > 0x2ff) && unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// smuggles says whether a character is an invisible copy of an ASCII character.
func smuggles(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// turns says whether a character turns the direction of writing, so that a text
// looks like another one.
func turns(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// tagName is what the names of all our tags begin with.
const tagName = "hocket"

// escapeTags puts a backslash before the name in what looks like our tags. It
// also does so where there is one already, so that the backslashes in a text say
// exactly what stood there before.
func escapeTags(text string) string {
	var b strings.Builder
	done := 0
	for at := 0; at < len(text); {
		if plainByte(text[at]) {
			at++
			continue
		}
		r, n := glyph(text[at:])
		at += n
		if !opens(r) {
			continue
		}
		name, end := findName(text, at)
		if name < 0 {
			continue
		}
		b.WriteString(text[done:name] + `\`)
		done, at = name, end
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// opens says whether a character looks like the bracket that tags begin with.
func opens(r rune) bool {
	return r == '<' || r >= utf8.RuneSelf && strings.ContainsRune(twins['<'], r)
}

// plainByte says whether no tag, however written, begins with a byte.
func plainByte(c byte) bool {
	return c < utf8.RuneSelf && c != '<' && c != '&' && c != '%' && c != '\\'
}

const (
	// mostBetween is how many signs may stand between the letters of a name, and
	// before it, so that it is still seen as one.
	mostBetween = 24
	// leastKnown is how many letters of a name must be known, so that others whose
	// looks nobody knows count as the missing ones.
	leastKnown = 3
)

// findName gives the bounds of the name of our tags, should it come next at a
// place; else -1. What is neither a letter nor a digit is passed over.
func findName(text string, at int) (start, end int) {
	start = -1
	between, known := 0, 0
	for found := 0; found < len(tagName); {
		r, n := glyph(text[at:])
		if n == 0 {
			return -1, 0
		}
		letter := fold(r)
		counts := letter == rune(tagName[found])
		switch {
		case counts || letter >= utf8.RuneSelf && unicode.IsLetter(letter):
			if found == 0 {
				start = at
			}
			if found++; counts {
				known++
			}
		case unicode.IsLetter(letter) || unicode.IsDigit(letter):
			return -1, 0
		default:
			if between++; between > mostBetween {
				return -1, 0
			}
		}
		at += n
	}
	if known < leastKnown {
		return -1, 0
	}
	return start, at
}

// mostNested is how often a character may be escaped again.
const mostNested = 8

// glyph reads the character that a text begins with, as a lenient reader would:
// entities and the escapes of programming languages count as what they mean, also
// where the sign with which they begin is escaped itself.
func glyph(s string) (r rune, size int) { return escaped(s, mostNested) }

func escaped(s string, nested int) (r rune, size int) {
	r, size = unescaped(s)
	if size < 2 || nested == 0 || r != '&' && r != '%' && r != '\\' {
		return r, size
	}
	const longest = 64 // of one escape
	inner, n := escaped(string(r)+s[size:min(len(s), size+longest)], nested-1)
	if n < 2 {
		return r, size
	}
	return inner, size + n - 1
}

// unescaped reads a character, and what it means where it is escaped once.
func unescaped(s string) (r rune, size int) {
	switch {
	case s == "":
		return 0, 0
	case s[0] == '&':
		return entity(s)
	case s[0] == '\\' && len(s) > 1:
		return backslashed(s)
	case s[0] == '%' && len(s) >= 3:
		if n, err := strconv.ParseUint(s[1:3], 16, 8); err == nil && n < utf8.RuneSelf {
			return rune(n), 3
		}
	}
	return utf8.DecodeRuneInString(s)
}

// entity reads an entity, also of the forms without a semicolon that browsers take.
func entity(s string) (rune, int) {
	rest := s[1:]
	if strings.HasPrefix(rest, "#") {
		if r, n := number(rest[1:]); n > 0 {
			return r, 2 + n
		}
		return '&', 1
	}
	end := strings.IndexFunc(rest[:min(len(rest), 32)], func(r rune) bool { return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end > 0 && rest[end] == ';' {
		for _, name := range []string{rest[:end], strings.ToLower(rest[:end])} {
			text := html.UnescapeString("&" + name + ";")
			if !strings.HasSuffix(text, ";") {
				r, _ := utf8.DecodeRuneInString(text)
				return r, 1 + end + 1
			}
		}
	}
	if len(rest) >= 2 && strings.EqualFold(rest[:2], "lt") {
		return '<', 3
	}
	return '&', 1
}

// longestNumber is how many digits a number may have, most of them zeros.
const longestNumber = 40

// number reads 60; or x3c;, with or without the semicolon.
func number(s string) (r rune, size int) {
	base, from := 10, 0
	if s != "" && (s[0] == 'x' || s[0] == 'X') {
		base, from = 16, 1
	}
	n := from
	for n < len(s) && n < longestNumber && strings.IndexByte("0123456789abcdefABCDEF"[:base+base/16*6], s[n]) >= 0 {
		n++
	}
	value, err := strconv.ParseUint(s[from:n], base, 21)
	if err != nil {
		return 0, 0
	}
	if n < len(s) && s[n] == ';' {
		n++
	}
	return rune(value), n
}

// backslashed reads \u003c, \u{3c}, \x3c and \074.
func backslashed(s string) (rune, int) {
	base, from := 16, 2
	var to int
	switch c := s[1]; {
	case c == 'x':
		to = 4
	case c == 'u':
		to = 6
	case c == 'U':
		to = 10
	case c >= '0' && c <= '7':
		base, from, to = 8, 1, 2
		for to < min(4, len(s)) && s[to] >= '0' && s[to] <= '7' {
			to++
		}
	default:
		return '\\', 1
	}
	size := to
	if base == 16 && strings.HasPrefix(s[from:], "{") {
		from, to = from+1, strings.IndexByte(s[:min(len(s), longestNumber)], '}')
		size = to + 1
	}
	if to < from || to > len(s) {
		return '\\', 1
	}
	n, err := strconv.ParseUint(s[from:to], base, 21)
	if err != nil {
		return '\\', 1
	}
	return rune(n), size
}

// skipped is what fold gives for characters that nobody sees.
const skipped rune = -1

// twins are letters of other scripts, and signs, that look like those of a tag.
// What Unicode itself calls a form of the letter is found without them.
var twins = map[rune]string{
	'<': "＜﹤≮‹«〈\u2329︿⟨❮❬❰⧼ᐸ˂≺⋖≤≦⩽⩹⪡≪≲≰≴⊀⟪⦑⦓⪕⍃ᚲ𐏒",
	'h': "һнհηꮒᏂĥħʜɦիḩ",
	'o': "оοօσ0ọө०০੦૦௦೦೧๐໐οჿᴏ◦○°ѳⲟоø",
	'c': "сϲᴄⲥↄčçćꮯ¢ƈ",
	'k': "кκⲕᴋĸќқҝƙ",
	'e': "еεєҽⲉᴇ℮ɛëéèêēėęӗɘ",
	't': "тτᴛⲧţťțŧƭ†",
}

// fold gives the letter or sign that a character looks like, in lower case;
// skipped for what is not seen; else the character.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r <= ' ' || r == 0x7f:
			return skipped
		case r == '0':
			return 'o'
		}
		return r
	}
	if unseen(r) {
		return skipped
	}
	// The first character of the decomposition is the letter, without its marks.
	base, _ := utf8.DecodeRuneInString(norm.NFKD.String(string(unicode.ToLower(r))))
	base = unicode.ToLower(base)
	if base < utf8.RuneSelf {
		return fold(base)
	}
	for letter, others := range twins {
		if strings.ContainsRune(others, base) || strings.ContainsRune(others, r) {
			return letter
		}
	}
	return base
}

// unseen says whether a character takes no place of its own, or an empty one.
func unseen(r rune) bool {
	if unicode.In(r, unicode.Cf, unicode.Cc, unicode.M, unicode.Z, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return true
	}
	return slices.Contains([]rune{0x115f, 0x1160, 0x2800, 0x3164, 0xffa0, utf8.RuneError}, r)
}
