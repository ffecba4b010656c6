package cli

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/ask"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// toolRunFlags are the flags of tools run.
type toolRunFlags struct {
	inputs []string
	file   string
	yes    bool
}

func (a *app) toolsRunVerb() *cobra.Command {
	var f toolRunFlags
	cmd := &cobra.Command{
		Use:   "run NAME [FLAGS]",
		Short: "Call a tool as an agent would",
		Long: `Call a tool as an agent would: check its inputs, enforce its permissions, then check
and print its output. A tool that requires approval asks first.`,
		Example: `  hocket tools run http_request --input url=https://example.com
  hocket tools run weather --inputs place.yml
  hocket tools run deploy --input to=staging --yes`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeTool,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runTool(cmd.Context(), args[0], &f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "set an input, as `NAME=VALUE`; can be repeated")
	flags.StringVar(&f.file, "inputs", "", "read inputs from a YAML or JSON `FILE`")
	flags.BoolVarP(&f.yes, "yes", "y", false, "approve the call without asking")
	return cmd
}

func (a *app) runTool(ctx context.Context, name string, f *toolRunFlags) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	m, err := findTool(p, name)
	if err != nil {
		return err
	}
	if err := p.CheckTool(m); err != nil {
		return err
	}
	args, err := a.toolInputs(m, f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onSignal(func() { cancel(errInterrupted) }, func() {})()
	if m.Approval {
		if err := a.onlyPerson("tools run " + name); err != nil {
			return err
		}
	}
	if m.Approval && !f.yes {
		if err := a.approve(ctx, m, args); err != nil {
			return err
		}
	}
	output, err := p.CallTool(ctx, name, args, func(piece []byte) { a.note(view.Text(string(piece))) })
	if errors.Is(err, errInterrupted) {
		return exitError(exitInterrupted)
	}
	if err != nil {
		return err
	}
	return a.printOutput(m, output)
}

// printOutput prints the output of a tool. With --json, JSON output is embedded as a
// value.
func (a *app) printOutput(m *hocket.Tool, output string) error {
	if !a.json {
		return a.print(endLine(a.outText(output)))
	}
	var value any = output
	if m.Outputs != nil {
		if parsed, err := workflow.ParseJSON([]byte(output)); err == nil {
			value = parsed
		}
	}
	return a.printJSON(map[string]any{"tool": m.Name, "output": value})
}

// toolInputs merges inputs: those on the command line override those in the file.
func (a *app) toolInputs(m *hocket.Tool, f *toolRunFlags) (map[string]any, error) {
	if err := onceEach(f.inputs); err != nil {
		return nil, err
	}
	args := map[string]any{}
	if f.file != "" {
		in, err := a.readInputFile(a.path(f.file))
		if err != nil {
			return nil, err
		}
		maps.Copy(args, in.values)
	}
	for _, pair := range f.inputs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usagef("use --input NAME=VALUE", "invalid --input %q: no value", pair)
		}
		value, err := m.Argument(name, text)
		if err != nil {
			return nil, usagef("", "%v", err)
		}
		args[name] = value
	}
	return args, nil
}

// approve asks the person at the terminal whether a tool may be called.
func (a *app) approve(ctx context.Context, m *hocket.Tool, args map[string]any) error {
	people := a.people(a.std.Err)
	if people == nil {
		return usagef("review it with `hocket tools show "+m.Name+"`, then pass --yes", "tool %s requires approval, and there is no terminal to ask in", m.Name)
	}
	return a.decide(ctx, people, ask.Question{
		Text:    "Call " + m.Name + " with these inputs?",
		Detail:  workflow.FormatJSON(args),
		Options: []workflow.Option{{Value: workflow.Approve}, {Value: workflow.Reject}},
	}, workflow.Approve, "not called")
}

func (a *app) toolsNewVerb() *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:   "new NAME --kind KIND",
		Short: "Create a tool",
		Long: `Create .hocket/tools/NAME with an example tool to edit, of one of these kinds:
  http     sends an HTTP request
  command  runs a program
  script   runs a file in the tool's directory
  search   queries a search engine; name it web_search to set up the built-in tool
Existing files are never changed. If an agent or a step runs this command, the tool
waits for the approval of a person, see "hocket approve".`,
		Example: `  hocket tools new weather --kind http
  hocket tools new web_search --kind search`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.newTool(cmd.Context(), args[0], kind) },
	}
	cmd.Flags().StringVar(&kind, "kind", "", "the kind of tool: "+strings.Join(hocket.ToolKinds(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("kind", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return hocket.ToolKinds(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (a *app) newTool(ctx context.Context, name, kind string) error {
	if !hocket.IsToolName(name) {
		return usagef("use at most 64 letters, digits, - and _", "invalid tool name %q", name)
	}
	if !slices.Contains(hocket.ToolKinds(), kind) {
		hint := workflow.DidYouMean(kind, hocket.ToolKinds())
		if hint == "" {
			hint = "expected --kind " + strings.Join(hocket.ToolKinds(), ", ")
		}
		return usagef(hint, "unknown kind %q", kind)
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	files, err := hocket.ToolSample(kind)
	if err != nil {
		return err
	}
	if by := a.supervisor(); by != "" {
		return a.proposed(p.Propose(ctx, hocket.Draft{Kind: hocket.ToolKind, Name: name, Files: files, Origin: hocket.Origin{By: by}}))
	}
	dir := filepath.Join(p.Root(), ".hocket", "tools", name)
	if _, err := os.Stat(dir); err == nil {
		return usagef("choose another name, or edit the existing tool", "tool %q already exists", name)
	}
	res := initResult{Dir: dir, Made: []string{}, Kept: []string{}}
	for _, file := range sorted.Keys(files) {
		if _, err := writeNew(filepath.Join(dir, file), files[file]); err != nil {
			return err
		}
		res.Made = append(res.Made, file)
	}
	if a.json {
		return a.printJSON(res)
	}
	var b strings.Builder
	for _, file := range res.Made {
		b.WriteString(a.outStyle.Paint(view.Green, "created") + "  " + nearPath(filepath.Join(dir, file)) + "\n")
	}
	b.WriteString("\nEdit it, then run: " + a.self("tools", "check") + "\n")
	return a.print(b.String())
}
