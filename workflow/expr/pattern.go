package expr

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// The limits of regular expressions. RE2 takes time linear in the text, times the size of the
// pattern's program: maxMatching is a second or two at worst.
const (
	maxPattern     = 1000
	maxPatternSize = 2000
	maxMatching    = 1 << 28
)

// pattern is a compiled regular expression.
type pattern struct {
	re   *regexp.Regexp
	size int // of its program
}

// compilePattern rejects patterns whose program is so large that a match takes noticeable time:
// (a{1,30}){1,30} is short, but compiles to a large program.
func compilePattern(v any) (*pattern, error) {
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("matches needs a pattern as text, not %s", describe(v))
	}
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes; at most %d are allowed", len(text), maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxPatternSize {
		return nil, errors.New("the pattern contains too many repetitions")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{re, len(program.Inst)}, nil
}

// match reports whether the pattern matches somewhere in a text.
func (p *pattern) match(text string) (bool, error) {
	if len(text) > maxMatching/p.size {
		return false, fmt.Errorf("expr: a text of %d bytes is too long for this pattern; at most %d", len(text), maxMatching/p.size)
	}
	return p.re.MatchString(text), nil
}
