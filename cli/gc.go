package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
)

func (a *app) deleteVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "delete RUN...",
		Short: "Delete runs that have ended",
		Long: `Delete runs with everything that is stored about them: events, outputs, logs and
files. A run that has not ended must be cancelled first.`,
		Example: `  hocket runs delete review-3k7q
  hocket cancel build-0a7q && hocket runs delete build-0a7q`,
		Args: argsBetween(1, -1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.completeRunThat(cmd, nil, func(r hocket.Info) bool { return r.Status.Done() && !slices.Contains(args, r.ID) })
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var errs []error
			for _, id := range args { // delete nothing if one is unknown
				errs = append(errs, a.withRun(cmd.Context(), id, func(*hocket.Run) error { return nil }))
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
			for _, id := range args {
				errs = append(errs, a.withRun(cmd.Context(), id, func(r *hocket.Run) error {
					defer a.soonDeleted(r)()
					if err := r.Delete(cmd.Context()); err != nil {
						return notDeleted(r.ID(), err)
					}
					if a.json {
						return a.printJSON(map[string]string{"run_id": r.ID()})
					}
					a.note("deleted " + r.ID() + "\n")
					return nil
				}))
			}
			return errors.Join(errs...)
		},
	}
}

// soonDeleted says what takes so long if a run is not deleted soon. The result ends that.
func (a *app) soonDeleted(r *hocket.Run) (stop func()) {
	if !r.OnWorkers() {
		return func() {}
	}
	late := time.AfterFunc(deletesSoon, func() {
		a.note("waiting until the server no longer lists " + r.ID() + "; if a run has just ended, that can take half a minute\n")
	})
	return func() { late.Stop() }
}

// deletesSoon is how long people wait for a run to be deleted without being told why.
const deletesSoon = 2 * time.Second

// notDeleted turns a refusal to delete a run into a usage error.
func notDeleted(run string, err error) error {
	var no *hocket.RefusedError
	var held *hocket.HeldError
	switch {
	case errors.As(err, &no): // it says itself what to do first
		return usagef("run `hocket cancel "+run+"`", "%v", err)
	case errors.As(err, &held):
		return usagef("cancel it first with `hocket cancel "+run+"`", "%v", err)
	}
	return err
}

func (a *app) gcVerb() *cobra.Command {
	var days float64
	var runs int
	var mb int64
	var dry bool
	cmd := &cobra.Command{
		Use:   "gc [FLAGS]",
		Short: "Delete old runs",
		Long: `Delete the oldest runs that have ended until the remaining ones are within all given
limits, and free their disk space. Without flags, the limits are those under
retention in config.yml; with --state, only those in your user configuration,
because other projects may have runs there. Runs that are waiting, or that can be
resumed, are never deleted.`,
		Example: `  # Show what would be deleted
  hocket gc --max-days 30 --dry-run

  hocket gc --max-runs 1000 --max-mb 2000`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			age, given := days*float64(24*time.Hour), cmd.Flags().Changed
			switch { // the negation also catches NaN
			case given("max-days") && !(age >= 1) || given("max-runs") && runs < 1 || given("max-mb") && mb < 1:
				return usagef("omit the flag for no limit", "--max-days, --max-runs and --max-mb must be greater than 0")
			case age >= math.MaxInt64 || mb > math.MaxInt64>>20:
				return usagef("omit the flag for no limit", "--max-days or --max-mb is too large")
			}
			keep := hocket.Retention{Age: time.Duration(age), Runs: runs, Size: mb << 20}
			return a.collect(cmd.Context(), keep, dry)
		},
	}
	cmd.Flags().Float64Var(&days, "max-days", 0, "delete runs that ended more than `N` days ago")
	cmd.Flags().IntVar(&runs, "max-runs", 0, "keep at most `N` runs")
	cmd.Flags().Int64Var(&mb, "max-mb", 0, "keep at most `N` MiB of runs")
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "show what would be deleted without deleting anything")
	return cmd
}

// collectedRun is one run that gc deleted, with --json.
type collectedRun struct {
	RunID   string    `json:"run_id"`
	Started time.Time `json:"started"`
	Bytes   int64     `json:"bytes"`
}

func (a *app) collect(ctx context.Context, keep hocket.Retention, dry bool) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if keep == (hocket.Retention{}) {
		keep = hocket.Retention(p.Config().Retention)
	}
	if keep == (hocket.Retention{}) {
		where := "config.yml"
		if a.state != "" {
			where = "your user config.yml; with --state the project's does not apply, because other projects may have runs there"
		}
		return usagef("pass --max-days, --max-runs or --max-mb, or set `retention` in "+where, "no limit given")
	}
	deleted, err := p.Collect(ctx, keep, dry)
	if err == nil && !dry {
		if err := p.Compact(ctx); err != nil {
			a.note(fmt.Sprintf("could not free all disk space; the next `hocket gc` tries again: %v\n", err))
		}
	}
	list, total := make([]collectedRun, len(deleted)), int64(0)
	for i, c := range deleted {
		list[i] = collectedRun{c.ID, c.Created, c.Size}
		total += c.Size
	}
	if a.json {
		return errors.Join(a.printJSON(list), err)
	}
	verb := "deleted"
	if dry {
		verb = "would delete"
	}
	text := ""
	for _, c := range list {
		text += fmt.Sprintf("%s %s, started %s, %s\n", verb, c.RunID, c.Started.Local().Format(time.DateTime), view.Bytes(uint64(c.Bytes)))
	}
	a.note(fmt.Sprintf("%s %s, %s\n", verb, view.Count(len(list), "run"), view.Bytes(uint64(total))))
	return errors.Join(a.print(text), err)
}
