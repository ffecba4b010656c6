package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/ask"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) mcpInstallVerb() *cobra.Command {
	var client string
	var uninstall, yes, dry bool
	names := sorted.Keys(mcpClients)
	cmd := &cobra.Command{
		Use:   "install --for CLIENT [FLAGS]",
		Short: "Set up a program to use Hocket as an MCP server",
		Long: `Set up a program to use "hocket mcp serve" in all your projects: ` + strings.Join(names, ", ") + `.
Where the program has a command that adds a server, that command is used. Otherwise
its settings are edited, after you have seen the change; the old file is kept beside
it. Calls may then take an hour. Afterwards the program lists its servers. Running it
again changes nothing, except for the path of hocket if that has moved.

With --dry-run, it changes nothing: it prints the command of the program, or the change
of its settings, and what to paste into them to do the same by hand.`,
		Example: `  hocket mcp install --for claude
  hocket mcp install --for claude --dry-run
  hocket mcp install --for cursor --yes
  hocket mcp install --for codex --uninstall`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			expected := "expected one of: " + strings.Join(names, ", ")
			if client == "" {
				return usagef(expected, "missing --for CLIENT")
			}
			c, ok := mcpClients[client]
			if !ok {
				return usagef(expected, "unknown client %q", client)
			}
			if dry {
				return a.showInstall(&c, uninstall)
			}
			if err := a.onlyPerson("mcp install"); err != nil {
				return err
			}
			ctx, cancel := context.WithCancelCause(cmd.Context())
			defer cancel(nil)
			defer onSignal(func() { cancel(errInterrupted) }, func() {})()
			err := a.installMCP(ctx, &c, uninstall, yes)
			if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
				return exitError(exitInterrupted)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&client, "for", "", "the `CLIENT`: "+strings.Join(names, ", "))
	complete(cmd, "for", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&uninstall, "uninstall", false, "remove the server from the program instead")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "edit settings without asking")
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "print what would be done, and how to do it by hand, without doing it")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "yes")
	return cmd
}

// executable returns the path of this program.
func executable() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("cannot find the hocket executable: %w", err)
	}
	return self, nil
}

// installation is what installMCP would do, and how a person can do it.
type installation struct {
	Command []string `json:"command,omitempty"` // of the client
	File    string   `json:"file"`              // the client's settings
	Change  string   `json:"change,omitempty"`  // of the file; "": none, or the command makes it
	Entry   string   `json:"entry,omitempty"`   // for the file, to do it by hand
}

// showInstall prints what installMCP would do.
func (a *app) showInstall(c *mcpClient, uninstall bool) error {
	self, err := executable()
	if err != nil {
		return err
	}
	file, before, err := readSettings(c)
	if err != nil {
		return err
	}
	do := c.setup(self, uninstall)
	would := installation{File: file}
	var out strings.Builder
	if do.args != nil {
		would.Command = append([]string{c.program}, do.args...)
		out.WriteString("would run:\n ")
		for _, w := range would.Command {
			out.WriteString(" " + quoteWord(w))
		}
		out.WriteString("\n")
	}
	done := false
	switch {
	case do.change == nil:
	case do.args != nil: // what is in the file then, depends on the program
		fmt.Fprintf(&out, "and then set the timeout of the server in %s\n", file)
	default:
		after, err := do.change(before)
		if err != nil {
			return fmt.Errorf("cannot edit %s: %w", file, err)
		}
		if done = bytes.Equal(before, after); done {
			fmt.Fprintf(&out, "would not change %s: nothing is left to do\n", file)
		} else {
			would.Change = diffText(before, after)
			fmt.Fprintf(&out, "would change %s:\n%s\n", file, would.Change)
		}
	}
	if !uninstall && !done {
		if would.Entry, err = c.entry(self); err != nil {
			return err
		}
		fmt.Fprintf(&out, "\nto do it by hand, add this to %s:\n%s", file, would.Entry)
	}
	if a.json {
		return a.printJSON(would)
	}
	return a.print(out.String())
}

func diffText(before, after []byte) string {
	return view.Text(strings.Join(trust.DiffLines(string(before), string(after)), "\n"))
}

func (a *app) installMCP(ctx context.Context, c *mcpClient, uninstall, yes bool) error {
	self, err := executable()
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(c.program); err != nil && c.add != nil {
		return usagef("install it, or add it to the PATH", "%s is not installed", c.program)
	}
	do := c.setup(self, uninstall)
	if uninstall {
		return a.uninstallMCP(ctx, c, do, yes)
	}
	if do.args != nil && do.change != nil && !yes && a.people(a.std.Err) == nil { // before anything has changed
		return cannotAsk()
	}
	if do.args != nil {
		if err := addToClient(ctx, c, do.args); err != nil {
			return err
		}
	}
	if do.change != nil {
		if _, err := a.editSettings(ctx, c, do.change, yes); err != nil {
			return err
		}
	}
	return a.showClient(ctx, c)
}

