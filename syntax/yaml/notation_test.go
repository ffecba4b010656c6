package yaml_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/syntax/internal/notationtest"
	"github.com/hocket-dev/hocket/syntax/yaml"
)

var notation = notationtest.Notation{
	Endings: []string{".yml"},
	Parse:   yaml.Parse,
	Format:  yaml.Format,
	Fmt:     yaml.Fmt,
	Codes:   yaml.Codes,
	Untidy:  &notationtest.Untidy{Disturb: disturb, Comment: "#", Least: 50},
}

func TestNotation(t *testing.T) { notation.Run(t) }

func FuzzParse(f *testing.F) { notation.FuzzParse(f) }

func FuzzFmt(f *testing.F) { notation.FuzzFmt(f) }

// disturb changes the layout of a file: wider indentation, comments and blank
// lines anywhere, spaces at the ends of lines. Where that changes what the file
// means, the test compares with the changed meaning.
func disturb(t *rapid.T, text string) string {
	wide := rapid.Bool().Draw(t, "wide")
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if wide {
			content := strings.TrimLeft(line, " ")
			line = strings.Repeat(" ", 2*(len(line)-len(content))) + content
			if entry, ok := strings.CutPrefix(content, "- "); ok {
				line = strings.Repeat(" ", len(line)-len(content)) + "-   " + entry
			}
		}
		switch rapid.IntRange(0, 12).Draw(t, "what") {
		case 0:
			b.WriteString("\n\n")
		case 1:
			b.WriteString(strings.Repeat(" ", rapid.IntRange(0, 12).Draw(t, "indent")) + "# comment\n")
		case 2:
			line += "  # behind"
		case 3:
			line += "   "
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
