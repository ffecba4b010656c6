package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/handoff/protocol"
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
input, which may be a model's response that contains a workflow.

A Markdown file with handoffs is a workflow too, with a task for each request. With
--to handoff, every task of a workflow becomes a request.`,
		Example: `  hocket convert review.yml --to mermaid -o review.md
  hocket convert review.puml --to yaml

  # Report how each part of the workflow was converted
  hocket convert review.yml --to plantuml --report -o review.puml

  # A batch of handoffs as a workflow, and back
  hocket convert batch.md --to yaml -o batch.yml
  hocket convert batch.yml --to handoff`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeWorkflow,
		RunE:              func(_ *cobra.Command, args []string) error { return a.convert(args[0], to, file, report) },
	}
	names := append(syntax.Notations(), toHandoff)
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
	expected := "expected one of: " + strings.Join(append(syntax.Notations(), toHandoff), ", ")
	if to == "" {
		return usagef(expected, "missing --to NOTATION")
	}
	notation, ok := syntax.Named(to)
	if !ok && to != toHandoff {
		return usagef(expected, "unknown notation %q", to)
	}
	w, found, items, err := a.asWritten(name)
	if err != nil {
		return err
	}
	c := converted{File: name, Notation: to, Digest: workflow.Digest(w)}
	if to == toHandoff {
		c.Text, c.Report, err = a.asHandoffs(w)
	} else {
		var text []byte
		text, err = notation.Format(w)
		c.Notation, c.Text = notation.Name, string(text)
		if report && err == nil {
			c.Report = append(items, syntax.Fidelity(w, notation)...)
		}
	}
	if err != nil {
		if report && c.Report != nil {
			a.note(fidelityText(c.Report, a.errStyle))
		}
		return err
	}
	if !report {
		c.Report = nil
	}
	if a.json {
		c.Diagnostics = jsonDiagnostics(found)
	} else {
		a.note(a.showDiagnostics(found, a.errStyle))
	}
	return a.putConverted(c, file)
}

// asWritten reads a workflow as its author wrote it: prompts in files of the project are
// not inlined. The diagnostics are warnings. The items say how a workflow that was written as
// requests represents them.
func (a *app) asWritten(name string) (*workflow.Workflow, workflow.Diagnostics, []syntax.Item, error) {
	if name != stdin && !isFile(a.path(name)) {
		l, err := a.load(name)
		if err != nil {
			return nil, nil, nil, err
		}
		if l.Model() == nil {
			return nil, nil, nil, &diagnosticsError{l.Diagnostics()}
		}
		name = l.Model().Pos.File
	}
	file, text, err := a.readFile(name, "convert")
	if err != nil {
		return nil, nil, nil, err
	}
	h, err := a.requestsIn(file, text)
	if err != nil {
		return nil, nil, nil, err
	}
	var w *workflow.Workflow
	var found workflow.Diagnostics
	var items []syntax.Item
	if h == nil {
		w, found = syntax.Parse(file, text)
	} else if found = h.Found; !found.Errors() {
		w, found = handoff.Workflow(h)
		found, items = append(found, h.Found...), handoff.Fidelity(h.Requests)
	}
	found = found.Sort()
	if w == nil || found.Errors() {
		return nil, nil, nil, &diagnosticsError{found}
	}
	return w, found, items, nil
}

// requestsIn returns the requests in a text, nil if it has none. The prompt of a workflow may
// contain some, but a request in Markdown counts even beside a diagram.
func (a *app) requestsIn(file string, text []byte) (*protocol.Handoffs, error) {
	n, ok := syntax.Of(file, text)
	if ok && n.Name != "mermaid" || !bytes.Contains(text, []byte("agent_request")) {
		return nil, nil
	}
	p, err := a.openProject()
	if err != nil {
		return nil, err
	}
	h, err := handoff.Read(p, file, text, false)
	if err != nil || h.Blocks == 0 {
		return nil, err
	}
	return h, nil
}

// toHandoff is the value of --to for requests.
const toHandoff = "handoff"

// asHandoffs writes a workflow as requests.
func (a *app) asHandoffs(w *workflow.Workflow) (string, []syntax.Item, error) {
	p, err := a.openProject()
	if err != nil {
		return "", nil, err
	}
	h, report := handoff.Requests(w)
	if h == nil {
		var why []string
		for _, it := range report {
			if it.How == syntax.Rejected {
				why = append(why, strings.TrimPrefix(it.Node+": ", ": ")+it.Note)
			}
		}
		return "", report, usagef("convert a workflow that has only tasks and plain edges", "the workflow cannot become handoffs:\n  %s", strings.Join(why, "\n  "))
	}
	text, err := handoff.Write(p, h)
	return string(text), report, err
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
