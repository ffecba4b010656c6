package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/internal/sorted"
)

func (a *app) mcpVerb() *cobra.Command {
	return withVerbs(&cobra.Command{
		Use:   "mcp [COMMAND]",
		Short: "List and check MCP servers, log in to them, and be one",
		Long: `List the MCP servers that config.yml defines under mcp, how they are reached, and
whether you are logged in. An agent can use the tools of the servers that its
definition lists under mcp.

Hocket is an MCP server itself: "serve" serves a client, such as Claude Code, and
"install" sets it up.`,
		Example: `  hocket mcp
  hocket mcp check

  # Show the tools of a server, and log in to another one
  hocket mcp show notes
  hocket mcp login tracker

  # Use Hocket from Claude Code
  hocket mcp install --for claude`,
		RunE: func(*cobra.Command, []string) error { return a.listServers() },
	}, a.mcpCheckVerb(), a.mcpShowVerb(), a.mcpLoginVerb(), a.mcpLogoutVerb(), a.mcpServeVerb(), a.mcpInstallVerb(), a.mcpGuardVerb())
}

// serverLine is one server in mcp --json and mcp check --json.
type serverLine struct {
	Name    string            `json:"name"`
	Command []string          `json:"command,omitempty"`
	URL     string            `json:"url,omitempty"`
	Login   hocket.LoginState `json:"login"`
	Answers *bool             `json:"answers,omitempty"`
	Tools   *int              `json:"tools,omitempty"`
	Error   string            `json:"error,omitempty"`
}

func (a *app) serverLines(p *hocket.Project, names []string) ([]serverLine, error) {
	for _, name := range names {
		if _, err := p.Server(name); err != nil {
			return nil, err
		}
	}
	lines := []serverLine{}
	for _, s := range p.Servers() {
		if len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		login, err := p.LoginState(&s)
		if err != nil {
			return nil, err
		}
		lines = append(lines, serverLine{Name: s.Name, Command: s.Command, URL: s.URL, Login: login})
	}
	return lines, nil
}

func (a *app) listServers() error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	lines, err := a.serverLines(p, nil)
	if err != nil {
		return err
	}
	return a.printServers(lines)
}

// printServers prints a table of servers, with their answers if they were checked.
func (a *app) printServers(lines []serverLine) error {
	if a.json {
		return a.printJSON(lines)
	}
	if len(lines) == 0 {
		a.note("the project has no MCP servers; define them under `mcp` in .hocket/config.yml\n")
		return nil
	}
	t := &view.Table{Head: []string{"SERVER", "LOGIN", "REACHED BY"}}
	asked := lines[0].Answers != nil
	if asked {
		t.Head = []string{"SERVER", "LOGIN", "ANSWER", "REACHED BY"}
	}
	for _, l := range lines {
		by := l.URL
		if by == "" {
			by = strings.Join(l.Command, " ")
		}
		row := []view.Cell{{Text: l.Name}, {Text: loginWords[l.Login], Paint: loginPaint[l.Login]}}
		if asked {
			row = append(row, answerCell(&l))
		}
		t.Row(append(row, view.Cell{Text: by, Paint: view.Dim})...)
	}
	return a.print(t.Draw(a.outStyle))
}

// loginWords is the text for people, and loginPaint its colour.
var (
	loginWords = map[hocket.LoginState]string{hocket.LoginNone: "-", hocket.LoginKey: "API key", hocket.LoginNo: "no", hocket.LoginYes: "yes", hocket.LoginEnded: "expired"}
	loginPaint = map[hocket.LoginState]view.Paint{hocket.LoginYes: view.Green, hocket.LoginEnded: view.Red}
)

func answerCell(l *serverLine) view.Cell {
	if l.Tools == nil {
		return view.Cell{Text: "failed", Paint: view.Red}
	}
	return view.Cell{Text: view.Count(*l.Tools, "tool"), Paint: view.Green}
}

func (a *app) mcpCheckVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Check that servers work",
		Long: `Connect to the MCP servers of the project, or to the named ones, and report how
many tools they have. The exit code is 1 if one of them does not work.`,
		Example: `  hocket mcp check
  hocket mcp check tracker --json`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeServer,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.checkServers(cmd.Context(), args) },
	}
}

func (a *app) checkServers(ctx context.Context, names []string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	lines, err := a.serverLines(p, names)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onSignal(func() { cancel(errInterrupted) }, func() {})()
	if err := p.CheckTrust(ctx); err != nil {
		return err
	}
	failed := make([]error, len(lines))
	var all sync.WaitGroup
	for i := range lines {
		all.Go(func() { failed[i] = a.checkServer(ctx, p, &lines[i]) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return exitError(exitInterrupted)
	}
	if err := a.printServers(lines); err != nil {
		return err
	}
	for _, err := range failed {
		if err != nil && !a.json {
			a.report(explain(err))
		}
	}
	if errors.Join(failed...) != nil {
		return exitError(exitFailed)
	}
	return nil
}

// checkServer asks a server for its tools.
func (a *app) checkServer(ctx context.Context, p *hocket.Project, l *serverLine) error {
	s, err := p.OpenServer(ctx, l.Name)
	works := err == nil
	l.Answers = &works
	if err != nil {
		l.Error = p.Mask(err.Error())
		return err
	}
	defer s.Close()
	n := len(s.List())
	l.Tools = &n
	return nil
}

func (a *app) mcpShowVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "List the tools of a server",
		Long: `List the tools of a server, as it describes them. The agent mcp calls them by these
names; agents with a model see them as SERVER_TOOL.`,
		Example: `  hocket mcp show notes
  hocket mcp show notes --json`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeServer,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.showServer(cmd.Context(), args[0]) },
	}
}

// serverTool is a tool in mcp show --json.
type serverTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Approval    bool           `json:"approval"`
	Inputs      map[string]any `json:"inputs"`
}

func (a *app) showServer(ctx context.Context, name string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if _, err := p.Server(name); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onSignal(func() { cancel(errInterrupted) }, func() {})()
	s, err := p.OpenServer(ctx, name)
	if errors.Is(err, errInterrupted) {
		return exitError(exitInterrupted)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	return a.printServerTools(name, s.List())
}

func (a *app) printServerTools(name string, list []agent.Tool) error {
	tools := []serverTool{}
	t := &view.Table{Head: []string{"TOOL", "ASKS", "TAKES", "DESCRIPTION"}}
	for _, one := range list {
		tools = append(tools, serverTool{one.Name, one.Description, one.Approval, one.Input})
		asks := "no"
		if one.Approval {
			asks = "yes"
		}
		t.Row(view.Cell{Text: one.Name}, view.Cell{Text: asks}, view.Cell{Text: takes(one.Input)}, view.Cell{Text: one.Description})
	}
	switch {
	case a.json:
		return a.printJSON(map[string]any{"name": name, "tools": tools})
	case len(tools) == 0:
		a.note(view.Line(name) + " has no tools\n")
		return nil
	}
	return a.print(t.Draw(a.outStyle))
}

// takes lists the arguments of a tool, the optional ones in brackets.
func takes(schema map[string]any) string {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	var names, more []string
	for _, name := range sorted.Keys(properties) {
		if slices.Contains(required, any(name)) {
			names = append(names, name)
		} else {
			more = append(more, "["+name+"]")
		}
	}
	return agent.OneLine(strings.Join(append(names, more...), " "), 40)
}

// completeServer completes the name of a server.
func (a *app) completeServer(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	p, err := a.openProject()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, s := range p.Servers() {
		names = append(names, s.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
