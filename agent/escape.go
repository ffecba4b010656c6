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

// Escape prepares text for inclusion in a part of a prompt, so that it cannot end the part
// or begin another one. It changes as little as possible, so that code stays code:
//
//  1. What looks like one of our tags gets a backslash before its name: <\hocket:task>.
//     This includes tags written with lookalike letters, with punctuation, white space or
//     invisible characters inside, with entities, in any letter case, or already escaped.
//     If the appearance of its letters or symbols is unknown, anything with the shape of
//     our tags counts.
//  2. Unterminated comments, CDATA sections, quotes in tags and the like get a backslash
//     after their bracket: <\!--. So do code fences, "\```", if one might still be open at
//     the end. Otherwise they would swallow what follows.
//  3. Control characters become U+FFFD and line ends "\n".
//  4. Invisible copies of ASCII characters, and runs of other invisible characters, become
//     visible: \u{e0041}. Otherwise a text could contain a message that its readers do not
//     see. The same applies to characters that change the text direction, unless the text
//     is trusted.
func Escape(text string, trusted bool) string {
	text = withoutControls(text, trusted)
	text = escapeTags(text)
	text = escapeOpen(text)
	return escapeFences(text)
}

// attribute escapes text for a quoted attribute of a tag. Everything but letters, digits
// and a few safe characters becomes an entity.
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

// withoutControls replaces control characters and reveals invisible ones.
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

// longestRow is the longest run of invisible characters that occurs in honest texts, as in
// some emoji. A longer run is a hidden message.
const longestRow = 2

