package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) planVerb() *cobra.Command {
	var replies string
	cmd := &cobra.Command{
		Use:   "plan FILE|NAME [FLAGS]",
		Short: "Show the most that a run could do, without running it",
		Long: `Show the most that a run could do: how many tasks, how many at once, at what cost,
and in which order. Every number is an upper bound.`,
		Example: `  hocket plan review.yml
  hocket plan review.yml --json | jq .steps`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeWorkflow,
		RunE:              func(_ *cobra.Command, args []string) error { return a.plan(args[0], replies) },
	}
	cmd.Flags().StringVar(&replies, "replies", "", "plan a run with the replies in `FILE`")
	return cmd
}

func (a *app) plan(name, repliesFile string) error {
	w, err := a.load(name)
	if err != nil {
		return err
	}
	replies, err := a.readReplies(repliesFile)
	if err != nil {
		return err
	}
	if found := w.Check(replies); w.Model() == nil || found.Errors() {
		return &diagnosticsError{found}
	}
	if replies != nil {
		unfit, err := checkReplies(replies, w.Bundle(), a.path(repliesFile))
		if err != nil {
			return err
		}
		a.note(a.showDiagnostics(unfit, a.errStyle))
	}
	plan := w.Plan(replies)
	if a.json {
		return a.printJSON(plan)
	}
	return a.print(a.drawPlan(&plan))
}

func (a *app) drawPlan(p *check.Plan) string {
	var b strings.Builder
	style := a.outStyle
	fact := func(name, text string) {
		b.WriteString(style.Paint(view.Dim, view.Pad(name, 9)) + " " + view.Line(text) + "\n")
	}
	fact("tasks", fmt.Sprintf("%s; at least %d if nothing fails; limit %d", most(p.Steps), p.Least, p.Limits.Steps))
	if p.Attempts != p.Steps {
		fact("attempts", most(p.Attempts)+", with retries")
	}
	fact("at once", fmt.Sprintf("%s; limit %d", most(p.Parallel), p.Limits.Parallel))
	fact("cost", costText(p))
	fact("tokens", most(p.Tokens))
	fact("time", "at most "+workflow.FormatDuration(p.Limits.Runtime)+" of working time")
	for _, why := range p.Open {
		fact("unknown", why)
	}
	for _, w := range p.Workflows {
		for _, n := range w.Nodes {
			if n.Why != "" {
				fact("chosen", fmt.Sprintf("%s for %s/%s, %s", n.Uses, w.Name, n.ID, n.Why))
			}
		}
	}
	for _, w := range p.Workflows {
		b.WriteString("\n" + style.Paint(view.Bold, view.Line(w.Name)) + "\n" + planTable(&w).Draw(style))
	}
	return b.String()
}

func most(b workflow.Bound) string {
	if !b.Known {
		return b.String()
	}
	return "at most " + b.String()
}

func costText(p *check.Plan) string {
	text := "unknown"
	if usd, ok := p.CostUSD.Amount(); ok {
		text = "at most " + workflow.FormatUSD(usd)
	}
	if p.Limits.CostUSD > 0 {
		text += "; limit " + workflow.FormatUSD(p.Limits.CostUSD)
	}
	return text
}

func planTable(w *check.WorkflowPlan) *view.Table {
	t := &view.Table{Head: []string{"ORDER", "NODE", "KIND", "USES", "TIMES"}, Right: []bool{4: true}}
	for _, n := range w.Nodes {
		uses := cmp.Or(n.Does, n.Uses)
		if n.Own {
			uses = strings.TrimPrefix(uses+", own workspace", ", ")
		}
		// The order restarts within each loop and for_each; the indent shows which.
		indent := strings.Repeat("  ", n.Depth)
		t.Row(view.Cell{Text: fmt.Sprint(n.Wave)}, view.Cell{Text: indent + n.ID}, view.Cell{Text: n.Kind, Paint: view.Dim},
			view.Cell{Text: uses}, view.Cell{Text: n.Times.String()})
	}
	return t
}
