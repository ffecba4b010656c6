package plantuml_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax/plantuml"
	"github.com/hocket-dev/hocket/workflow"
)

func seed(f *testing.F) {
	for _, pattern := range []string{"testdata/same/*.puml", "testdata/same/*.format", "testdata/bad/*.puml", "testdata/fmt/*.puml"} {
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
}

// Whatever the text is, reading it ends, in a workflow or in diagnostics with
// their places; and what was read without error can be drawn.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		w, found := plantuml.Parse("f.puml", text)
		for _, d := range found {
			if d.Code == "" || d.Summary == "" || d.Line == 0 {
				t.Errorf("incomplete: %+v", d)
			}
		}
		printed := workflow.Print(w)
		if found.Errors() || len(text) > 4000 {
			return
		}
		written, err := plantuml.Format(w)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if again, _ := plantuml.Fmt("f.puml", written); string(again) != string(written) {
			t.Errorf("Fmt changes what Format writes:\n%s", cmp.Diff(string(written), string(again)))
		}
	})
}

// Fmt keeps the meaning, and doing it twice is doing it once.
func FuzzFmt(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		once, found := plantuml.Fmt("f.puml", text)
		if found.Errors() {
			if string(once) != string(text) {
				t.Error("a file with errors was changed")
			}
			return
		}
		before, _ := plantuml.Parse("f.puml", text)
		after, broken := plantuml.Parse("f.puml", once)
		if broken.Errors() {
			t.Fatalf("%s\n%s", broken, once)
		}
		if diff := cmp.Diff(workflow.Print(before), workflow.Print(after)); diff != "" {
			t.Errorf("the meaning changed:\n%s\n%q\n%q", diff, text, once)
		}
		if again, _ := plantuml.Fmt("f.puml", once); string(again) != string(once) {
			t.Errorf("not settled:\n%s", cmp.Diff(string(once), string(again)))
		}
	})
}
