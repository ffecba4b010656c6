package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/ask"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// serverName is the name of our server in the settings of clients.
const serverName = "hocket"

// Clients that are set up wait this long for a call, and the server a little less.
const (
	clientTimeout = time.Hour
	serverWait    = "55m"
)

var milliseconds = strconv.FormatInt(clientTimeout.Milliseconds(), 10)

// serves are the arguments with which clients start our server.
var serves = []string{"mcp", "serve", "--wait", serverWait}

// mcpClient is a program that can use our server.
type mcpClient struct {
	program  string
	remove   []string                   // arguments that remove the server; nil: edit the file
	add      func(self string) []string // arguments that add it, with the path of hocket; nil: edit the file
	settings func(home string) string   // the file with its settings
	edit     func(text []byte, self string) ([]byte, error)
	undo     func(text []byte) ([]byte, error)
	works    string // what its list of servers says about one that works; "": it does not say
	note     string // what a user has to know
}

// mcpClients are the known clients. Those that have a command to add a server are set up with it; if
// it cannot set the timeout, their settings are edited afterwards.
var mcpClients = map[string]mcpClient{
	"claude": {
		program: "claude", settings: below("CLAUDE_CONFIG_DIR", "", ".claude.json"), works: "Connected",
		add: func(self string) []string {
			server := map[string]any{"type": "stdio", "command": self, "args": serves, "timeout": clientTimeout.Milliseconds(), "alwaysLoad": true}
			return []string{"mcp", "add-json", "--scope", "user", serverName, workflow.FormatJSON(server)}
		},
		remove: []string{"mcp", "remove", "--scope", "user", serverName},
	},
	"codex": {
		program: "codex", settings: below("CODEX_HOME", ".codex", "config.toml"), works: "enabled",
		add:    func(self string) []string { return append([]string{"mcp", "add", serverName, "--", self}, serves...) },
		remove: []string{"mcp", "remove", serverName},
		edit:   func(text []byte, _ string) ([]byte, error) { return codexTimeout(text) },
		note:   "codex asks before it calls a tool; in `codex exec` it refuses, unless its config.toml has default_tools_approval_mode = \"approve\" for the server",
	},
	"gemini": {
		program: "gemini", settings: below("", ".gemini", "settings.json"), works: "Connected",
		add: func(self string) []string {
			return append([]string{"mcp", "add", "--scope", "user", "--timeout", milliseconds, serverName, self, "--"}, serves...)
		},
		remove: []string{"mcp", "remove", "--scope", "user", serverName},
		note:   "gemini starts servers only in folders that it trusts",
	},
	"opencode": {
		program: "opencode", settings: below("XDG_CONFIG_HOME", ".config", "opencode/opencode.json"), works: "connected",
		add: func(self string) []string { return append([]string{"mcp", "add", serverName, "--", self}, serves...) },
		edit: func(text []byte, _ string) ([]byte, error) {
			return setJSONC(text, []string{"mcp", serverName, "timeout"}, clientTimeout.Milliseconds())
		},
		undo: func(text []byte) ([]byte, error) { return removeJSONC(text, []string{"mcp", serverName}) },
	},
	"copilot": {
		program: "copilot", settings: below("COPILOT_HOME", ".copilot", "mcp-config.json"),
		add: func(self string) []string {
			return append([]string{"mcp", "add", serverName, "--timeout", milliseconds, "--", self}, serves...)
		},
		remove: []string{"mcp", "remove", serverName},
	},
	"cursor": {
		program: "cursor-agent", settings: below("", ".cursor", "mcp.json"),
		edit: func(text []byte, self string) ([]byte, error) {
			return setJSONC(text, []string{"mcpServers", serverName}, map[string]any{"command": self, "args": []string{"mcp", "serve"}})
		},
		undo: func(text []byte) ([]byte, error) { return removeJSONC(text, []string{"mcpServers", serverName}) },
	},
}

// below returns the path of a file in the directory that a variable names, otherwise in the usual one.
func below(variable, usual, file string) func(home string) string {
	return func(home string) string {
		if dir := os.Getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, file)
		}
		return filepath.Join(home, usual, file)
	}
}

func (a *app) mcpInstallVerb() *cobra.Command {
	var client string
	var uninstall, yes bool
	names := slices.Sorted(maps.Keys(mcpClients))
	cmd := &cobra.Command{
		Use:   "install --for CLIENT [FLAGS]",
		Short: "Set up a program to use Hocket as an MCP server",
		Long: `Set up a program to use "hocket mcp serve" in all your projects: ` + strings.Join(names, ", ") + `.
Where the program has a command that adds a server, that command is used. Otherwise
its settings are edited, after you have seen the change; the old file is kept beside
it. Calls may then take an hour. Afterwards the program lists its servers. Running it
again changes nothing, except for the path of hocket if that has moved.`,
		Example: `  hocket mcp install --for claude
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
	return cmd
}

func (a *app) installMCP(ctx context.Context, c *mcpClient, uninstall, yes bool) error {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return fmt.Errorf("cannot find the hocket executable: %w", err)
	}
	if _, err := exec.LookPath(c.program); err != nil && c.add != nil {
		return usagef("install it, or add it to the PATH", "%s is not installed", c.program)
	}
	if uninstall {
		return a.uninstallMCP(ctx, c, yes)
	}
	if c.add != nil && c.edit != nil && !yes && a.people(a.std.Err) == nil { // before anything has changed
		return cannotAsk()
	}
	if c.add != nil {
		if err := addToClient(ctx, c, self); err != nil {
			return err
		}
	}
	if c.edit != nil {
		if _, err := a.editSettings(ctx, c, func(text []byte) ([]byte, error) { return c.edit(text, self) }, yes); err != nil {
			return err
		}
	}
	return a.showClient(ctx, c)
}

// addToClient has a client add the server. Some refuse to add one twice, so that the old one is removed
// first; if the new one cannot be added then, the old settings are restored.
func addToClient(ctx context.Context, c *mcpClient, self string) error {
	out, err := c.output(ctx, c.add(self))
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
	if out, err = c.output(ctx, c.add(self)); err == nil {
		return nil
	}
	if before != nil {
		wrong = wholefile.Write(file, before, modeOf(file))
	}
	return errors.Join(failed(), wrong)
}

func (a *app) uninstallMCP(ctx context.Context, c *mcpClient, yes bool) error {
	if c.undo == nil {
		if out, err := c.output(ctx, c.remove); err != nil {
			return fmt.Errorf("%s cannot remove the server: %w\n%s", c.program, err, view.Text(out))
		}
		a.note("removed the server from " + c.program + "\n")
		return nil
	}
	switch changed, err := a.editSettings(ctx, c, c.undo, yes); {
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
	a.note(file + ":\n" + view.Text(strings.Join(trust.DiffLines(string(before), string(after)), "\n")) + "\n")
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

// codexTimeout sets the timeout of our server in codex's settings, which `codex mcp add` has written.
func codexTimeout(text []byte) ([]byte, error) {
	const key = "tool_timeout_sec"
	lines := strings.SplitAfter(string(text), "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "[mcp_servers."+serverName+"]" })
	if at < 0 {
		return nil, errors.New("codex has not added the server")
	}
	for i := at + 1; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), "["); i++ {
		if strings.HasPrefix(strings.TrimSpace(lines[i]), key) {
			return text, nil
		}
	}
	lines = slices.Insert(lines, at+1, fmt.Sprintf("%s = %d\n", key, int(clientTimeout.Seconds())))
	return []byte(strings.Join(lines, "")), nil
}
