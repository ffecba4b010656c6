package cli

import (
	"bufio"
	"errors"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

func (a *app) eventsVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "events RUN",
		Short: "Print the journal of a run as JSON lines",
		Long: `Print the journal of a run, one JSON object per line, in the order of recording.
The journal is the source of truth: everything else that hocket shows about a run
is derived from it.`,
		Example: `  hocket events review-3k7q
  hocket events review-3k7q | jq -r '[.time, .type, .address] | @tsv'`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], func(r *hocket.Run) error {
				out := bufio.NewWriter(a.std.Out)
				for e, err := range r.Recorded(cmd.Context()) {
					var line []byte
					if err == nil {
						line, err = engine.Encode(e)
					}
					if err != nil {
						return errors.Join(err, out.Flush())
					}
					if _, err := out.WriteString(a.outText(string(line)) + "\n"); err != nil {
						return err
					}
				}
				return out.Flush()
			})
		},
	}
}
