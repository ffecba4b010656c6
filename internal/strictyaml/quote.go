package strictyaml

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote writes text on one line so that it is read back as the same text: unquoted if
// possible, otherwise in quotes.
func Quote(s string, inFlow bool) string {
	switch {
	case IsPlain(s, inFlow):
		return s
	case strings.ContainsAny(s, `"\`) && !strings.Contains(s, "'") && IsPrintable(s) && !strings.Contains(s, "\n"):
		return "'" + s + "'"
	}
	return doubleQuoted(s)
}

// IsPlain reports whether text needs no quotes: every version of YAML reads it as this
// text.
func IsPlain(s string, inFlow bool) bool {
	if s == "" || strings.TrimSpace(s) != s || !IsPrintable(s) || strings.ContainsAny(s, "\n\t") {
		return false
	}
	if strings.ContainsRune("-?:,[]{}#&*!|>'\"%@`=<", rune(s[0])) || strings.HasPrefix(s, "...") {
		return false
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":") {
		return false
	}
	if inFlow && strings.ContainsAny(s, ",[]{}:#?\"'") { // the library reads a ? as the beginning of a key
		return false
	}
	return !otherType(s)
}

// otherType reports whether some version of YAML reads plain text as null, a boolean, a
// number or a date.
func otherType(s string) bool {
	switch strings.ToLower(s) {
	case "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", ".nan":
		return true
	}
	first := s[0]
	if first != '+' && first != '.' && (first < '0' || first > '9') {
		return false
	}
	return strings.Trim(s, "0123456789+-._:eExXoObBaAcCdDfFiInNtTzZ ") == ""
}

// IsPrintable reports whether a file may contain text unescaped: it has no control
// characters, and no separators that YAML 1.1 reads as line breaks.
func IsPrintable(s string) bool {
	for _, r := range s {
		if r < ' ' && r != '\n' && r != '\t' || needsEscape(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

func needsEscape(r rune) bool {
	switch r {
	case 0x7f, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF:
		return true
	}
	return r >= 0x80 && r < 0xa0
}

// QuoteHard quotes text other than a word and escapes everything but letters, digits and a
// few characters, for places where other characters may have a meaning.
func QuoteHard(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && IsPlain(s, true) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch short, ok := escapes[r]; {
		case ok && r != '\\':
			b.WriteString(short)
		case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" _.,:;=()[]{}/$?&|-", r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// escapes are the characters that have a short escape.
var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\t': `\t`, '\r': `\r`}

func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch short, ok := escapes[r]; {
		case ok:
			b.WriteString(short)
		case r < ' ' || needsEscape(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
