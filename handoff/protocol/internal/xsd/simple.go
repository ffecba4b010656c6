package xsd

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/lazy"
)

// simple is a type of text. Every facet that is set must hold, and one of the values and
// one of the patterns of each step of its derivation.
type simple struct {
	name     string
	collapse bool // white space
	lexical  func() *regexp.Regexp
	values   []string
	patterns []*regexp.Regexp
	min, max int // characters; max < 0: any number
}

// builtin holds the types of XML Schema that are supported.
var builtin = map[string]*simple{
	"string":             {name: "string", max: -1},
	"token":              {name: "token", collapse: true, max: -1},
	"anyURI":             {name: "anyURI", collapse: true, max: -1},
	"boolean":            {name: "boolean", collapse: true, lexical: lazy.Regexp(`^(true|false|1|0)$`), max: -1},
	"integer":            {name: "integer", collapse: true, lexical: lazy.Regexp(`^[+-]?[0-9]+$`), max: -1},
	"decimal":            {name: "decimal", collapse: true, lexical: lazy.Regexp(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$`), max: -1},
	"nonNegativeInteger": {name: "nonNegativeInteger", collapse: true, lexical: lazy.Regexp(`^(\+?[0-9]+|-0+)$`), max: -1},
	"positiveInteger":    {name: "positiveInteger", collapse: true, lexical: lazy.Regexp(`^\+?0*[1-9][0-9]*$`), max: -1},
}

// accepts reports whether a text is valid.
func (s *simple) accepts(text string) bool {
	if s.collapse {
		text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(layout, r) }), " ")
	}
	if s.lexical != nil && !s.lexical().MatchString(text) || s.values != nil && !slices.Contains(s.values, text) {
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

// compilePattern compiles the alternatives of one restriction. It returns how large the
// result is.
func compilePattern(alternatives []string) (*regexp.Regexp, int, error) {
	var all []string
	for _, p := range alternatives {
		translated, err := translate(p)
		if err == nil {
			_, err = syntax.Parse(translated, syntax.Perl)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("the pattern %q cannot be used: %w", p, err)
		}
		all = append(all, "(?:"+translated+")")
	}
	re, err := regexp.Compile(`\A(?:` + strings.Join(all, "|") + `)\z`)
	if err != nil {
		return nil, 0, err
	}
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, err
	}
	return re, len(program.Inst), nil
}

// maxPattern bounds the text of a pattern. Compiled, it is up to a hundred times as large.
const maxPattern = 1000

// tokens splits a pattern: classes of characters, escapes, repetitions, and single
// characters.
var tokens = lazy.Regexp(`\\[pP]\{[A-Z][a-z]?\}|\\.|\{[0-9]+(?:,[0-9]*)?\}|\[\^?|[\s\S]`)

// classes are those that Go understands otherwise, as they are written in brackets.
var classes = map[string]string{`\d`: `\p{Nd}`, `\D`: `\P{Nd}`, `\w`: `\pL\pM\pN\pS`, `\W`: `\pP\pZ\pC`}

// translate turns a pattern of XML Schema into one of Go. What only one of the two has, such
// as \i, [a-z-[aeiou]] and (?i), is refused.
func translate(pattern string) (string, error) {
	if len(pattern) > maxPattern {
		return "", errors.New("it is too long")
	}
	var b strings.Builder
	inClass, bare := false, true // bare: nothing that can be repeated
	for _, token := range tokens().FindAllString(pattern, -1) {
		class := classes[token]
		repeats := !inClass && (strings.Contains("?*+", token) || token[0] == '{')
		switch {
		case repeats && (bare || token == "{"), inClass && token[0] == '[', !inClass && strings.Contains("^$}", token), token == "^",
			token[0] == '\\' && class == "" && len(token) < 3 && !strings.Contains(`nrtsS\|.?*+(){}-[]^`, token[1:]):
			return "", fmt.Errorf("%s is not supported here", token)
		case token == "." && !inClass:
			class = `[^\n\r]`
		case class != "" && !inClass:
			class = "[" + class + "]"
		case token[0] == '[':
			inClass = true
		case token == "]":
			inClass = false
		}
		b.WriteString(cmp.Or(class, token))
		bare = repeats || token == "(" || token == "|"
	}
	return b.String(), nil
}
