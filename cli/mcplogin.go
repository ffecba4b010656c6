package cli

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
)

// loginFlags are the flags of mcp login.
type loginFlags struct {
	noBrowser bool
	timeout   time.Duration
}

func (a *app) mcpLoginVerb() *cobra.Command {
	var f loginFlags
	cmd := &cobra.Command{
		Use:   "login NAME [FLAGS]",
		Short: "Log in to a server",
		Long: `Log in to an MCP server that has a URL. A browser opens, where you grant access. The
login is stored for all your projects and renewed automatically. Runs use it; they
never open a browser themselves.`,
		Example: `  hocket mcp login tracker

  # Over SSH: open the address elsewhere, then paste the final address here
  hocket mcp login tracker --no-browser`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeServer,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.onlyPerson("mcp login"); err != nil {
				return err
			}
			return a.login(cmd.Context(), args[0], &f)
		},
	}
	cmd.Flags().BoolVar(&f.noBrowser, "no-browser", false, "only print the address to open")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 5*time.Minute, "give up after this `TIME`")
	return cmd
}

func (a *app) login(ctx context.Context, name string, f *loginFlags) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	server, err := p.Server(name)
	if err != nil {
		return err
	}
	if f.timeout <= 0 {
		return usagef("omit the flag for the default of 5m", "invalid --timeout %s: expected a positive duration", f.timeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onSignal(func() { cancel(errInterrupted) }, func() {})()
	made, err := p.Login(ctx, name, a.person(name, f))
	if errors.Is(err, errInterrupted) {
		a.note("not logged in\n")
		return exitError(exitInterrupted)
	}
	if err != nil {
		return err
	}
	s, err := p.OpenServer(ctx, name)
	if err != nil {
		a.note("logged in to " + view.Line(name) + ", but the server does not work:\n")
		return err
	}
	defer s.Close()
	return a.printLogin(name, server.URL, made, len(s.List()))
}

// person is the user at this terminal.
func (a *app) person(name string, f *loginFlags) hocket.LoginPerson {
	person := hocket.LoginPerson{Wait: f.timeout, Tell: func(note string) { a.note(view.Line(note) + "\n") }}
	if in, ok := terminal(a.std.In); ok {
		person.Pasted = linesOf(in)
	}
	person.Show = func(address string) {
		text := "Open this address in a browser to log in to " + view.Line(name) + ":"
		if !f.noBrowser && openBrowser(address) {
			text = "Log in to " + view.Line(name) + " in the browser window that opens. If none opens, open this address:"
		}
		text += "\n\n  " + view.Line(address) + "\n\n"
		if person.Pasted != nil {
			text += "If the browser is on another machine, it ends at a page that cannot be loaded:\npaste the address of that page here.\n"
		}
		a.note(text + "Waiting for up to " + view.Duration(f.timeout) + "; press Ctrl-C to stop.\n")
	}
	return person
}

// linesOf sends the lines that the user types. The goroutine ends with the process.
func linesOf(in *os.File) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			if strings.TrimSpace(s.Text()) != "" {
				lines <- s.Text()
			}
		}
	}()
	return lines
}

// openBrowser opens an address in the system's browser. It returns false if there is none.
func openBrowser(address string) bool {
	var command []string
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", address}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return false // there is no graphical browser
		}
		command = []string{"xdg-open", address}
	}
	cmd := exec.Command(command[0], command[1:]...)
	setsid(cmd) // it outlives this command
	if cmd.Start() != nil {
		return false
	}
	go func() { _ = cmd.Wait() }() // the login shows whether it worked
	return true
}

func (a *app) printLogin(name, address string, made hocket.Login, tools int) error {
	if a.json {
		facts := map[string]any{"name": name, "url": address, "issuer": made.Issuer, "scopes": append([]string{}, made.Scopes...), "renews": made.Renews, "tools": tools}
		if !made.Expires.IsZero() {
			facts["expires"] = made.Expires
		}
		return a.printJSON(facts)
	}
	text := "logged in to " + view.Line(name) + ", which has " + view.Count(tools, "tool")
	if !made.Renews && !made.Expires.IsZero() {
		text += "; the login expires " + made.Expires.Local().Format(time.DateTime)
	}
	return a.print(text + "\n")
}

func (a *app) mcpLogoutVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "logout NAME",
		Short: "Log out of a server",
		Long: `Log out of an MCP server: delete the stored login and revoke it at its issuer. NAME
is a server of the project, or the URL of one that was removed from it.`,
		Example: `  hocket mcp logout tracker
  hocket mcp logout https://tracker.example.com/mcp`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeServer,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.logout(cmd.Context(), args[0]) },
	}
}

func (a *app) logout(ctx context.Context, name string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	there, err := p.Logout(ctx, name)
	switch {
	case err != nil && !there:
		return err
	case err != nil:
		a.note("the stored login is deleted, but revoking it failed: " + view.Line(err.Error()) + "\n")
	}
	if a.json {
		return a.printJSON(map[string]any{"name": name, "logged_out": there})
	}
	if !there {
		return a.print("you were not logged in to " + view.Line(name) + "\n")
	}
	return a.print("logged out of " + view.Line(name) + "\n")
}
