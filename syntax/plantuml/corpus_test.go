package plantuml_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket/syntax/plantuml"
	"github.com/hocket-dev/hocket/workflow"
)

// Diagrams that other people drew are read to an end, and those without a mistake
// can be drawn anew, with the same meaning.
func TestDiagramsOfOthers(t *testing.T) {
	shared := filepath.Join("..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the diagrams of others are not here")
	}
	read, clean := 0, 0
	err := filepath.WalkDir(shared, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".puml" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		read++
		w, found := plantuml.Parse(filepath.Base(file), text)
		if found.Errors() {
			return nil
		}
		clean++
		written, err := plantuml.Format(w)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			return nil
		}
		if again, found := plantuml.Parse("again.puml", written); found.Errors() || workflow.Digest(again) != workflow.Digest(w) {
			t.Errorf("%s means something else when it is drawn anew: %v", file, found)
		}
		if laid, _ := plantuml.Fmt(file, text); len(laid) == 0 && len(text) > 0 {
			t.Errorf("%s: nothing is left of it", file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read == 0 || clean*10 < read {
		t.Errorf("of %d diagrams only %d can be read", read, clean)
	}
	t.Logf("%d diagrams, %d without a mistake", read, clean)
}
