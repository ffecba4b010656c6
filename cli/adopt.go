package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) adoptVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "adopt DIR",
		Short: "Link the runs of a moved project to its new directory",
		Long: `Link the runs, sessions and memories that are stored for DIR, where this project
used to be, to its current directory. Hocket recognizes a project that was renamed,
or that is reached through a symbolic link. It does not recognize one that was
moved to another disk or restored from a copy: then run this command in the new
directory, with the old one as DIR.`,
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
			a.note("adopted the runs, sessions and memories of " + args[0] + "; to list the runs: " + a.self("runs") + "\n")
			return nil
		},
	}
}
