package xml_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/workflow"
)

func seed(f *testing.F) {
	for _, pattern := range []string{"testdata/ok/*.xml", "testdata/bad/*.xml", "testdata/fmt/*.xml", "testdata/answer/*.txt"} {
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
		w, found := xml.Parse("f.xml", text)
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
		written, err := xml.Format(w)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if again, _ := xml.Fmt("f.xml", written); string(again) != string(written) {
			t.Errorf("Fmt changes what Format writes:\n%s", cmp.Diff(string(written), string(again)))
		}
	})
}

// Fmt keeps the meaning, and doing it twice is doing it once.
func FuzzFmt(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		once, found := xml.Fmt("f.xml", text)
		if found.Errors() {
			if string(once) != string(text) {
				t.Error("a file with errors was changed")
			}
			return
		}
		before, _ := xml.Parse("f.xml", text)
		after, broken := xml.Parse("f.xml", once)
		if broken.Errors() {
			t.Fatalf("%s\n%s", broken, once)
		}
		if diff := cmp.Diff(workflow.Print(before), workflow.Print(after)); diff != "" {
			t.Errorf("the meaning changed:\n%s\n%q\n%q", diff, text, once)
		}
		if again, _ := xml.Fmt("f.xml", once); string(again) != string(once) {
			t.Errorf("not settled:\n%s", cmp.Diff(string(once), string(again)))
		}
	})
}

// FuzzRecover repairs anything. The model that comes out is a model: it can be
// written, and its steps never become fewer when the answer goes on.
func FuzzRecover(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		steps := func(w *workflow.Workflow) (n int) {
			w.Body.Walk(func(*workflow.Graph, *workflow.Node) { n++ })
			return n
		}
		half, _ := xml.Recover("f.xml", text[:len(text)/2])
		w, _ := xml.Recover("f.xml", text)
		if steps(w) < steps(half) {
			t.Errorf("%d steps became %d", steps(half), steps(w))
		}
		workflow.Print(w)
	})
}
