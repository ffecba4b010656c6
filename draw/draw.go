// Package draw shows a workflow as a picture: a tree for the terminal, text for
// other drawing tools, and a finished SVG.
//
// A drawing is for people to look at. It leaves out what a picture has no room
// for (prompts, settings, schemas), so it cannot be read back.
//
// The package reads the model and nothing else. The same workflow always gives
// the same bytes.
package draw

import (
	"fmt"

	"github.com/hocket-dev/hocket/workflow"
)

// forms are the ways to draw, in the order in which help lists them.
var forms = []struct {
	name string
	draw func(*workflow.Workflow) string
}{
	{"tree", Tree},
	{"mermaid", Mermaid},
	{"plantuml", PlantUML},
	{"dot", DOT},
	{"svg", SVG},
}

// Forms are the names that [Draw] knows.
func Forms() []string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = f.name
	}
	return names
}

// Draw draws a workflow in one of the [Forms]. What it returns ends with a
// newline. Only an unknown form is an error.
func Draw(w *workflow.Workflow, form string) (string, error) {
	for _, f := range forms {
		if f.name == form {
			return f.draw(w), nil
		}
	}
	err := fmt.Errorf("draw: no form %q", form)
	if hint := workflow.DidYouMean(form, Forms()); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return "", err
}
