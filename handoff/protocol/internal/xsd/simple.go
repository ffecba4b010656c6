package xsd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// simple is a type of text. Every facet that is set must hold, and one of the values and
// one of the patterns of each step of its derivation.
type simple struct {
	name     string
	collapse bool // white space
	lexical  *regexp.Regexp
	values   []string
	patterns []*regexp.Regexp
	min, max int // characters; max < 0: any number
}

// builtin holds the types of XML Schema that are supported.
var builtin = map[string]*simple{
	"string":             {name: "string", max: -1},
	"token":              {name: "token", collapse: true, max: -1},
	"anyURI":             {name: "anyURI", collapse: true, max: -1},
	"boolean":            {name: "boolean", collapse: true, lexical: regexp.MustCompile(`^(true|false|1|0)$`), max: -1},
	"integer":            {name: "integer", collapse: true, lexical: regexp.MustCompile(`^[+-]?[0-9]+$`), max: -1},
	"decimal":            {name: "decimal", collapse: true, lexical: regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$`), max: -1},
	"nonNegativeInteger": {name: "nonNegativeInteger", collapse: true, lexical: regexp.MustCompile(`^(\+?[0-9]+|-0+)$`), max: -1},
	"positiveInteger":    {name: "positiveInteger", collapse: true, lexical: regexp.MustCompile(`^\+?0*[1-9][0-9]*$`), max: -1},
}

// accepts reports whether a text is valid.
func (s *simple) accepts(text string) bool {
	if s.collapse {
		text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(layout, r) }), " ")
	}
	if s.lexical != nil && !s.lexical.MatchString(text) || s.values != nil && !slices.Contains(s.values, text) {
		return false
	}
	if s.min > 0 || s.max >= 0 {
		if n := utf8.RuneCountInString(text); n < s.min || s.max >= 0 && n > s.max {
			return false
		}
	}
	return !slices.ContainsFunc(s.patterns, func(p *regexp.Regexp) bool { return !p.MatchString(text) })
}

const layout = " \t\r\n"

// compilePattern translates the alternatives of one restriction. The two languages agree on what
// is accepted here; what only XML Schema has, such as \i, \c and [a-z-[aeiou]], is refused.
func compilePattern(alternatives []string) (*regexp.Regexp, error) {
	for _, p := range alternatives {
		for _, foreign := range []string{`\i`, `\c`, `\I`, `\C`, `-[`, `\p{Is`, `\P{Is`, `^`, `$`} {
			if strings.Contains(strings.ReplaceAll(p, `[^`, `[`), foreign) {
				return nil, fmt.Errorf("the pattern %q uses %s, which is not supported", p, foreign)
			}
		}
	}
	re, err := regexp.Compile(`\A(?:` + strings.Join(alternatives, "|") + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q cannot be used: %w", strings.Join(alternatives, "|"), err)
	}
	return re, nil
}
