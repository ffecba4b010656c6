package yaml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

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

func TestFmtOfDisturbedFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/ok/*.yml")
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
		once, found := yaml.Fmt("f.yml", []byte(text))
		if found.Errors() {
			t.Skip("no longer a workflow")
		}
		before, _ := yaml.Parse("f.yml", []byte(text))
		after, _ := yaml.Parse("f.yml", once)
		if diff := cmp.Diff(workflow.Print(before), workflow.Print(after)); diff != "" {
			t.Fatalf("the meaning changed:\n%s", diff)
		}
		if a, b := strings.Count(text, "#"), strings.Count(string(once), "#"); a != b {
			t.Fatalf("%d comments became %d:\n%s", a, b, once)
		}
		if again, _ := yaml.Fmt("f.yml", once); string(again) != string(once) {
			t.Fatalf("not settled:\n%s", cmp.Diff(string(once), string(again)))
		}
		if string(once) != text {
			laidOut++
		}
	})
	if laidOut < 50 && !testing.Short() {
		t.Errorf("only %d files were laid out", laidOut)
	}
}
