package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

func (f *driveFlags) add(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.BoolVar(&f.plain, "plain", false, "show progress as lines, also in a terminal")
	flags.BoolVar(&f.detach, "detach", false, "run in the background, and print the id of the run")
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
			return a.withJournal(cmd.Context(), args[0], func(store *journal.Store, info journal.Run) error {
				return a.resume(cmd.Context(), store, info.ID, replies, f)
			})
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&f.apart, "apart", false, "wait for what agents ask to be answered from elsewhere")
	cmd.Flags().StringVar(&replies, "replies", "", "take what agents and people say from `FILE`, not the run's own replies")
	return cmd
}

// withJournal opens the journal to change one run, named by the beginning of its
// id.
func (a *app) withJournal(ctx context.Context, id string, do func(s *journal.Store, run journal.Run) error) error {
	// A journal is not made only to say that it lacks a run.
	if err := a.withRun(ctx, id, func(*journal.Store, journal.Run) error { return nil }); err != nil {
		return err
	}
	store, err := a.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := store.Find(ctx, id)
	if err != nil {
		return a.noRun(store, err)
	}
	return do(store, info)
}

func (a *app) resume(ctx context.Context, store *journal.Store, run, repliesFile string, f driveFlags) error {
	if holder, driven := store.Driver(run); driven {
		return a.heldBy(&journal.HeldError{Run: run, Holder: holder})
	}
	d, err := a.takeUp(ctx, store, run, repliesFile)
	if err != nil {
		return err
	}
	if f.detach {
		return a.detach(run, repliesFile)
	}
	return a.drive(ctx, d, f, func(ctx context.Context, runs driver.Driver, w driver.Work) (engine.Result, error) {
		return runs.Drive(ctx, run, w)
	})
}

// takeUp puts together what a run was started with.
func (a *app) takeUp(ctx context.Context, store *journal.Store, run, repliesFile string) (*drive, error) {
	pin, err := store.Pin(ctx, run)
	if err != nil {
		return nil, err
	}
	d := &drive{id: run, store: store, pin: pin, taken: true}
	if err := a.equip(d); err != nil {
		return nil, err
	}
	if repliesFile == "" && pin.Replies != nil {
		d.replies, err = scripted.Decode(pin.Replies)
		return d, err
	}
	if d.replies, err = a.readReplies(repliesFile); err != nil || d.replies == nil {
		return d, err
	}
	unfit, err := checkReplies(d.replies, pin.Bundle, a.path(repliesFile))
	a.note(a.showDiagnostics(unfit, a.errStyle))
	return d, err
}
