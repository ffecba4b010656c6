package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) graphVerb() *cobra.Command {
	var form, file string
	var fold int
	cmd := &cobra.Command{
		Use:   "graph FILE|NAME [FLAGS]",
		Short: "Draw a workflow",
		Long: `Draw a workflow: as a tree in the terminal, as SVG, as text for Mermaid, PlantUML or
Graphviz, or as nodes and edges in JSON.

With --fold, many steps of the same kind with the same edges are drawn as one, such as
"24 steps".`,
		Example: `  hocket graph review.yml
  hocket graph review.yml --as svg -o review.svg
  hocket graph review.yml --as mermaid`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeWorkflow,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.json && !cmd.Flags().Changed("as") {
				form = "json"
			}
			return a.graph(cmd.Context(), args[0], file, form, fold)
		},
	}
	cmd.Flags().StringVar(&form, "as", "tree", "the output `FORMAT`: "+strings.Join(forms, ", "))
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`")
	cmd.Flags().IntVar(&fold, "fold", 0, fmt.Sprintf("draw more than `N` alike steps as one; %d if N is not given", draw.ReadableAlike))
	cmd.Flags().Lookup("fold").NoOptDefVal = strconv.Itoa(draw.ReadableAlike)
	complete(cmd, "as", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// forms are the output formats. Programs that draw by themselves use json.
var forms = append(draw.Forms(), "json")

func drawn(ctx context.Context, w *workflow.Workflow, form string, fold int) (string, error) {
	if form == "json" {
		text, err := syntax.Format(w, form)
		return string(text), err
	}
	return draw.Draw(ctx, w, form, draw.Fold{Over: fold})
}

func (a *app) graph(ctx context.Context, name, file, form string, fold int) error {
	if fold < 0 {
		return usagef(fmt.Sprintf("use a number of steps, such as --fold=%d", draw.ReadableAlike), "invalid --fold %d", fold)
	}
	l, err := a.load(name)
	if err != nil {
		return err
	}
	if l.Model() == nil {
		return &diagnosticsError{l.Diagnostics()}
	}
	text, err := drawn(ctx, l.Model(), form, fold)
	if err != nil && ctx.Err() == nil {
		return usagef("expected one of: "+strings.Join(forms, ", "), "%s", strings.TrimPrefix(err.Error(), "draw: "))
	}
	if err != nil {
		return err
	}
	if file == "" {
		err = a.print(text)
	} else {
		err = os.WriteFile(a.outPath(file), []byte(text), 0o666)
	}
	if found := l.Diagnostics(); err == nil && found.Errors() { // the drawing shows what could be parsed
		err = &diagnosticsError{found}
	}
	return err
}
