package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hocket-dev/hocket"
)

func (f *driveFlags) add(a *app, flags *pflag.FlagSet) {
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "do not show progress")
	flags.BoolVar(&f.plain, "plain", false, "show progress as plain lines, even in a terminal")
	flags.BoolVar(&f.detach, "detach", false, "run in the background and print the run id")
	a.trustFlag(flags)
}

func (a *app) trustFlag(flags *pflag.FlagSet) {
	flags.StringVar(&a.trusted, "trust", "", "trust the project if `DIGEST` matches what it can do; also $HOCKET_TRUST")
}

func (a *app) resumeVerb() *cobra.Command {
	var f driveFlags
	var replies string
	cmd := &cobra.Command{
		Use:   "resume RUN [FLAGS]",
		Short: "Resume an interrupted or waiting run",
		Long: `Resume a run that was interrupted, or that is waiting for a person or a budget.
Recorded results are kept; only attempts without a recorded result run again. The
run uses the workflow, the agents and the replies that it was started with, even
if the files have changed since.`,
		Example: `  hocket resume review-3k7q2m9a
  hocket resume review-3k7q

  # Answer questions from a file
  hocket resume review-3k7q --replies answers.yml

  # Resume in the background
  hocket resume review-3k7q --detach`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if replies != "" {
				if err := a.onlyPerson("resume --replies"); err != nil { // they may contain answers
					return err
				}
			}
			return a.withRun(cmd.Context(), args[0], func(r *hocket.Run) error {
				return a.resume(cmd.Context(), r, replies, f)
			})
		},
	}
	f.add(a, cmd.Flags())
	cmd.Flags().BoolVar(&f.apart, "apart", false, "wait for answers that are given in another process")
	cmd.Flags().StringVar(&replies, "replies", "", "read the replies of agents and people from `FILE`, instead of the run's own")
	return cmd
}

func (a *app) resume(ctx context.Context, r *hocket.Run, repliesFile string, f driveFlags) error {
	d := &drive{run: r, resumed: true}
	var err error
	if d.bundle, err = r.Bundle(ctx); err != nil {
		return err
	}
	if d.replies, err = a.readReplies(repliesFile); err != nil {
		return err
	}
	if d.replies != nil {
		unfit, err := checkReplies(d.replies, d.bundle, a.path(repliesFile))
		a.note(a.showDiagnostics(unfit, a.errStyle))
		if err != nil {
			return err
		}
	}
	if f.detach {
		info, err := r.Info(ctx)
		if err == nil && info.Driven {
			err = a.heldBy(&hocket.HeldError{Run: r.ID(), Holder: info.Holder})
		}
		if err != nil {
			return err
		}
		if err := r.CheckDrive(ctx, d.replies); err != nil {
			return err
		}
		return a.detach(r.ID(), repliesFile)
	}
	return a.drive(ctx, d, f)
}
