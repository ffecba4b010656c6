package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// shortestLine is the minimum length of a line of a secret that is searched for separately.
const shortestLine = 16

// forms returns all texts in which a secret may appear. The lines of a multi-line secret
// are secrets of their own.
func forms(value string) []string {
	all := formsOf(value)
	if strings.ContainsAny(value, "\r\n") {
		for line := range strings.Lines(value) {
			line = strings.TrimRight(line, "\r\n")
			if len(line) >= shortestLine && !strings.HasPrefix(line, "-----") {
				all = append(all, formsOf(line)...)
			}
		}
	}
	return all
}

func formsOf(value string) []string {
	quoted, careful := quoteJSON(value, false), quoteJSON(value, true)
	all := []string{
		value, quoted, careful, quoteJSON(quoted, false), quoteJSON(quoted, true), quoteJSON(careful, false),
		unquote(strconv.Quote(value)), unquote(strconv.QuoteToASCII(value)),
		url.QueryEscape(value), url.PathEscape(value), percent(value, "%%%02X"), percent(value, "%%%02x"),
		html.EscapeString(value), strings.ReplaceAll(value, "'", `'\''`),
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
	for _, end := range []string{"\n", "\r\n", `\n`} { // as xxd, openssl and base64 wrap lines
		text := base64.StdEncoding.EncodeToString([]byte(value))
		all = append(all, broken(hex.EncodeToString([]byte(value)), 60, end), broken(text, 64, end), broken(text, 76, end))
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(value)))
		for before := range 3 {
			all = append(all, inside(encoding, value, before))
		}
	}
	return slices.DeleteFunc(all, func(f string) bool { return len(f) < Shortest })
}

// broken returns a text in lines of a width.
func broken(text string, width int, end string) string {
	var b strings.Builder
	for ; len(text) > width; text = text[width:] {
		b.WriteString(text[:width] + end)
	}
	return b.String() + text
}

// inside returns the part of a base64 text that depends on the value alone, if other bytes
// precede and follow it.
func inside(encoding *base64.Encoding, value string, before int) string {
	const bits = 6 // of a character
	text := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", before) + value))
	from := (before*8 + bits - 1) / bits
	to := (before + len(value)) * 8 / bits
	return text[min(from, to):to]
}

func quoteJSON(value string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(value); err != nil {
		return value // impossible: a string can always be encoded
	}
	return unquote(strings.TrimSuffix(b.String(), "\n"))
}

func unquote(text string) string { return text[1 : len(text)-1] }

// percent escapes everything that need not be literal in a URL.
func percent(value, format string) string {
	var b strings.Builder
	for i := range len(value) {
		c := value[i]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, format, c)
		}
	}
	return b.String()
}
