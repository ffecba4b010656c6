package plantuml_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/syntax/plantuml"
	"github.com/hocket-dev/hocket/workflow"
)

// Whatever a model is, it can be drawn, and the drawing means the same.
func TestEveryModelCanBeDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := modelgen.Workflow().Draw(t, "workflow")
		text, err := plantuml.Format(w)
		if err != nil {
			t.Fatalf("%v\n%s", err, workflow.Print(w))
		}
		again, found := plantuml.Parse("f.puml", text)
		if found.Errors() {
			t.Fatalf("%s\n%s", found, text)
		}
		if diff := cmp.Diff(workflow.Print(w), workflow.Print(again)); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
	})
}
