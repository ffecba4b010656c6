package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) convertVerb() *cobra.Command {
	var to, file string
	var report bool
	cmd := &cobra.Command{
		Use:   "convert FILE|- --to NOTATION [FLAGS]",
		Short: "write a workflow in another notation",
		Long: `Write a workflow in another notation. Nothing that matters is lost: the result
has the same digest, and converting it back gives the workflow that it came
from. What a diagram cannot show stands beside it; --report says what and where.
The file may be standard input, and an answer of a model with a workflow in it.`,
		Example: `  hocket convert review.yml --to mermaid -o review.md
  hocket convert review.puml --to yaml

  # what is drawn, and what is carried along
  hocket convert review.yml --to plantuml --report -o review.puml`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeWorkflow,
		RunE:              func(_ *cobra.Command, args []string) error { return a.convert(args[0], to, file, report) },
	}
	names := syntax.Notations()
	cmd.Flags().StringVar(&to, "to", "", "the `NOTATION`: "+strings.Join(names, ", "))
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`")
	cmd.Flags().BoolVar(&report, "report", false, "say how each part of the workflow came over")
	complete(cmd, "to", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// converted is a workflow in another notation, with --json.
type converted struct {
	File        string               `json:"file"`
	Notation    string               `json:"notation"`
	Digest      string               `json:"digest"`
	Text        string               `json:"text"`
	Report      []syntax.Item        `json:"report,omitempty"`
	Diagnostics workflow.Diagnostics `json:"diagnostics,omitempty"` // warnings of the reader
}

func (a *app) convert(name, to, file string, report bool) error {
	notation, ok := syntax.Named(to)
	if !ok {
		return usagef("the notations are "+strings.Join(syntax.Notations(), ", "), "--to wants a notation, not %q", to)
	}
	w, found, err := a.asWritten(name)
	if err != nil {
		return err
	}
	text, err := notation.Format(w)
	if err != nil {
		return err
	}
	c := converted{File: name, Notation: notation.Name, Digest: workflow.Digest(w), Text: string(text)}
	if report {
		c.Report = syntax.Fidelity(w, notation)
	}
	if a.json {
		c.Diagnostics = jsonDiagnostics(found)
	} else {
		a.note(a.showDiagnostics(found, a.errStyle))
	}
	return a.putConverted(c, file)
}

// asWritten reads a workflow as its author wrote it: a prompt that stands in a
// file of the project stays there. What was found are warnings.
func (a *app) asWritten(name string) (*workflow.Workflow, workflow.Diagnostics, error) {
	if name != stdin && !isFile(a.path(name)) {
		l, err := a.load(name)
		if err != nil {
			return nil, nil, err
		}
		if l.Model() == nil {
			return nil, nil, &diagnosticsError{l.Diagnostics()}
		}
		name = l.Model().Pos.File
	}
	file, text, err := a.readFile(name, "convert")
	if err != nil {
		return nil, nil, err
	}
	w, found := syntax.Parse(file, text)
	found = found.Sort()
	if w == nil || found.Errors() {
		return nil, nil, &diagnosticsError{found}
	}
	return w, found, nil
}

// putConverted writes the text to the file or to standard output, and the report
// beside it.
func (a *app) putConverted(c converted, file string) error {
	if file != "" {
		if err := os.WriteFile(a.outPath(file), []byte(c.Text), 0o666); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(c)
	}
	if c.Report != nil {
		a.note(fidelityText(c.Report, a.errStyle))
	}
	if file != "" {
		return nil
	}
	return a.print(c.Text)
}

// fidelityText counts what came over and how, and lists what is not drawn.
func fidelityText(items []syntax.Item, style view.Style) string {
	counts := map[string]int{}
	t := &view.Table{Head: []string{"NODE", "WHAT", "HOW", "WHERE"}}
	for _, it := range items {
		counts[string(it.How)]++
		if it.How != syntax.Exact {
			t.Row(view.Cell{Text: it.Node}, view.Cell{Text: it.Construct}, view.Cell{Text: string(it.How)}, view.Cell{Text: it.Note})
		}
	}
	text := fmt.Sprintf("%d exact, %d carried, %d rejected\n", counts["exact"], counts["carried"], counts["rejected"])
	if counts["exact"] < len(items) {
		text += t.Draw(style)
	}
	return text
}
