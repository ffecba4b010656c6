package mermaid

import (
	"unicode"
	"unicode/utf8"
)

// class is the class of a byte below 0x80 in Mermaid's grammar.
type class uint8

const (
	isWord  class = 1 << iota // \w
	isBlank                   // \s
	isID                      // may appear in an id
	isDigit
)

var classes = func() (t [128]class) {
	for c := range byte(128) {
		switch {
		case c >= '0' && c <= '9':
			t[c] = isWord | isID | isDigit
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
			t[c] = isWord | isID
		case c == ' ', c >= '\t' && c <= '\r':
			t[c] = isBlank
		}
	}
	for _, c := range "!\"#$%&'*+.`?\\/" {
		t[c] |= isID
	}
	return t
}()

func is(c byte, k class) bool { return c < utf8.RuneSelf && classes[c]&k != 0 }

// blankAt returns the length of the white space character at a place, as matched by \s in
// JavaScript.
func blankAt(s string, at int) int {
	c := s[at]
	if c < utf8.RuneSelf {
		if classes[c]&isBlank != 0 {
			return 1
		}
		return 0
	}
	if c < 0xc2 || c > 0xef {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s[at:])
	if r == 0xfeff || r != 0x85 && unicode.IsSpace(r) {
		return n
	}
	return 0
}

// blanks returns the end of the blanks that start at a position.
func blanks(s string, at int) int {
	for at < len(s) {
		n := blankAt(s, at)
		if n == 0 {
			break
		}
		at += n
	}
	return at
}

// blanksBefore returns the start of the blanks in front of a place, not before from.
func blanksBefore(s string, from, at int) int {
	for at > from {
		c := s[at-1]
		if c < utf8.RuneSelf {
			if classes[c]&isBlank == 0 {
				break
			}
			at--
			continue
		}
		r, n := utf8.DecodeLastRuneInString(s[from:at])
		if r != 0xfeff && (r == 0x85 || !unicode.IsSpace(r)) {
			break
		}
		at -= n
	}
	return at
}

// letterAt returns the length of the non-ASCII letter at a place, if it is allowed in an id.
// Mermaid looks at UTF-16 code units, so characters beyond 16 bits are not allowed.
func letterAt(s string, at int) int {
	if s[at] < utf8.RuneSelf {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s[at:])
	if r > 0xffff || !unicode.IsLetter(r) {
		return 0
	}
	return n
}

// words returns the end of the word characters that start at a position.
func words(s string, at int) int {
	for at < len(s) && is(s[at], isWord) {
		at++
	}
	return at
}

// entityAt returns the length of the entity at a place: #name; or #35;. Mermaid replaces them
// before it parses anything else.
func entityAt(s string, at int) int {
	if s[at] != '#' {
		return 0
	}
	end := words(s, at+1)
	if end == at+1 || end >= len(s) || s[end] != ';' {
		return 0
	}
	return end + 1 - at
}

// wordAt reports whether there is a keyword at a place, followed by the end of the word.
func wordAt(s string, at int, word string) bool {
	end := at + len(word)
	return end <= len(s) && s[at:end] == word && (end == len(s) || !is(s[end], isWord))
}
