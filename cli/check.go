package cli

import (
	"cmp"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) checkVerb() *cobra.Command {
	var syntaxOnly, fix bool
	cmd := &cobra.Command{
		Use:   "check [FILE...] [FLAGS]",
		Short: "say what is wrong with workflows",
		Long: `Say everything that is wrong with workflows, at its place and with what to do
about it: the files, the workflows that they call, and the project's agents.
Without a file, all workflows of the project. The exit code is 2 if one of them
cannot run.`,
		Example: `  hocket check review.yml
  hocket check

  # of a file alone, without the agents of the project
  hocket check --syntax-only draft.yml

  # do what the help says, where it is certain
  hocket check --fix flow.md

  # for an editor
  hocket check review.yml --json`,
		ValidArgsFunction: a.completeWorkflow,
		RunE:              func(_ *cobra.Command, args []string) error { return a.check(args, syntaxOnly, fix) },
	}
	cmd.Flags().BoolVar(&syntaxOnly, "syntax-only", false, "look at the files alone; at a diagram as its own tool does")
	cmd.Flags().BoolVar(&fix, "fix", false, "mend the files where the remedy is certain")
	return cmd
}

func (a *app) check(files []string, syntaxOnly, fix bool) error {
	if fix {
		if err := a.fixFiles(files); err != nil {
			return err
		}
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if len(files) == 0 {
		files = p.Workflows()
	}
	var found workflow.Diagnostics
	if len(files) == 0 { // then its other files
		if found = p.Diagnostics(); len(found) == 0 {
			return usagef("name a file, or make a project with `hocket init`", "this project has no workflows")
		}
	}
	var exposed error
	for _, file := range files {
		w, err := a.load(file)
		var unknown *diagnosticsError
		if errors.As(err, &unknown) {
			found = append(found, unknown.found...)
			continue
		}
		if err != nil {
			return err
		}
		found = append(found, a.checkOne(w, file, syntaxOnly)...)
		exposed = cmp.Or(exposed, w.CheckExposed())
	}
	if found = found.Sort(); exposed != nil && !found.Errors() {
		return a.nearSecret(exposed)
	}
	if a.json {
		err = a.printJSON(jsonDiagnostics(found))
	} else {
		err = a.print(a.verdict(found, len(files)))
	}
	if err == nil && found.Errors() {
		err = exitError(exitUsage)
	}
	return err
}

func (a *app) checkOne(w *hocket.Workflow, file string, syntaxOnly bool) workflow.Diagnostics {
	name, text, err := a.readFile(file, "check")
	if syntaxOnly && err == nil {
		if found, ok := syntax.Diagram(name, text); ok {
			return found
		}
	}
	check := func() workflow.Diagnostics { return w.Check(nil) }
	if syntaxOnly {
		check = w.CheckAlone
	}
	found := check()
	if err == nil {
		found.Place(name, text)
	}
	return found
}

func (a *app) verdict(found workflow.Diagnostics, files int) string {
	if len(found.Mistakes()) == 0 {
		notes := view.Diagnostics(nearPaths(found), a.sourceOf, a.outStyle)
		return notes + a.outStyle.Paint(view.Green, "ok") + ": " + view.Count(files, "workflow") + " checked\n"
	}
	return a.showDiagnostics(found, a.outStyle)
}

// jsonDiagnostic is one diagnostic with --json: every field is always there.
type jsonDiagnostic struct {
	File      string            `json:"file"`
	Line      int               `json:"line"`
	Column    int               `json:"column"`
	EndLine   int               `json:"end_line"`
	EndColumn int               `json:"end_column"`
	Severity  workflow.Severity `json:"severity"`
	Code      string            `json:"code"`
	Summary   string            `json:"summary"`
	Detail    string            `json:"detail"`
	Fix       *workflow.Fix     `json:"fix,omitempty"`
}

func jsonDiagnostics(found workflow.Diagnostics) []jsonDiagnostic {
	list := make([]jsonDiagnostic, len(found))
	for i, d := range nearPaths(found) {
		list[i] = jsonDiagnostic{
			File: filepath.ToSlash(d.File), Line: d.Line, Column: d.Column, EndLine: d.EndLine, EndColumn: d.EndColumn,
			Severity: d.Severity, Code: d.Code, Summary: d.Summary, Detail: d.Detail, Fix: d.Fix,
		}
	}
	return list
}