// addToClient has a client add the server. Some refuse to add one twice, so that the old one is removed
// first; if the new one cannot be added then, the old settings are restored.
func addToClient(ctx context.Context, c *mcpClient, add []string) error {
	out, err := c.output(ctx, add)
	if err == nil {
		return nil
	}
	failed := func() error { return fmt.Errorf("%s cannot add the server: %w\n%s", c.program, err, view.Text(out)) }
	if c.remove == nil {
		return failed()
	}
	if _, ours, err := c.list(ctx); err != nil || ours == "" {
		return failed()
	}
	file, before, wrong := readSettings(c)
	if wrong != nil {
		return errors.Join(failed(), wrong)
	}
	if out, err := c.output(ctx, c.remove); err != nil {
		return fmt.Errorf("%s cannot remove the old server: %w\n%s", c.program, err, view.Text(out))
	}
	if out, err = c.output(ctx, add); err == nil {
		return nil
	}
	if before != nil {
		wrong = wholefile.Write(file, before, modeOf(file))
	}
	return errors.Join(failed(), wrong)
}

func (a *app) uninstallMCP(ctx context.Context, c *mcpClient, do setup, yes bool) error {
	if do.args != nil {
		if out, err := c.output(ctx, do.args); err != nil {
			return fmt.Errorf("%s cannot remove the server: %w\n%s", c.program, err, view.Text(out))
		}
		a.note("removed the server from " + c.program + "\n")
		return nil
	}
	switch changed, err := a.editSettings(ctx, c, do.change, yes); {
	case err != nil:
		return err
	case changed:
		a.note("removed the server from " + c.program + "\n")
	default:
		a.note("nothing to remove: " + c.program + " does not have the server\n")
	}
	return nil
}

// output runs a command of a client.
func (c *mcpClient) output(ctx context.Context, args []string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// list returns what a client says about its servers, and which lines of it are about ours.
func (c *mcpClient) list(ctx context.Context) (all, ours string, err error) {
	all, err = c.output(ctx, []string{"mcp", "list"})
	for line := range strings.Lines(all) {
		if strings.Contains(line, serverName) {
			ours += strings.TrimSpace(line) + "\n"
		}
	}
	return all, ours, err
}

// readSettings returns the settings of a client. There may be none yet.
func readSettings(c *mcpClient) (file string, text []byte, err error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", nil, err
	}
	file = c.settings(home)
	if _, err := os.Stat(file + "c"); err == nil { // with comments
		file += "c"
	}
	if real, err := filepath.EvalSymlinks(file); err == nil { // people link their settings to a repository
		file = real
	}
	text, err = os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return file, text, err
}

// modeOf returns the mode of a file, that of a private one if it does not exist.
func modeOf(file string) fs.FileMode {
	if info, err := os.Stat(file); err == nil {
		return info.Mode().Perm()
	}
	return 0o600
}

// editSettings changes the settings of a client, and keeps the old ones. It reports whether there was
// something to change.
func (a *app) editSettings(ctx context.Context, c *mcpClient, change func([]byte) ([]byte, error), yes bool) (bool, error) {
	file, before, err := readSettings(c)
	if err != nil {
		return false, err
	}
	after, wrong := change(before)
	if wrong != nil {
		return false, fmt.Errorf("cannot edit %s: %w", file, wrong)
	}
	if bytes.Equal(before, after) {
		return false, nil
	}
	a.note(file + ":\n" + diffText(before, after) + "\n")
	if !yes {
		if err := a.mayEdit(ctx, file); err != nil {
			return false, err
		}
	}
	if before != nil {
		err = keep(file, before)
	} else {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		return false, err
	}
	return true, wholefile.Write(file, after, modeOf(file))
}

// keep writes the old content of a file beside it, and overwrites no older one.
func keep(file string, text []byte) error {
	for n := 1; ; n++ {
		to := file + ".before-hocket"
		if n > 1 {
			to += "-" + strconv.Itoa(n)
		}
		kept, err := os.ReadFile(to)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return wholefile.Write(to, text, modeOf(file))
		case err != nil:
			return err
		case bytes.Equal(kept, text):
			return nil
		}
	}
}

func cannotAsk() error {
	return usagef("pass --yes", "nothing was changed: there is no terminal to ask in")
}

// mayEdit asks before a file is edited.
func (a *app) mayEdit(ctx context.Context, file string) error {
	people := a.people(a.std.Err)
	if people == nil {
		return cannotAsk()
	}
	answer, err := people.Ask(ctx, ask.Question{Text: "Change " + file + "?", Options: []workflow.Option{{Value: "yes"}, {Value: "no"}}})
	switch {
	case err != nil && !errors.Is(err, ask.ErrUnanswered):
		return err
	case answer != "yes":
		a.note(file + " was not changed\n")
		return exitError(exitFailed)
	}
	return nil
}

// showClient has a client list its servers, and reports what it says about ours.
func (a *app) showClient(ctx context.Context, c *mcpClient) error {
	if c.note != "" {
		a.note(c.note + "\n")
	}
	all, ours, err := c.list(ctx)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		a.note("installed; " + c.program + " is not on the PATH, so its list of servers cannot be shown\n")
		return nil
	case err != nil:
		return fmt.Errorf("%s cannot list its servers: %w\n%s", c.program, err, view.Text(all))
	case ours == "":
		return fmt.Errorf("%s does not list the server:\n%s", c.program, view.Text(all))
	case c.works != "" && !strings.Contains(ours, c.works):
		a.note("warning: " + c.program + " lists the server, but does not use it here\n")
	}
	return a.print(view.Text(ours))
}
