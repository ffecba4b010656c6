// Package visible shows people what a text hides, before they decide about it: characters that are invisible or change
// how others look, and gaps that look like its end. It is a leaf: the terminal, the pages and the forms of MCP clients
// show texts with it.
package visible

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxGap   = 24 // columns; a wider gap could look like the end of a line
	maxMarks = 4  // on one letter; more would cover the lines around it
	tab      = "    "
)

// Text returns a text in which nothing is hidden: control and invisible characters and unusual spaces become escapes, such
// as \x1b or \u202e, and a wide gap becomes the number of its spaces. It keeps line breaks.
func Text(s string) string {
	var b strings.Builder
	marks := 0 // combining marks on the previous letter
	for before := rune(0); s != ""; {
		if n, columns := gapLength(s); columns > maxGap {
			fmt.Fprintf(&b, "<%d spaces>", columns)
			before, s = ' ', s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		marks = marksWith(marks, r)
		switch {
		case r == '\t':
			b.WriteString(tab)
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r != '\n' && (hidden(r, before) || marks > maxMarks):
			b.WriteString(escape(r))
		default:
			b.WriteRune(r)
		}
		before, s = r, s[size:]
	}
	return b.String()
}

// HTML is Text for a text of a page, where < and & are already escaped. It keeps what a browser shows as white space, so
// that tables, source code and numbers can be copied; wide gaps, too, unless gaps is set.
func HTML(s string, gaps bool) string {
	var b strings.Builder
	marks := 0
	for before := rune(0); s != ""; {
		if c := s[0]; c > ' ' && c < 0x7f { // most of a page
			b.WriteByte(c)
			before, marks, s = rune(c), 0, s[1:]
			continue
		}
		if gaps {
			if n, columns := gapLength(s); columns > maxGap {
				b.WriteString(html.EscapeString(fmt.Sprintf("<%d spaces>", columns)))
				before, s = ' ', s[n:]
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(s)
		if marks = marksWith(marks, r); !isSpace(r) && hidden(r, before) || marks > maxMarks {
			b.WriteString(escape(r))
		} else {
			b.WriteString(s[:size])
		}
		before, s = r, s[size:]
	}
	return b.String()
}

// Pattern is an expression of JavaScript, with the flag u, that matches what HTML escapes, except for combining marks.
const Pattern = `(?![\t\n\r]|(?<=[^\0-\x7f\p{C}\p{Z}])\p{Join_Control}|(?<=[^\0-\x7f\p{C}\p{Z}\p{Variation_Selector}])\p{Variation_Selector})` +
	`[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}` + blanks + `]`

// escape returns an escape for a character.
func escape(r rune) string {
	quoted := strconv.QuoteRuneToASCII(r)
	return quoted[1 : len(quoted)-1]
}

// marksWith returns how many combining marks are on a letter with one more character.
func marksWith(marks int, r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return marks + 1
	}
	return 0
}

// gapLength measures the white space at the start of s.
func gapLength(s string) (bytes, columns int) {
	for _, r := range s {
		switch {
		case r == '\t':
			columns += len(tab)
		case r == '\u3000': // as wide as a Chinese character
			columns += 2
		case unicode.Is(unicode.Zs, r):
			columns++
		default:
			return bytes, columns
		}
		bytes += utf8.RuneLen(r)
	}
	return bytes, columns
}

// isSpace reports whether a browser shows a character as white space.
func isSpace(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || unicode.Is(unicode.Zs, r)
}

// blanks are printable characters that look like a space: a braille pattern without dots,
// a null notehead, fillers.
const blanks = "\u2800\U0001d159\U00016fe4\U00013441\U00013442"

// hidden reports whether a character is invisible or changes how others look. Emoji and
// some scripts need joiners, so these are allowed after a letter that is not ASCII.
func hidden(r, before rune) bool {
	selects := unicode.Is(unicode.Variation_Selector, r)
	switch {
	case selects || unicode.Is(unicode.Join_Control, r):
		return before < utf8.RuneSelf || !unicode.IsPrint(before) || selects && unicode.Is(unicode.Variation_Selector, before)
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), strings.ContainsRune(blanks, r):
		return true
	}
	return !unicode.IsPrint(r) // which is true of only one space
}
