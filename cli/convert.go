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
		Short: "Convert a workflow to another notation",
		Long: `Convert a workflow to another notation. The result means the same: it has the same
digest, and converting it back gives the original workflow. What a diagram cannot
show is written next to it; --report lists what and where. Use - to read standard
input, which may be a model's response that contains a workflow.`,
		Example: `  hocket convert review.yml --to mermaid -o review.md
  hocket convert review.puml --to yaml

  # Report how each part of the workflow was converted
  hocket convert review.yml --to plantuml --report -o review.puml`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeWorkflow,
		RunE:              func(_ *cobra.Command, args []string) error { return a.convert(args[0], to, file, report) },
	}
	names := syntax.Notations()
	cmd.Flags().StringVar(&to, "to", "", "the `NOTATION`: "+strings.Join(names, ", "))
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`")
	cmd.Flags().BoolVar(&report, "report", false, "report how each part of the workflow was converted")
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
	if to == "" {
		return usagef("expected one of: "+strings.Join(syntax.Notations(), ", "), "missing --to NOTATION")
	}
	notation, ok := syntax.Named(to)
	if !ok {
		return usagef("expected one of: "+strings.Join(syntax.Notations(), ", "), "unknown notation %q", to)
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

// asWritten reads a workflow as its author wrote it: prompts in files of the project are
// not inlined. The diagnostics are warnings.
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

// fidelityText counts how the parts were converted, and lists those that the notation
// has no form for.
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
