package markdown

import (
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
)

var (
	headingLine = lazy.Regexp(`^ {0,3}#{2,6}[ \t]+\S`)
	fenceLine   = lazy.Regexp("^\\s*(```|~~~)")
	chartLine   = lazy.Regexp("(?mi)^\\s*(```+|~~~+)\\s*\\{?mermaid")
	// Quotes and comments, in which an arrow has no meaning.
	hidden = lazy.Regexp(`"[^"]*"|<!--.*?-->|%%.*`)
	arrows = lazy.Regexp(`--+>|==+>|-\.+->`)
)

// Marks returns the headings of a file and the arrows of its charts, even if a mistake prevents
// them from being parsed.
func Marks(text []byte) []string {
	var found []string
	fenced := chartLine().Match(text)
	inChart := !fenced
	for line := range strings.Lines(string(text)) {
		switch {
		case fenced && chartLine().MatchString(line):
			inChart = true
		case fenced && fenceLine().MatchString(line):
			inChart = false
		case headingLine().MatchString(line):
			found = append(found, strings.Trim(line, "# \t\r\n")) // at any level
		case inChart:
			for range arrows().FindAllString(hidden().ReplaceAllString(line, ""), -1) {
				found = append(found, "arrow")
			}
		}
	}
	return found
}