// invisible reports whether a character has no width.
func invisible(r rune) bool {
	return (r == 0xad || r > 0x2ff) && unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// smuggles reports whether a character is an invisible copy of an ASCII character.
func smuggles(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// turns reports whether a character changes the text direction, which can make a text look
// like a different one.
func turns(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// tagName is the common prefix of the names of all our tags.
const tagName = "hocket"

// escapeTags puts a backslash before the name in what looks like our tags. It adds one even
// where there is one already, so that the original text can be recovered from the number of
// backslashes.
func escapeTags(text string) string {
	var b strings.Builder
	done := 0
	for _, start := range tagNames(text) {
		b.WriteString(text[done:start] + `\`)
		done = start
	}
	return b.String() + text[done:]
}

// tagNames returns where the names begin in what looks like our tags. Such texts may overlap.
func tagNames(text string) (starts []int) {
	var names names
	var shape shape
	for at := 0; at < len(text); {
		if !names.begun && !shape.begun && plainByte(text[at]) {
			at++
			continue
		}
		r, n := glyph(text[at:])
		if start, whole := shape.next(r, at); whole {
			starts = append(starts, start)
		}
		if start, whole := names.next(r, at); whole {
			starts = append(starts, start)
			if start >= shape.start { // it is the same tag
				shape.begun = false
			}
		}
		at += n
	}
	slices.Sort(starts)
	return starts
}

// opens reports whether a character looks like an opening bracket of a tag.
func opens(r rune) bool {
	return r == '<' || r >= utf8.RuneSelf && strings.ContainsRune(twins['<'], r)
}

// plainByte reports whether no tag, however written, can begin with a byte.
func plainByte(c byte) bool {
	return c < utf8.RuneSelf && c != '<' && c != '&' && c != '%' && c != '\\'
}

// leastKnown is how many letters of a name must be recognized for letters of unknown
// appearance to count as the missing ones.
const leastKnown = 3

// names looks for the name of our tags after a bracket. Characters that are neither letters
// nor digits are skipped, no matter how many. Since a skipped bracket may also begin
// another name, all possible names are tracked: the one with n letters found is at index n.
type names struct {
	begun bool // whether a name is being tracked
	at    [len(tagName)]struct {
		begun        bool
		start, known int
	}
}

// next processes the character at a position. At the end of a name it returns where the
// name started.
func (s *names) next(r rune, at int) (start int, whole bool) {
	letter := fold(r)
	switch {
	case opens(r):
		s.begun, s.at[0].begun = true, true
		return 0, false
	case !s.begun || !unicode.IsLetter(letter) && !unicode.IsDigit(letter):
		return 0, false
	}
	was := s.at
	*s = names{}
	for found, name := range was {
		counts := letter == rune(tagName[found])
		if !name.begun || !counts && (letter < utf8.RuneSelf || !unicode.IsLetter(letter)) {
			continue
		}
		if counts {
			name.known++
		}
		if found == 0 {
			name.start = at
		}
		switch {
		case found+1 < len(tagName):
			s.begun, s.at[found+1] = true, name
		case name.known >= leastKnown:
			return name.start, true
		}
	}
	return 0, false
}

// shape looks for text with the shape of our tags, as in ‹/ꓧꓳꓚꓗꓰꓔ:task>: a bracket, a name
// with as many letters as ours, not all of them ASCII, and a colon. Symbols may be letters
// of the name or stand between them. Invisible characters are skipped, no matter how many.
// In prose, a colon is followed by a space, or the bracket has no slash.
type shape struct {
	begun, slash, foreign, named bool // set after the colon
	start, letters, symbols      int
}

// next processes the character at a position. At the end of a tag's name it returns where
// the tag started.
func (s *shape) next(r rune, at int) (start int, whole bool) {
	sign := fold(r)
	blank := r == '\n' || r == '\t' || unicode.Is(unicode.Z, r)
	letter := unicode.IsLetter(sign) || unicode.IsDigit(sign)
	switch within := s.letters+s.symbols > 0; {
	case opens(r):
		*s = shape{begun: true}
	case !s.begun || sign == skipped && !blank:
	case s.named:
		s.begun = false
		return s.start, s.slash || !blank
	case sign == ':':
		s.named = s.foreign && (s.letters == len(tagName) || s.letters+s.symbols == len(tagName))
		s.begun = s.named
	case blank || r == '>':
		s.begun = !within && blank
	case sign == '/' && !within:
		s.slash = true
	case letter || unicode.Is(unicode.S, r):
		if !within {
			s.start = at
		}
		if letter {
			s.letters++
		} else {
			s.symbols++
		}
		s.foreign = s.foreign || r >= utf8.RuneSelf
		s.begun = s.letters <= len(tagName)
	}
	return 0, false
}

// glyph decodes the first character of a text as a lenient reader would: entities and the
// escapes of programming languages count as what they mean, even if their first character
// is itself escaped, any number of times.
func glyph(s string) (r rune, size int) {
	r, size = utf8.DecodeRuneInString(s)
	for r == '&' || r == '%' || r == '\\' {
		meant, n := meaning(r, s[size:])
		if n == 0 {
			break
		}
		r, size = meant, size+n
	}
	return r, size
}

// meaning decodes the rest of an escape that begins with a given character. It returns the
// meaning and the length of the rest; zero if it is not an escape.
func meaning(sign rune, rest string) (rune, int) {
	switch {
	case sign == '&':
		return entity(rest)
	case sign == '\\' && rest != "":
		return backslashed(rest)
	case sign == '%' && len(rest) >= 2:
		if n, err := strconv.ParseUint(rest[:2], 16, 8); err == nil && n < utf8.RuneSelf {
			return rune(n), 2
		}
	}
	return 0, 0
}

// entity decodes an entity, including the forms without a semicolon that browsers accept.
func entity(s string) (rune, int) {
	if strings.HasPrefix(s, "#") {
		base, from := 10, 1
		if len(s) > 1 && (s[1] == 'x' || s[1] == 'X') {
			base, from = 16, 2
		}
		r, n := number(s[from:], base)
		if n == 0 {
			return 0, 0
		}
		if n += from; n < len(s) && s[n] == ';' {
			n++
		}
		return r, n
	}
	end := strings.IndexFunc(s[:min(len(s), 32)], func(r rune) bool { return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end > 0 && s[end] == ';' {
		for _, name := range []string{s[:end], strings.ToLower(s[:end])} {
			text := html.UnescapeString("&" + name + ";")
			if !strings.HasSuffix(text, ";") {
				r, _ := utf8.DecodeRuneInString(text)
				return r, end + 1
			}
		}
	}
	if len(s) >= 2 && strings.EqualFold(s[:2], "lt") {
		return '<', 2
	}
	return 0, 0
}

// number parses the digits at the beginning of a text, and returns how many there are. It
// ignores leading zeros.
func number(s string, base int) (r rune, size int) {
	digits := "0123456789abcdefABCDEF"[:base+base/16*6]
	for size < len(s) && strings.IndexByte(digits, s[size]) >= 0 {
		size++
	}
	value, err := strconv.ParseUint(s[:size], base, 21)
	if err != nil {
		return 0, 0
	}
	return rune(value), size
}

// backslashed decodes u003c, u{3c}, x3c and 074.
func backslashed(s string) (rune, int) {
	digits := 0
	switch c := s[0]; {
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case c >= '0' && c <= '7':
		r, n := number(s[:min(len(s), 3)], 8)
		return r, n
	default:
		return 0, 0
	}
	if strings.HasPrefix(s[1:], "{") {
		r, n := number(s[2:], 16)
		if end := 2 + n; n > 0 && end < len(s) && s[end] == '}' {
			return r, end + 1
		}
		return 0, 0
	}
	if len(s) <= digits {
		return 0, 0
	}
	r, n := number(s[1:1+digits], 16)
	if n < digits {
		return 0, 0
	}
	return r, 1 + n
}

// skipped is what fold returns for invisible characters.
const skipped rune = -1

// twins are letters of other scripts, and symbols, that look like those of a tag. Variants
// that Unicode itself relates to a letter need no entry.
var twins = map[rune]string{
	'<': "＜﹤≮‹«〈\u2329︿⟨❮❬❰⧼ᐸ˂≺⋖≤≦⩽⩹⪡≪≲≰≴⊀⟪⦑⦓⪕⍃ᚲ𐏒",
	':': "∶ː˸։׃܃܄᠃ꓽ⁚꞉ः፡᛬⁝⋮︓",
	'/': "⁄∕╱⟋⧸Ⳇノ丿",
	'h': "һнհηꮒᏂĥħʜɦիḩ",
	'o': "оοօσ0ọө०০੦૦௦೦೧๐໐οჿᴏ◦○°ѳⲟоø",
	'c': "сϲᴄⲥↄčçćꮯ¢ƈ",
	'k': "кκⲕᴋĸќқҝƙ",
	'e': "еεєҽⲉᴇ℮ɛëéèêēėęӗɘ",
	't': "тτᴛⲧţťțŧƭ†",
}

// fold returns the letter or symbol that a character looks like, in lower case; skipped for
// an invisible one; otherwise the character itself.
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
	if letter, ok := twinOf(r); ok { // before the next: some are marks
		return letter
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
	if letter, ok := twinOf(base); ok {
		return letter
	}
	return base
}

// twinOf returns the letter or sign of a tag that a character looks like.
func twinOf(r rune) (letter rune, ok bool) {
	for letter, others := range twins {
		if strings.ContainsRune(others, r) {
			return letter, true
		}
	}
	return 0, false
}

// unseen reports whether a character has no width or is blank.
func unseen(r rune) bool {
	if unicode.In(r, unicode.Cf, unicode.Cc, unicode.M, unicode.Z, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return true
	}
	return slices.Contains([]rune{0x115f, 0x1160, 0x2800, 0x3164, 0xffa0, utf8.RuneError}, r)
}
