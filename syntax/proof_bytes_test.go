package syntax_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// A file with errors is left as it is.
func TestProofBytes(t *testing.T) {
	left := 0
	for _, f := range foreign(t) {
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

// Laid out, a file means the same to Hocket and to the real tool, and laid out
// again it does not change.
func TestProofLayout(t *testing.T) {
	before, after := map[string][]diagram{}, map[string][][]byte{}
	same := 0
	for _, f := range foreign(t) {
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
		after[ending] = append(after[ending], laid)
	}
	changed, read := 0, 0
	for ending, real := range map[string]tool{".mmd": mermaid("12"), ".md": mermaid("12"), ".puml": plantuml("1.2026.8")} {
		real.ending = ending
		var texts [][]byte
		for _, f := range before[ending] {
			texts = append(texts, f.text)
		}
		readings := real.read(t, append(texts, after[ending]...))
		n := len(texts)
		for i, was := range readings[:n] {
			changed++
			if diff := cmp.Diff(was, readings[n+i]); diff != "" {
				t.Errorf("%s is read differently when it is laid out:\n%s\n%s", before[ending][i].name, diff, after[ending][i])
				continue
			}
			read++
		}
	}
	t.Logf("%d files are laid out already, %d are changed, and %d of these are the same to the real tool", same, changed, read)
}

func digest(file string, text []byte) string {
	w, found := syntax.Parse(file, text)
	if w == nil || found.Errors() {
		return ""
	}
	return workflow.Digest(w)
}
