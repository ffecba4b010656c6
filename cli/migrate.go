package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
)

func (a *app) migrateVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Prepare the server that config.yml names for runs",
		Long: `Prepare the server of a project with a driver, such as "driver: temporal", for runs:
create its namespace if it is missing, what lists of runs need there, and the store.
Run it once, by a person who may do that; it can be repeated.

Runs are not moved. First, those on this machine have to be over. They stay here:
with HOCKET_DRIVER=local, every command uses them instead of those on the server.`,
		Example: `  # After you have added "driver: temporal" to .hocket/config.yml
  hocket trust
  hocket migrate

  # In another project, as JSON
  hocket migrate --json -C ~/src/shop

  # Finish a run from before, and look at old ones
  HOCKET_DRIVER=local hocket resume review-3k7q
  HOCKET_DRIVER=local hocket runs`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.migrate(cmd.Context()) },
	}
}

func (a *app) migrate(ctx context.Context) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if err := a.needsDriver(); err != nil {
		return err
	}
	m, err := p.Migrate(ctx)
	if err != nil {
		return err
	}
	if len(m.Unfinished) > 0 {
		return a.unfinished(m.Unfinished)
	}
	if a.json {
		return a.printJSON(map[string]any{"driver": p.Driver(), "stay": m.Stay})
	}
	text := "ready for runs with the driver " + p.Driver() + "\n"
	if m.Stay > 0 {
		stay := " from before stay"
		if m.Stay == 1 {
			stay += "s"
		}
		text += view.Count(m.Stay, "run") + stay + " on this machine: " + onThisMachine + a.self("runs") + "\n"
	}
	return a.print(text)
}

// needsDriver returns an error if the runs on this machine are chosen instead of those of the driver.
func (a *app) needsDriver() error {
	if !a.local {
		return nil
	}
	return usagef("run it without that variable", "HOCKET_DRIVER=local chooses the runs on this machine, which have no workers")
}

// unfinished reports the runs that prevent a migration.
func (a *app) unfinished(runs []hocket.Info) error {
	for _, r := range runs {
		a.note(r.ID + " is " + string(r.Status) + "\n")
	}
	first, verb := runs[0].ID, "are"
	if len(runs) == 1 {
		verb = "is"
	}
	return usagef("finish them with `"+onThisMachine+a.self("resume", first)+"`, or cancel them with `"+onThisMachine+a.self("cancel", first)+"`",
		"%s on this machine %s not over", view.Count(len(runs), "run"), verb)
}
