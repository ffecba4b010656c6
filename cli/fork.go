package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
)

// forkFlags are the flags of retry and fork.
type forkFlags struct {
	driveFlags
	from  string
	noRun bool
}

func (f *forkFlags) add(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.from, "from", "", "begin again at the step with this `ADDRESS`")
	cmd.Flags().BoolVar(&f.noRun, "no-run", false, "only make the new run; hocket resume drives it")
	f.driveFlags.add(a, cmd.Flags())
	complete(cmd, "from", func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeRunThenAddress(cmd, args[:1], typed)
	})
}

func (a *app) retryVerb() *cobra.Command {
	var f forkFlags
	cmd := &cobra.Command{
		Use:   "retry RUN --from ADDRESS [FLAGS]",
		Short: "do a step of a run again, in a new run",
		Long: `Make a new run that repeats another up to a step, and does that step and what
depended on it again. What parallel branches had finished stays. The id of the
new run is printed, then it is driven; the old run stays as it is.`,
		Example: `  hocket retry review-3k7q --from report
  hocket retry review-3k7q --from 'scan[3]' --detach`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.again(cmd.Context(), args[0], &f, nil)
		},
	}
	f.add(a, cmd)
	return cmd
}

func (a *app) forkVerb() *cobra.Command {
	var f forkFlags
	var output string
	cmd := &cobra.Command{
		Use:   "fork RUN --from ADDRESS [FLAGS]",
		Short: "make a new run that differs from a step on",
		Long: `Make a new run that repeats another up to a step, like retry. With --output the
step is not done again: it gives that output, or that answer of a person, and
the run goes on from there.`,
		Example: `  # what if the judge had said otherwise?
  hocket fork review-3k7q --from judge --output '{"pass": true}'

  # look before it runs
  hocket fork review-3k7q --from report --no-run`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("output") {
				if err := a.onlyPerson("fork --output"); err != nil { // it may be an answer
					return err
				}
				return a.again(cmd.Context(), args[0], &f, &output)
			}
			return a.again(cmd.Context(), args[0], &f, nil)
		},
	}
	f.add(a, cmd)
	cmd.Flags().StringVar(&output, "output", "", "take `VALUE` as the step's output or answer")
	return cmd
}

func (a *app) again(ctx context.Context, id string, f *forkFlags, output *string) error {
	if f.from == "" {
		return usagef("`hocket show "+id+"` lists the addresses", "--from ADDRESS is missing")
	}
	return a.withRun(ctx, id, func(old *hocket.Run) error {
		if !f.noRun {
			if err := old.CheckDrive(ctx, nil); err != nil {
				return err
			}
		}
		r, err := old.Fork(ctx, f.from, output)
		if err != nil {
			return refused(err)
		}
		for _, note := range r.Notes {
			a.note(note + "\n")
		}
		if !a.json || f.noRun || f.detach {
			if err := a.printID(r.ID()); err != nil {
				return err
			}
		}
		switch {
		case f.noRun:
			a.note("to run it: " + a.self("resume", r.ID()) + "\n")
			return nil
		case f.detach:
			return a.spawn(r.ID(), "")
		}
		return a.resume(ctx, r, "", f.driveFlags)
	})
}

// printID prints the id of a new run.
func (a *app) printID(run string) error {
	if a.json {
		return a.printJSON(map[string]string{"run_id": run})
	}
	return a.print(run + "\n")
}
