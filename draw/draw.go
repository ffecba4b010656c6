// Package draw draws a workflow: as a tree for the terminal, as text for other drawing
// tools, or as SVG.
//
// A drawing is for people. It omits what a picture has no room for (prompts, settings,
// schemas), so it cannot be parsed back into a workflow.
//
// The package depends only on the model. The same workflow always results in the same
// bytes.
package draw

import (
	"fmt"

	"github.com/hocket-dev/hocket/workflow"
)

// forms are the output formats, in the order of the help.
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

// Forms returns the names of the formats.
func Forms() []string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = f.name
	}
	return names
}

// Draw draws a workflow in one of the [Forms]. The result ends with a newline. The only
// error is an unknown format.
func Draw(w *workflow.Workflow, form string) (string, error) {
	for _, f := range forms {
		if f.name == form {
			return f.draw(w), nil
		}
	}
	err := fmt.Errorf("draw: unknown format %q", form)
	if hint := workflow.DidYouMean(form, Forms()); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return "", err
}
