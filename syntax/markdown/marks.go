package markdown

import (
	"regexp"
	"strings"
)

var (
	headingLine = regexp.MustCompile(`^ {0,3}#{2,6}[ \t]+\S`)
	// What an arrow leads over is neither in quotes nor in a comment.
	hidden = regexp.MustCompile(`"[^"]*"|<!--.*?-->|%%.*`)
	arrows = regexp.MustCompile(`--+>|==+>|-\.+->`)
)

// Marks are the headings and the arrows of a file, wherever they are: a mistake
// may keep them from being read as what they are.
func Marks(text []byte) []string {
	var found []string
	for line := range strings.Lines(string(text)) {
		if headingLine.MatchString(line) {
			found = append(found, strings.Trim(line, "# \t\r\n")) // whatever its level
			continue
		}
		for range arrows.FindAllString(hidden.ReplaceAllString(line, ""), -1) {
			found = append(found, "arrow")
		}
	}
	return found
}
