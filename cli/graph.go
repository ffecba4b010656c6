package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) graphVerb() *cobra.Command {
	var form, file string
	cmd := &cobra.Command{
		Use:   "graph FILE|NAME [FLAGS]",
		Short: "Draw a workflow",
		Long: `Draw a workflow: as a tree in the terminal, as SVG, as text for Mermaid, PlantUML or
Graphviz, or as nodes and edges in JSON.`,
		Example: `  hocket graph review.yml
  hocket graph review.yml --as svg -o review.svg
  hocket graph review.yml --as mermaid`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeWorkflow,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.json && !cmd.Flags().Changed("as") {
				form = "json"
			}
			return a.graph(args[0], form, file)
		},
	}
	cmd.Flags().StringVar(&form, "as", "tree", "the output `FORMAT`: "+strings.Join(forms, ", "))
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`")
	complete(cmd, "as", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// forms are the output formats. Programs that draw by themselves use json.
var forms = append(draw.Forms(), "json")

func drawn(w *workflow.Workflow, form string) (string, error) {
	if form == "json" {
		text, err := syntax.Format(w, form)
		return string(text), err
	}
	return draw.Draw(w, form)
}

func (a *app) graph(name, form, file string) error {
	l, err := a.load(name)
	if err != nil {
		return err
	}
	if l.Model() == nil {
		return &diagnosticsError{l.Diagnostics()}
	}
	text, err := drawn(l.Model(), form)
	if err != nil {
		return usagef("expected one of: "+strings.Join(forms, ", "), "%s", strings.TrimPrefix(err.Error(), "draw: "))
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
