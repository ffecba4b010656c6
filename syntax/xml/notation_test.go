package xml_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/notationtest"
	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

var notation = notationtest.Notation{
	Endings: []string{".xml"},
	Parse:   xml.Parse,
	Format:  xml.Format,
	Fmt:     xml.Fmt,
	Like:    xml.Like,
	Codes:   slices.Concat(yaml.Codes, xml.Codes, []strictyaml.Code{{Name: "graph-cycle", Meaning: "As in package check."}}),
	Fixes:   8,
	Untidy:  &notationtest.Untidy{Disturb: disturb, Comment: "<!--", Least: 20},
}

func TestNotation(t *testing.T) { notation.Run(t) }

func FuzzParse(f *testing.F) { notation.FuzzParse(f) }

func FuzzFmt(f *testing.F) { notation.FuzzFmt(f) }

// disturb changes the layout of a file: indentation, comments, blank lines, spaces
// in tags. Where that changes what the file means, the test compares with the
// changed meaning.
func disturb(t *rapid.T, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch rapid.IntRange(0, 12).Draw(t, "what") {
		case 0:
			b.WriteString("\n\n\n")
		case 1:
			line = strings.TrimLeft(line, " ")
		case 2:
			line += "  <!-- behind -->"
		case 3:
			line = strings.Replace(line, ` id="`, "\n\t id  = \"", 1)
		case 4:
			b.WriteString(strings.Repeat(" ", rapid.IntRange(0, 12).Draw(t, "indent")) + "<!-- a comment\n over lines -->\n")
		case 5:
			b.WriteString(line)
			continue
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// The file of the seed has the meaning that its author intended, and is written unchanged.
func TestTheSeed(t *testing.T) {
	text, err := os.ReadFile("testdata/ok/seed.xml")
	if err != nil {
		t.Fatal(err)
	}
	w, _ := xml.Parse("seed.xml", text)
	inYAML, _ := yaml.Parse("seed.yml", []byte(`
name: Search Task
steps:
  - {id: 1, agent: browser, prompt: Navigate to example.org and search for AI news}
  - {id: 2, agent: llm, prompt: Summarize the search results, inputs: {input: "{{agent_1_result}}"}}
`))
	if workflow.Digest(w) != workflow.Digest(inYAML) {
		t.Errorf("not the same:\n%s\n%s", workflow.Print(w), workflow.Print(inYAML))
	}
	laidOut, _ := xml.Fmt("seed.xml", text)
	if diff := cmp.Diff(string(text), string(laidOut)); diff != "" {
		t.Errorf("Fmt changes it:\n%s", diff)
	}
}
