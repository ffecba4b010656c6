package cli

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/planner"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) checkVerb() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [FILE...] [FLAGS]",
		Short: "Check workflows for errors",
		Long: `Check workflows, the workflows that they call, and the agents of the project. Every
error and warning comes with its position and how to fix it. Without a file, check
all workflows, agents, tools and triggers of the project, what models have proposed,
and the prompts for the planner. The exit code is 2 if there are errors.`,
		Example: `  hocket check review.yml
  hocket check

  # Check only the file, without the agents of the project
  hocket check --syntax-only draft.yml

  # Check a file of replies, too
  hocket check review.yml --replies replies.yml

  # Apply safe fixes
  hocket check --fix flow.md

  # Print diagnostics for an editor
  hocket check review.yml --json`,
		ValidArgsFunction: a.completeWorkflow,
		RunE:              func(_ *cobra.Command, args []string) error { return a.check(args, &f) },
	}
	cmd.Flags().BoolVar(&f.syntaxOnly, "syntax-only", false, "check only the syntax of the files, diagrams as Mermaid or PlantUML would")
	cmd.Flags().BoolVar(&f.fix, "fix", false, "apply fixes that are safe")
	cmd.Flags().StringVar(&f.replies, "replies", "", "check as for a run with the replies in `FILE`")
	return cmd
}

// checkFlags are the flags of check.
type checkFlags struct {
	syntaxOnly, fix bool
	replies         string
}

func (a *app) check(files []string, f *checkFlags) error {
	replies, err := a.readReplies(f.replies)
	if err != nil {
		return err
	}
	if f.fix {
		if err := a.fixFiles(files); err != nil {
			return err
		}
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	var found workflow.Diagnostics
	what := view.Count(len(files), "workflow")
	if len(files) == 0 { // check the whole project
		if files = p.Workflows(); len(files) == 0 {
			found = p.Diagnostics()
		}
		n, wrong := p.CheckGenerated()
		found = slices.Concat(found, wrong, planner.CheckPrompts(p))
		for _, t := range p.Triggers() {
			found = append(found, p.CheckTrigger(t)...)
		}
		if what = contents(p, n); what == "" && len(found) == 0 {
			return usagef("name a file, or create a project with `hocket init`", "nothing to check")
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
		found = append(found, a.checkOne(w, file, f, replies)...)
		exposed = cmp.Or(exposed, w.CheckExposed())
	}
	if found = found.Sort(); exposed != nil && !found.Errors() {
		return a.nearSecret(exposed)
	}
	if a.json {
		err = a.printJSON(jsonDiagnostics(found))
	} else {
		err = a.print(a.verdict(found, what))
	}
	if err == nil && found.Errors() {
		err = exitError(exitUsage)
	}
	return err
}

// contents counts what a project has, "" if that is nothing.
func contents(p *hocket.Project, generated int) string {
	agents, tools := 0, 0
	for _, d := range p.Agents().Definitions() {
		if !d.Builtin {
			agents++
		}
	}
	for _, t := range p.Tools() {
		if t.Dir != "" {
			tools++
		}
	}
	var parts []string
	for _, k := range []struct {
		n    int
		noun string
	}{{len(p.Workflows()), "workflow"}, {agents, "agent"}, {tools, "tool"}, {len(p.Triggers()), "trigger"}, {generated, "generated definition"}} {
		if k.n > 0 {
			parts = append(parts, view.Count(k.n, k.noun))
		}
	}
	return strings.Join(parts, ", ")
}

func (a *app) checkOne(w *hocket.Workflow, file string, f *checkFlags, replies *hocket.Replies) workflow.Diagnostics {
	name, text, err := a.readFile(file, "check")
	if f.syntaxOnly && err == nil {
		if found, ok := syntax.Diagram(name, text); ok {
			return found
		}
	}
	check := func() workflow.Diagnostics { return w.Check(replies) }
	if f.syntaxOnly {
		check = w.CheckAlone
	}
	found := check()
	if replies != nil && w.Model() != nil {
		found = append(found, hocket.CheckReplies(replies, w.Bundle(), a.path(f.replies))...)
	}
	if err == nil {
		found.Place(name, text)
	}
	return found
}

func (a *app) verdict(found workflow.Diagnostics, what string) string {
	if len(found.Mistakes()) == 0 {
		notes := view.Diagnostics(nearPaths(foremost(found)), a.sourceOf, a.outStyle)
		return notes + a.outStyle.Paint(view.Green, "ok") + ": " + what + " checked\n"
	}
	return a.showDiagnostics(found, a.outStyle)
}

// jsonDiagnostics returns the diagnostics that --json prints.
func jsonDiagnostics(found workflow.Diagnostics) workflow.Diagnostics {
	shown := nearPaths(foremost(found))
	for i := range shown {
		shown[i].File = filepath.ToSlash(shown[i].File)
	}
	return shown
}
