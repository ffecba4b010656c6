package jsonpath

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// The bounds of patterns and of the texts they are matched against. RE2 takes
// time linear in the text, times the size of the pattern's program.
const (
	maxPattern     = 1000
	maxPatternSize = 2000
	maxMatched     = 1 << 20
)

// compile translates a pattern of RFC 9485 for the regexp package. A dot does
// not match line ends; a match is of the whole text. What is no pattern, or too
// large, is nil and matches nothing, as the RFC says.
func compile(v any, whole bool) *regexp.Regexp {
	pattern, ok := v.(string)
	if !ok || len(pattern) > maxPattern {
		return nil
	}
	translated := translate(pattern)
	if whole {
		translated = `\A(?:` + translated + `)\z`
	}
	parsed, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return nil
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxPatternSize {
		return nil
	}
	re, err := regexp.Compile(translated)
	if err != nil {
		return nil
	}
	return re
}

// translate replaces the dots that are neither escaped nor in a class.
func translate(pattern string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && i+1 < len(pattern):
			b.WriteByte(c)
			i++
			c = pattern[i]
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case c == '.' && !inClass:
			b.WriteString(`[^\n\r]`)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
