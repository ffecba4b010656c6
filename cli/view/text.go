package view

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Line makes text safe to show in one line of a terminal: it removes escape sequences and
// control characters, and collapses white space.
func Line(s string) string {
	if plain(s) {
		return s
	}
	return strings.Join(strings.Fields(Text(s)), " ")
}

// plain reports whether Line has nothing to change: the common case, without allocation.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == ' ' && (i == 0 || i == len(s)-1 || s[i+1] == ' ') {
			return false
		}
	}
	return true
}

// Text makes text safe to show in a terminal: it keeps line breaks and tabs, and removes
// escape sequences, other control characters and marks that change the text direction.
func Text(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if n := escape(s, r); n > 0 {
			s = s[n:]
			continue
		}
		s = s[size:]
		if isVisible(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isVisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f:
		return false
	}
	return !unicode.IsControl(r)
}

// escape returns the length of the escape sequence at the start of s, zero if there is
// none. An incomplete sequence extends to the end of s.
func escape(s string, first rune) int {
	switch first {
	case 0x1b:
		return escapeESC(s)
	case 0x9b: // CSI in one character
		return 2 + csi(s[2:])
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // DCS, SOS, OSC, PM, APC in one character
		return 2 + controlString(s[2:])
	}
	return 0
}

func escapeESC(s string) int {
	if len(s) == 1 {
		return 1
	}
	switch s[1] {
	case '[':
		return 2 + csi(s[2:])
	case 'P', 'X', ']', '^', '_':
		return 2 + controlString(s[2:])
	}
	n := 1
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f { // intermediates
		n++
	}
	if n < len(s) && s[n] >= 0x30 && s[n] < 0x7f {
		n++
	}
	return n
}

// csi returns the length of what follows a control sequence introducer.
func csi(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f: // incomplete
			return i
		}
	}
	return len(s)
}

// controlString returns the length of a control string including its terminator.
func controlString(s string) int {
	for i := range len(s) {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case strings.HasPrefix(s[i:], "\u009c"):
			return i + 2
		}
	}
	return len(s)
}

// Width returns the number of columns that a text takes at most. Terminals differ: one
// draws a family emoji in two columns, another draws each person. Text that is wider than
// expected would push other text off the screen.
func Width(s string) (width int) {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			for _, columns := range clusters(s) {
				width += columns
			}
			return width
		}
	}
	return len(s)
}

// clusters yields the grapheme clusters of a text, each with the columns that it takes at
// most.
func clusters(s string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for g := displaywidth.StringGraphemes(s); g.Next(); {
			sum := 0
			for _, r := range g.Value() {
				sum += columns(r)
			}
			if !yield(g.Value(), max(g.Width(), sum)) {
				return
			}
		}
	}
}

// columns returns how many columns a code point takes at most on its own.
func columns(r rune) int {
	if unicode.Is(unicode.Mc, r) || r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7ff { // marks and letters that some terminals join
		return 1
	}
	return displaywidth.Rune(r)
}

// Cut shortens a text to a number of columns, with an ellipsis at the end.
func (s Style) Cut(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	if width <= 0 {
		return ""
	}
	room, end := width-1, 0
	for cluster, columns := range clusters(text) {
		if room -= columns; room < 0 {
			break
		}
		end += len(cluster)
	}
	return text[:end] + s.pick("…", "~")
}

// Pad fills a text with spaces to a number of columns.
func Pad(s string, width int) string {
	if n := width - Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// PadLeft is Pad with the spaces before the text.
func PadLeft(s string, width int) string {
	if n := width - Width(s); n > 0 {
		return strings.Repeat(" ", n) + s
	}
	return s
}
