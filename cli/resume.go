package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hocket-dev/hocket"
)

func (f *driveFlags) add(a *app, flags *pflag.FlagSet) {
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.BoolVar(&f.plain, "plain", false, "show progress as lines, also in a terminal")
	flags.BoolVar(&f.detach, "detach", false, "run in the background, and print the id of the run")
	flags.StringVar(&a.trusted, "trust", "", "trust the project if it can do what `DIGEST` says; $HOCKET_TRUST too")
}

func (a *app) resumeVerb() *cobra.Command {
	var f driveFlags
	var replies string
	cmd := &cobra.Command{
		Use:   "resume RUN [FLAGS]",
		Short: "go on with a run that was cut off or waits",
		Long: `Go on with a run that was cut off, or that waits for a person or a budget. What
was recorded is not done again: only attempts whose result was never recorded
are. The run goes on with the workflow, the agents and the replies that it was
started with, whatever has become of the files.`,
		Example: `  hocket resume review-3k7q2m9a
  hocket resume review-3k7q

  # people answer from a file
  hocket resume review-3k7q --replies answers.yml

  # in the background
  hocket resume review-3k7q --detach`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if replies != "" {
				if err := a.onlyPerson("resume --replies"); err != nil { // they may be answers
					return err
				}
			}
			return a.withRun(cmd.Context(), args[0], func(r *hocket.Run) error {
				return a.resume(cmd.Context(), r, replies, f)
			})
		},
	}
	f.add(a, cmd.Flags())
	cmd.Flags().BoolVar(&f.apart, "apart", false, "wait for what agents ask to be answered from elsewhere")
	cmd.Flags().StringVar(&replies, "replies", "", "take what agents and people say from `FILE`, not the run's own replies")
	return cmd
}

func (a *app) resume(ctx context.Context, r *hocket.Run, repliesFile string, f driveFlags) error {
	d := &drive{run: r, taken: true}
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
