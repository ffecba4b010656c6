package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/mcp"
)

func (a *app) mcpServeVerb() *cobra.Command {
	o := mcp.Options{}
	cmd := &cobra.Command{
		Use:   "serve [FLAGS]",
		Short: "Serve an MCP client on standard input and output",
		Long: `Serve one MCP client on standard input and output, until it disconnects: it can run
tasks and the workflows that you have approved, propose new ones, and search the
memory of the project. It can approve, answer and trust nothing. "hocket mcp install"
sets up the usual clients.

If a call takes longer than --wait, it returns the id of the run, and the client waits
with another call. Without --wait, that is as long as clients are known to wait.`,
		Example: `  hocket mcp serve
  hocket -C ~/src/shop mcp serve --wait 10m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Wait < 0 {
				return usagef("use a duration such as 50s or 10m", "invalid --wait %s: must not be negative", o.Wait)
			}
			return a.serveMCP(cmd.Context(), o)
		},
	}
	cmd.Flags().DurationVar(&o.Wait, "wait", 0, "how long a call waits for its run, such as 50s or 10m")
	cmd.Flags().BoolVar(&o.Aliases, "aliases", false, "also list the tools under their old names, glee_NAME")
	return cmd
}

// serveMCP serves a client. It opens the project without a way to ask for trust, and without a digest
// from the environment: the program that starts a server may be configured by the project.
func (a *app) serveMCP(ctx context.Context, o mcp.Options) error {
	dir := a.dir
	if dir == "" {
		dir = "."
	}
	p, err := hocket.Open(dir, hocket.Options{State: a.state, Agents: a.with.Agents, Drivers: a.with.Drivers, Via: "mcp"})
	if err != nil {
		return err
	}
	a.opened = append(a.opened, p)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer onSignal(cancel, func() {})()
	o.Version, o.Command = buildOf().version, a.self
	o.Detach = func(run string) error { return a.background("", "resume", run, "--quiet", "--apart") }
	o.Sessions = a.sessionsOf
	return mcp.Serve(ctx, p, mcp.Lines{In: a.std.In, Out: a.std.Out}, o)
}
