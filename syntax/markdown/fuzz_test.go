package markdown_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax/markdown"
	"github.com/hocket-dev/hocket/workflow"
)

func seed(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.md", "testdata/*/*.mmd", "testdata/*/*.format"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	for _, text := range []string{
		"```mermaid\nflowchart TD\na\n```\n### a\n---\n---\n---\n",
		"> ~~~mermaid\n> graph\n> a-->b\n\n### a\n<!--\n### b\n-->",
		"1. ```mermaid\n   flowchart TD\n   a\n   ```\r\n### a\r\n\r\ntext\r\n",
		"flowchart TD\na@{\n agent: x\n}\na-->a",
	} {
		f.Add([]byte(text))
	}
}

// Whatever the text is, reading it ends, in a workflow or in diagnostics with
// their places; and what was read without error can be written.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		w, found := markdown.Parse("f.md", text)
		for _, d := range found {
			if d.Code == "" || d.Summary == "" || d.Line == 0 {
				t.Errorf("incomplete: %+v", d)
			}
		}
		if w == nil {
			if !found.Errors() {
				t.Error("no workflow, and no error")
			}
			return
		}
		printed := workflow.Print(w)
		if found.Errors() || len(text) > 4000 {
			return
		}
		written, err := markdown.Format(w)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if again, _ := markdown.Fmt("f.md", written); string(again) != string(written) {
			t.Errorf("Fmt changes what Format writes:\n%s", cmp.Diff(string(written), string(again)))
		}
	})
}

// Fmt keeps the meaning, and doing it twice is doing it once.
func FuzzFmt(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		once, found := markdown.Fmt("f.md", text)
		if found.Errors() {
			if string(once) != string(text) {
				t.Error("a file with errors was changed")
			}
			return
		}
		before, _ := markdown.Parse("f.md", text)
		after, broken := markdown.Parse("f.md", once)
		if broken.Errors() {
			t.Fatalf("%s\n%s", broken, once)
		}
		if diff := cmp.Diff(workflow.Print(before), workflow.Print(after)); diff != "" {
			t.Errorf("the meaning changed:\n%s\n%q\n%q", diff, text, once)
		}
		if again, _ := markdown.Fmt("f.md", once); string(again) != string(once) {
			t.Errorf("not settled:\n%s", cmp.Diff(string(once), string(again)))
		}
	})
}
