package xml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/workflow"
)

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

func TestFmtOfDisturbedFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/ok/*.xml")
	if err != nil {
		t.Fatal(err)
	}
	laidOut := 0
	rapid.Check(t, func(t *rapid.T) {
		original, err := os.ReadFile(rapid.SampledFrom(files).Draw(t, "file"))
		if err != nil {
			t.Fatal(err)
		}
		text := disturb(t, string(original))
		once, found := xml.Fmt("f.xml", []byte(text))
		if found.Errors() {
			t.Skip("no longer a workflow")
		}
		before, _ := xml.Parse("f.xml", []byte(text))
		after, _ := xml.Parse("f.xml", once)
		if diff := cmp.Diff(workflow.Print(before), workflow.Print(after)); diff != "" {
			t.Fatalf("the meaning changed:\n%s\n%s\n%s", diff, text, once)
		}
		if a, b := strings.Count(text, "<!--"), strings.Count(string(once), "<!--"); a != b {
			t.Fatalf("%d comments became %d:\n%s", a, b, once)
		}
		if again, _ := xml.Fmt("f.xml", once); string(again) != string(once) {
			t.Fatalf("not settled:\n%s", cmp.Diff(string(once), string(again)))
		}
		if string(once) != text {
			laidOut++
		}
	})
	if laidOut < 20 && !testing.Short() {
		t.Errorf("only %d files were laid out", laidOut)
	}
}
