package markdown_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/syntax/markdown"
	"github.com/hocket-dev/hocket/workflow"
)

// Whatever a model holds, Markdown can say it.
func TestFormatKeepsTheMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := modelgen.Workflow().Draw(t, "workflow")
		text, err := markdown.Format(want)
		if err != nil {
			t.Fatalf("%v\n%s", err, workflow.Print(want))
		}
		got, found := markdown.Parse("f.md", text)
		if found.Errors() {
			t.Fatalf("%s\n%s", found, text)
		}
		if diff := cmp.Diff(workflow.Print(want), workflow.Print(got)); diff != "" {
			t.Fatalf("-want +got:\n%s\n%s", diff, text)
		}
		if again, _ := markdown.Fmt("f.md", text); string(again) != string(text) {
			t.Fatalf("Fmt changes what Format writes:\n%s", cmp.Diff(string(text), string(again)))
		}
	})
}
