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

// simple is a type of text. A valid text satisfies every facet that is set, is one of the listed
// values, and matches a pattern of each derivation step.
type simple struct {
	name     string
	collapse bool // white space
	lexical  func() *regexp.Regexp
	values   []string
	patterns []*regexp.Regexp
	min, max int // characters; max < 0: any number
}

// builtin has the supported types of XML Schema.
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

// compilePattern compiles the alternatives of one restriction. It also returns the size of the
// result.
func compilePattern(alternatives []string) (*regexp.Regexp, int, error) {
	var all []string
	for _, p := range alternatives {
		translated, err := translate(p)
		if err == nil {
			_, err = syntax.Parse(translated, syntax.Perl)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("invalid pattern %q: %w", p, err)
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

// maxPattern limits the length of a pattern. The compiled pattern may be a hundred times as large.
const maxPattern = 1000

// tokens splits a pattern: classes of characters, escapes, repetitions, and single
// characters.
var tokens = lazy.Regexp(`\\[pP]\{[A-Z][a-z]?\}|\\.|\{[0-9]+(?:,[0-9]*)?\}|\[\^?|[\s\S]`)

// classes translates character classes that mean something else in Go, for use inside brackets.
var classes = map[string]string{`\d`: `\p{Nd}`, `\D`: `\P{Nd}`, `\w`: `\pL\pM\pN\pS`, `\W`: `\pP\pZ\pC`}

// translate turns an XML Schema pattern into a Go regular expression. It refuses features that only
// one of the two supports, such as \i, [a-z-[aeiou]] and (?i).
func translate(pattern string) (string, error) {
	if len(pattern) > maxPattern {
		return "", errors.New("it is too long")
	}
	var b strings.Builder
	inClass, bare := false, true // bare: there is nothing before that can be repeated
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
