package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) runsVerb() *cobra.Command {
	var limit int
	var all bool
	cmd := &cobra.Command{
		Use:   "runs [FLAGS]",
		Short: "List and delete runs",
		Long: `List the runs of this project, newest first. Resume an interrupted run with "hocket
resume". A run is also waiting if one of its agents has asked a question; "hocket
show" prints it. Runs in which "hocket generate", "hocket replan" and "hocket handoff
draft" ask a model are listed only with --all.`,
		Example: `  hocket runs
  hocket runs --all

  # Print the ids of all waiting runs
  hocket runs --all --json | jq -r '.[] | select(.status == "waiting") | .run_id'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				limit = 0
			} else if limit < 1 {
				return usagef("use --all to list all runs", "invalid --limit %d: expected at least 1", limit)
			}
			f := hocket.Filter{Limit: limit}
			if !all {
				f.Without = hocket.HelperLabel
			}
			return a.runs(cmd.Context(), f)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "list at most `N` runs")
	cmd.Flags().BoolVar(&all, "all", false, "list all runs")
	cmd.AddCommand(a.deleteVerb())
	return cmd
}

// runLine is one run with --json.
type runLine struct {
	RunID      string        `json:"run_id"`
	Workflow   string        `json:"workflow"`
	Digest     string        `json:"digest"`
	Status     engine.Status `json:"status"`              // as in the table
	Driven     bool          `json:"driven"`              // a process is driving it
	Questions  int           `json:"questions,omitempty"` // open questions of its attempts
	Started    time.Time     `json:"started"`
	DurationMS int64         `json:"duration_ms"`
	CostUSD    *float64      `json:"cost_usd"`
	Origin     string        `json:"origin,omitempty"`
	MadeBy     string        `json:"made_by,omitempty"` // the model that wrote the workflow
	Problem    string        `json:"problem,omitempty"` // why the engine could not continue
}

func (a *app) runs(ctx context.Context, f hocket.Filter) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	found, err := p.Runs(ctx, f)
	if err != nil {
		return err
	}
	lines := runLines(found)
	switch {
	case a.json:
		err = a.printJSON(lines)
	case len(lines) == 0:
		a.note("no runs yet; start one with `hocket run WORKFLOW`\n")
	default:
		err = a.print(runTable(lines).Draw(a.outStyle))
	}
	about, wrong := p.Notice(ctx)
	if about != "" {
		a.note(about + "\n")
	}
	return errors.Join(err, wrong, damage(lines))
}

// damage reports the runs that cannot be read, once for each reason.
func damage(lines []runLine) error {
	runs := map[string][]string{}
	var reasons []string
	for _, l := range lines {
		if l.Status != hocket.Damaged {
			continue
		}
		if runs[l.Problem] == nil {
			reasons = append(reasons, l.Problem)
		}
		runs[l.Problem] = append(runs[l.Problem], l.RunID)
	}
	var errs []error
	for _, why := range reasons {
		is := "run " + runs[why][0] + " is"
		if n := len(runs[why]); n > 1 {
			is = fmt.Sprintf("%d runs, such as %s, are", n, runs[why][0])
		}
		errs = append(errs, fmt.Errorf("%s damaged: %s", is, why))
	}
	return errors.Join(errs...)
}

func runLines(found []hocket.Info) []runLine {
	lines := make([]runLine, len(found))
	for i, r := range found {
		lines[i] = runLine{
			RunID: r.ID, Workflow: r.Workflow, Digest: r.Digest, Status: r.Shown(), Driven: r.Driven, Questions: r.Open,
			Started: r.Created, DurationMS: elapsed(r).Milliseconds(), Origin: r.Origin, Problem: r.Problem,
			MadeBy: r.Owner.Labels[hocket.MadeByLabel],
		}
		if !r.Usage.CostUnknown {
			lines[i].CostUSD = &r.Usage.CostUSD
		}
	}
	return lines
}

// isStopped reports whether a run could continue but no process drives it. Then it is not
// recorded how long it ran.
func isStopped(s engine.Status) bool { return s == "interrupted" || s == "pending" }

// elapsed returns how long a run took, or has taken so far.
func elapsed(info hocket.Info) time.Duration { return lastSeen(info).Sub(info.Created) }

// lastSeen returns when the state of a run was last known: now, if a process drives it.
func lastSeen(info hocket.Info) time.Time {
	if info.Driven && !info.Status.Done() {
		return time.Now()
	}
	return info.Changed
}

func runTable(lines []runLine) *view.Table {
	t := &view.Table{Head: []string{"RUN", "WORKFLOW", "STATUS", "STARTED", "TIME", "COST"}, Right: []bool{4: true, 5: true},
		Spare: []int{1, 5, 3}} // a run is named after its workflow
	for _, l := range lines {
		cost := "unknown"
		if l.CostUSD != nil {
			cost = workflow.FormatUSD(*l.CostUSD)
		}
		took := ""
		if !isStopped(l.Status) {
			took = view.Took(time.Duration(l.DurationMS) * time.Millisecond)
		}
		name := l.Workflow
		if l.MadeBy != "" {
			name += " (by " + l.MadeBy + ")"
		}
		t.Row(view.Cell{Text: l.RunID}, view.Cell{Text: name}, view.Status(l.Status), view.Cell{Text: l.Started.Local().Format(time.DateTime)},
			view.Cell{Text: took}, view.Cell{Text: cost})
	}
	return t
}
