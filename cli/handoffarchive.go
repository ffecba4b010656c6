package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/handoff/protocol"
)

func (a *app) handoffArchiveVerb() *cobra.Command {
	var age, file string
	cmd := &cobra.Command{
		Use:   "archive [FLAGS]",
		Short: "Archive the directories of finished sessions",
		Long: `Pack the directories of finished sessions into a .tar.gz file, and remove them once it
is written. The sessions themselves stay in the journal: "hocket handoff status"
recreates a directory, but without the files that agents wrote there. A directory that
changes in the meantime, or contains links, is kept. tmux panes that these sessions left
open are closed.`,
		Example: `  hocket handoff archive
  hocket handoff archive --older-than 30d -o ~/handoffs-2026.tar.gz`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.archiveHandoffs(cmd.Context(), age, file) },
	}
	cmd.Flags().StringVar(&age, "older-than", "7d", "only sessions that ended at least this `DURATION` ago; 0 means all")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`, which must not exist")
	return cmd
}

func (a *app) archiveHandoffs(ctx context.Context, age, file string) error {
	old, ok := protocol.ParseDuration(age)
	if !ok && age != "0" {
		return usagef("write a duration such as 12h or 7d, or 0", "invalid --older-than %q", age)
	}
	s, err := a.handoffs()
	if err != nil {
		return err
	}
	if file != "" {
		file = a.outPath(file)
	}
	done, err := s.Archive(ctx, time.Now().Add(-old), file)
	if done == nil {
		return err
	}
	for _, k := range done.Kept {
		a.note("kept " + a.outText(k.ID) + ": " + a.outText(k.Why) + "\n")
	}
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(done)
	case len(done.Sessions) == 0:
		a.note("nothing to archive\n")
		return nil
	}
	return a.print(view.Count(len(done.Sessions), "session") + " in " + done.File + "\n")
}
