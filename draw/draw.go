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
	"context"
	"fmt"

	"github.com/hocket-dev/hocket/workflow"
)

// forms are the output formats, in the order of the help.
var forms = []struct {
	name string
	draw func(context.Context, *workflow.Workflow, Fold) (string, error)
}{
	{"tree", quick(Tree)},
	{"mermaid", quick(Mermaid)},
	{"plantuml", quick(PlantUML)},
	{"dot", quick(DOT)},
	{"svg", SVG},
}

// quick is for formats in which nothing has to be laid out.
func quick(draw func(*workflow.Workflow) string) func(context.Context, *workflow.Workflow, Fold) (string, error) {
	return func(ctx context.Context, w *workflow.Workflow, fold Fold) (string, error) {
		w, _ = fold.workflow(w, "")
		if err := ctx.Err(); err != nil {
			return "", err
		}
		return draw(w), nil
	}
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
// errors are an unknown format, and that the context is done.
func Draw(ctx context.Context, w *workflow.Workflow, form string, fold Fold) (string, error) {
	for _, f := range forms {
		if f.name == form {
			return f.draw(ctx, w, fold)
		}
	}
	err := fmt.Errorf("draw: unknown format %q", form)
	if hint := workflow.DidYouMean(form, Forms()); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return "", err
}
