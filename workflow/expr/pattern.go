package expr

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// The bounds of regular expressions and of the texts they are matched against.
// RE2 takes time linear in the text, times the size of the pattern's program.
const (
	maxPattern     = 1000
	maxPatternSize = 2000
	maxMatched     = 1 << 20
)

func compilePattern(v any) (*regexp.Regexp, error) {
	pattern, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("the pattern of matches is %s, not text", describe(v))
	}
	if err := boundPattern(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(pattern)
}

// boundPattern keeps out patterns whose program is so large that a match takes
// noticeable time: (a{1,99}){1,99} is short to write.
func boundPattern(pattern string) error {
	if len(pattern) > maxPattern {
		return fmt.Errorf("pattern of %d bytes; at most %d", len(pattern), maxPattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return err
	}
	if len(program.Inst) > maxPatternSize {
		return errors.New("pattern repeats too much")
	}
	return nil
}
