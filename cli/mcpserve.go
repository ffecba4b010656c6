package cli

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

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

// openMCP opens the project for a client: without a way to ask for trust, and without a digest from the
// environment, because the program that starts a server may be configured by the project.
func (a *app) openMCP() (*hocket.Project, error) {
	dir := a.dir
	if dir == "" {
		dir = "."
	}
	return a.open(dir, hocket.Options{Via: "mcp"})
}

func (a *app) serveMCP(ctx context.Context, o mcp.Options) error {
	p, err := a.openMCP()
	if err != nil {
		return err
	}
	debug.SetGCPercent(100) // other commands end before their memory is worth reclaiming
	in := &idleReader{Reader: a.std.In, rest: time.AfterFunc(idle, func() {
		debug.FreeOSMemory()
		unmapCode()
	})}
	defer in.rest.Stop()
	// Clients repeat signals at once. If the server takes too long to cancel its runs, they kill it.
	ctx, forget := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer forget()
	o.Version, o.Command = buildOf().version, a.self
	o.Detach = func(run string) error { return a.background("", "resume", run, "--quiet", "--apart") }
	o.Guard = a.guardMCP
	o.Sessions = a.sessionsOf
	return mcp.Serve(ctx, p, mcp.Lines{In: in, Out: a.std.Out}, o)
}

// idle is how long a client has to say nothing before the server gives back memory.
const idle = time.Second

// idleReader starts a timer anew whenever something was read.
type idleReader struct {
	io.Reader
	rest *time.Timer
}

func (r *idleReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.rest.Reset(idle)
	return n, err
}

// guardMCP starts the process that guards a server.
func (a *app) guardMCP() (io.WriteCloser, error) {
	return guard(append([]string{"mcp", "guard"}, a.where()...))
}

// guard starts a process that learns when this one ends.
func guard(args []string) (io.WriteCloser, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = os.Args[0] // by which a program that is several ones knows which one it is
	cmd.Env = withoutKey(os.Environ())
	setsid(cmd)
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = cmd.Wait() }()
	return to, nil
}

// mcpGuardVerb guards a server, which starts it.
func (a *app) mcpGuardVerb() *cobra.Command {
	return &cobra.Command{
		Use: "guard", Short: "Cancel the runs of a server that was killed", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.openMCP()
			if err != nil {
				return err
			}
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // it ends with the server
			return mcp.Guard(cmd.Context(), p, a.std.In)
		},
	}
}
