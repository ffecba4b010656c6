package syntax_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
	"github.com/hocket-dev/hocket/workflow"
)

// A file with errors is left unchanged.
func TestProofBytes(t *testing.T) {
	left := 0
	for _, f := range drawings(t) {
		if w, found := syntax.Parse(f.file, f.text); w != nil && !found.Errors() {
			continue
		}
		left++
		if laid, wrong := syntax.Fmt(f.file, f.text); !bytes.Equal(laid, f.text) || !wrong.Errors() {
			t.Errorf("%s has errors, and Fmt changes it", f.name)
		}
	}
	t.Logf("%d files with errors are left as they are", left)
}

// A formatted file means the same to Hocket and to the real tool, and does not change when it is
// formatted again. If a warning says that the tool does not read what was meant, the file is
// formatted as it was meant.
func TestProofLayout(t *testing.T) {
	before, after := map[string][]diagram{}, map[string][]string{}
	same := 0
	for _, f := range drawings(t) {
		laid, found := syntax.Fmt(f.file, f.text)
		if found.Errors() {
			continue
		}
		if again, _ := syntax.Fmt(f.file, laid); !bytes.Equal(again, laid) {
			t.Errorf("%s is not settled:\n%s", f.name, cmp.Diff(string(laid), string(again)))
		}
		if was, is := digest(f.file, f.text), digest(f.file, laid); was != is {
			t.Errorf("%s means something else", f.name)
		}
		if bytes.Equal(laid, f.text) {
			same++
			continue
		}
		ending := filepath.Ext(f.file)
		before[ending] = append(before[ending], f)
		after[ending] = append(after[ending], string(laid))
	}
	changed, read := 0, 0
	for ending, tool := range newest {
		var texts []string
		for _, f := range before[ending] {
			texts = append(texts, string(f.text))
		}
		readings := tool.ReadFiles(t, ending, append(texts, after[ending]...)...)
		n := len(texts)
		for i, was := range readings[:n] {
			changed++
			diff := cmp.Diff(was, readings[n+i])
			if diff == "" {
				read++
				continue
			}
			f := before[ending][i]
			if found, _ := syntax.Diagram(f.file, f.text); !misread(found) {
				t.Errorf("%s is read differently when it is laid out, without a warning:\n%s\n%s", f.name, diff, after[ending][i])
			}
		}
	}
	t.Logf("%d files are laid out already, %d are changed, and %d of these are the same to the real tool", same, changed, read)
}

// newest returns the tools that read files with an extension.
var newest = map[string]tooltest.Tool{".mmd": tooltest.Mermaid[0], ".md": tooltest.Mermaid[0], ".puml": tooltest.PlantUML[0]}

func digest(file string, text []byte) string {
	w, found := syntax.Parse(file, text)
	if w == nil || found.Errors() {
		return ""
	}
	return workflow.Digest(w)
}
