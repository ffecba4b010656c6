package jsonpath

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// The limits of patterns. RE2 takes time linear in the text, times the size of the pattern's
// program.
const (
	maxPattern     = 1000
	maxPatternSize = 2000
)

// pattern is a compiled regular expression.
type pattern struct {
	re   *regexp.Regexp
	size int // of its program
}

// compile translates a pattern of RFC 9485 for the regexp package. A dot does not match line
// ends, and whole means that the pattern must match the whole text. For an invalid pattern, or
// one that is too large, it returns nil, which matches nothing, as the RFC requires.
func compile(v any, whole bool) *pattern {
	text, ok := v.(string)
	if !ok || len(text) > maxPattern {
		return nil
	}
	translated := translate(text)
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
	return &pattern{re, len(program.Inst)}
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
