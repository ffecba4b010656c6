package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) adoptVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "adopt DIR",
		Short: "take over the runs of this project from where it was before",
		Long: `Take over what is kept about this project from where it was before: its runs,
sessions and memories. A project that was renamed, or that is reached through a
link, is found again by itself. One that was moved to another disk, or restored
from a copy, is not: go there, and name the directory that it had.`,
		Example: `  hocket adopt /home/ann/old-name
  hocket adopt /mnt/backup/project && hocket runs`,
		Args: argsBetween(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.openProject()
			if err != nil {
				return err
			}
			if err := p.Adopt(args[0]); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"root": p.Root(), "was": args[0]})
			}
			a.note("what was kept about " + args[0] + " belongs to this project now: " + a.self("runs") + "\n")
			return nil
		},
	}
}
