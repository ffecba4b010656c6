package yaml_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

func seed(f *testing.F) {
	for _, pattern := range []string{"testdata/ok/*.yml", "testdata/bad/*.yml", "testdata/fmt/*.yml"} {
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
// their places; and what was read without error can be written.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		w, found := yaml.Parse("f.yml", text)
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
		written, err := yaml.Format(w)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if again, _ := yaml.Fmt("f.yml", written); string(again) != string(written) {
			t.Errorf("Fmt changes what Format writes:\n%s", cmp.Diff(string(written), string(again)))
		}
	})
}

// Fmt keeps the meaning, and doing it twice is doing it once.
func FuzzFmt(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		once, found := yaml.Fmt("f.yml", text)
		if found.Errors() {
			if string(once) != string(text) {
				t.Error("a file with errors was changed")
			}
			return
		}
		before, _ := yaml.Parse("f.yml", text)
		after, broken := yaml.Parse("f.yml", once)
		if broken.Errors() {
			t.Fatalf("%s\n%s", broken, once)
		}
		if diff := cmp.Diff(workflow.Print(before), workflow.Print(after)); diff != "" {
			t.Errorf("the meaning changed:\n%s\n%q\n%q", diff, text, once)
		}
		if again, _ := yaml.Fmt("f.yml", once); string(again) != string(once) {
			t.Errorf("not settled:\n%s", cmp.Diff(string(once), string(again)))
		}
	})
}
