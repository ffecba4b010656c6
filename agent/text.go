package agent

import (
	"strings"
	"unicode/utf8"
)

// NotText is the number of the first byte that is not part of UTF-8 text, counted
// from 1; zero if all of it is text. Outputs are text: what is not would reach the
// next step changed.
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

// OneLine is text in one line of at most so many characters.
func OneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}
