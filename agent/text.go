package agent

import (
	"strings"
	"unicode/utf8"
)

// NotText returns the position, counted from 1, of the first byte that is not valid UTF-8;
// zero if there is none. Outputs must be text: other bytes would be changed on their way to
// the next step.
func NotText(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at + 1
		}
		at += size
	}
	return 0
}

// OneLine returns text as one line of at most the given number of characters.
func OneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}
