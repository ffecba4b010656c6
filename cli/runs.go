package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) runsVerb() *cobra.Command {
	var limit int
	var all bool
	cmd := &cobra.Command{
		Use:   "runs [FLAGS]",
		Short: "list the runs of this project",
		Long: `List the runs of this project, the newest first. A run that was cut off shows as
interrupted; hocket resume takes it up. One in which an agent asks something shows
as waiting; hocket show says what.`,
		Example: `  hocket runs
  hocket runs --all

  # the ids of all runs that wait for a person
  hocket runs --all --json | jq -r '.[] | select(.status == "waiting" or .questions > 0) | .run_id'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				limit = 0
			} else if limit < 1 {
				return usagef("--all lists them all", "--limit must be at least 1")
			}
			return a.runs(cmd.Context(), limit)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "list at most `N` runs")
	cmd.Flags().BoolVar(&all, "all", false, "list all runs")
	return cmd
}

// runLine is one run with --json.
type runLine struct {
	RunID      string    `json:"run_id"`
	Workflow   string    `json:"workflow"`
	Digest     string    `json:"digest"`
	Status     string    `json:"status"`
	Driven     bool      `json:"driven"`              // a process works on it now
	Questions  int       `json:"questions,omitempty"` // that its attempts ask now
	Started    time.Time `json:"started"`
	DurationMS int64     `json:"duration_ms"`
	CostUSD    *float64  `json:"cost_usd"`
	Origin     string    `json:"origin,omitempty"`
	Problem    *string   `json:"problem,omitempty"` // of a damaged run: what is wrong with it
}

// damaged is the status of a run whose journal cannot be read.
const damaged = "damaged"

func (a *app) runs(ctx context.Context, limit int) error {
	lines := []runLine{}
	store, err := a.readStore()
	if err != nil {
		return err
	}
	if store != nil {
		defer store.Close()
		if lines, err = listRuns(ctx, store, limit); err != nil {
			return err
		}
	}
	switch {
	case a.json:
		err = a.printJSON(lines)
	case len(lines) == 0:
		a.note("no runs yet; `hocket run WORKFLOW` starts one\n")
	default:
		err = a.print(runTable(lines).Draw(a.outStyle))
	}
	return errors.Join(err, a.damagedRuns(lines))
}

// damagedRuns says which runs cannot be read: exit code 1.
func (a *app) damagedRuns(lines []runLine) error {
	var bad error
	for _, l := range lines {
		if l.Problem != nil {
			a.note(a.errStyle.Paint(paintError, damaged) + ": " + view.Line(*l.Problem) + "\n")
			bad = exitError(exitFailed)
		}
	}
	return bad
}

func listRuns(ctx context.Context, store *journal.Store, limit int) ([]runLine, error) {
	found, err := store.Runs(ctx, limit)
	if err != nil {
		return nil, err
	}
	lines := make([]runLine, len(found))
	for i, r := range found {
		asks, driven, unread := asked(ctx, store, r.ID)
		used, err := spentBy(ctx, store, r)
		err = errors.Join(unread, err)
		lines[i] = runLine{
			RunID: r.ID, Workflow: r.Workflow, Digest: r.Digest, Status: string(r.Status), Driven: driven, Questions: len(asks),
			Started: r.Created, DurationMS: elapsed(r).Milliseconds(), Origin: r.Origin,
		}
		if err != nil {
			// One run that cannot be read hides no other.
			problem := err.Error()
			lines[i].Status, lines[i].Problem = damaged, &problem
			used.CostUnknown = true
		}
		if !used.CostUnknown {
			lines[i].CostUSD = &used.CostUSD
		}
	}
	return lines, nil
}

func runTable(lines []runLine) *view.Table {
	t := &view.Table{Head: []string{"RUN", "WORKFLOW", "STATUS", "STARTED", "TIME", "COST"}, Right: []bool{4: true, 5: true}}
	for _, l := range lines {
		status := state(engine.Status(l.Status), l.Driven, l.Questions)
		if l.Status == damaged {
			status.Paint = view.Red
		}
		cost := "unknown"
		if l.CostUSD != nil {
			cost = workflow.FormatUSD(*l.CostUSD)
		}
		t.Row(view.Cell{Text: l.RunID}, view.Cell{Text: l.Workflow}, status, view.Cell{Text: l.Started.Local().Format(time.DateTime)},
			view.Cell{Text: view.Took(time.Duration(l.DurationMS) * time.Millisecond)}, view.Cell{Text: cost})
	}
	return t
}
