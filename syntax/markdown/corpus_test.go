package markdown_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket/syntax/markdown"
	"github.com/hocket-dev/hocket/workflow"
)

// Files that nobody wrote for Hocket are read to their end; what is read without
// error can be written, and layout changes nothing that it means.
func TestForeignFiles(t *testing.T) {
	var files []string
	for _, pattern := range []string{"md/*.md", "mermaid/*.mmd"} {
		found, err := filepath.Glob(filepath.Join("../../../shared/corpus", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skip("there are no such files here")
	}
	clean := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, found := markdown.Parse(file, text)
		if w == nil || found.Errors() {
			continue
		}
		clean++
		written, err := markdown.Format(w)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if again, _ := markdown.Parse(file, written); workflow.Digest(again) != workflow.Digest(w) {
			t.Errorf("%s: what is written means something else", file)
		}
		laidOut, _ := markdown.Fmt(file, text)
		if again, _ := markdown.Parse(file, laidOut); workflow.Digest(again) != workflow.Digest(w) {
			t.Errorf("%s: laid out, it means something else", file)
		}
	}
	t.Logf("%d of %d files are workflows without errors", clean, len(files))
}
