package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) toolsVerb() *cobra.Command {
	return withVerbs(&cobra.Command{
		Use:   "tools [COMMAND]",
		Short: "List, check, run and create tools",
		Long: `List the tools that agents with a model can call: those of the project, in
.hocket/tools/NAME/tool.yml, and the built-in ones. An agent can use the tools that
its definition lists under tools.`,
		Example: `  hocket tools
  hocket tools show http_request
  hocket tools check

  # Create a tool, and try it
  hocket tools new word_count --kind script
  hocket tools run word_count --input text="one two three"`,
		RunE: func(*cobra.Command, []string) error { return a.listTools() },
	}, a.toolsShowVerb(), a.toolsCheckVerb(), a.toolsRunVerb(), a.toolsNewVerb())
}

// toolLine is one tool in tools --json.
type toolLine struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Description string `json:"description"`
	Approval    bool   `json:"approval"`
	Builtin     bool   `json:"builtin"`
	File        string `json:"file,omitempty"`
	Needs       string `json:"needs,omitempty"` // what has to be set up before it works
}

func toolLineOf(m *hocket.Tool) toolLine {
	l := toolLine{Name: m.Name, Kind: m.Kind(), Description: strings.TrimSpace(m.Description), Approval: m.Approval, Builtin: m.Builtin, Needs: m.Needs()}
	if m.Dir != "" {
		l.File = filepath.ToSlash(filepath.Join(m.Dir, hocket.ToolFile))
	}
	return l
}

func (a *app) listTools() error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	lines := []toolLine{}
	for _, m := range p.Tools() {
		lines = append(lines, toolLineOf(m))
	}
	if a.json {
		return a.printJSON(lines)
	}
	t := &view.Table{Head: []string{"TOOL", "KIND", "FROM", "ASKS", "DESCRIPTION"}}
	for _, l := range lines {
		from, asks, about := "project", "no", l.Description
		if l.Builtin {
			from = "built-in"
		}
		if l.Approval {
			asks = "yes"
		}
		if l.Needs != "" {
			about = "not set up; run `hocket tools show " + l.Name + "`"
		}
		t.Row(view.Cell{Text: l.Name}, view.Cell{Text: l.Kind}, view.Cell{Text: from}, view.Cell{Text: asks}, view.Cell{Text: about})
	}
	if found := p.ToolDiagnostics(); found.Errors() {
		a.note(view.Tally(found) + " in the tools of the project; run `hocket tools check` to see them\n")
	}
	return a.print(t.Draw(a.outStyle))
}

func (a *app) toolsShowVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show the inputs, output and permissions of a tool",
		Example: `  hocket tools show http_request
  hocket tools show http_request --json`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeTool,
		RunE:              func(_ *cobra.Command, args []string) error { return a.showTool(args[0]) },
	}
}

// toolFacts is tools show --json.
type toolFacts struct {
	toolLine
	Inputs      map[string]any `json:"inputs"`
	Outputs     any            `json:"outputs"` // null: text
	Permissions toolPermission `json:"permissions"`
	Timeout     string         `json:"timeout"`
	MaxOutputKB int            `json:"max_output_kb"`
	Examples    []toolExample  `json:"examples"`
	Enforced    []string       `json:"enforced"`               // permissions that are enforced
	NotEnforced string         `json:"not_enforced,omitempty"` // why the others are not
}

type toolPermission struct {
	Network []string `json:"network"` // "*" is every public host
	Read    []string `json:"read"`
	Write   []string `json:"write"`
	Secrets []string `json:"secrets"`
}

type toolExample struct {
	Inputs any `json:"inputs"`
	Output any `json:"output"`
}

func toolFactsOf(m *hocket.Tool, e hocket.ToolEnforcement) toolFacts {
	list := func(names []string) []string { return append([]string{}, names...) }
	f := toolFacts{
		toolLine: toolLineOf(m), Inputs: m.Inputs, Outputs: m.Outputs, Timeout: workflow.FormatDuration(m.Timeout), MaxOutputKB: m.MaxOutputKB, Examples: []toolExample{},
		Permissions: toolPermission{list(m.Permissions.Network.Hosts), list(m.Permissions.Read), list(m.Permissions.Write), list(m.Permissions.Secrets)},
	}
	if m.Permissions.Network.Any {
		f.Permissions.Network = append([]string{"*"}, f.Permissions.Network...)
	}
	for _, e := range m.Examples {
		f.Examples = append(f.Examples, toolExample{e.Inputs, e.Output})
	}
	switch {
	case !hocket.IsProgram(m):
		f.Enforced = []string{"network", "secrets"}
	case e.Held:
		f.Enforced = []string{"network", "fs", "secrets"}
		f.NotEnforced = strings.Join(e.Gaps, "; ")
	default:
		f.Enforced, f.NotEnforced = []string{"secrets"}, e.Why
	}
	return f
}

func (a *app) showTool(name string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	m, err := findTool(p, name)
	if err != nil {
		return err
	}
	f := toolFactsOf(m, p.ToolEnforcement())
	if a.json {
		return a.printJSON(f)
	}
	return a.print(a.drawTool(&f))
}

// findTool finds a tool by its name.
func findTool(p *hocket.Project, name string) (*hocket.Tool, error) {
	m, err := p.Tool(name)
	if err != nil {
		_, hint := explain(err)
		return nil, usagef(hint, "unknown tool %q", name)
	}
	return m, nil
}

func (a *app) drawTool(f *toolFacts) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			b.WriteString(a.outStyle.Paint(view.Bold, view.Pad(name, 9)) + " " + view.Line(value) + "\n")
		}
	}
	row("tool", f.Name)
	row("about", f.Description)
	row("kind", f.Kind)
	row("file", nearPath(filepath.FromSlash(f.File)))
	row("needs", f.Needs)
	drawInputs(row, f.Inputs)
	if f.Outputs != nil {
		row("output", workflow.FormatJSON(f.Outputs))
	} else {
		row("output", "text")
	}
	a.drawPermissions(row, f)
	if f.Approval {
		row("approval", "required before every call")
	}
	row("limits", fmt.Sprintf("%s, %d KiB of output", f.Timeout, f.MaxOutputKB))
	for _, e := range f.Examples {
		row("example", workflow.FormatJSON(e.Inputs))
	}
	return b.String()
}

// drawPermissions draws the permissions of a tool, and whether they are enforced.
func (a *app) drawPermissions(row func(name, value string), f *toolFacts) {
	p, none, noHost := f.Permissions, "", ""
	if f.Kind == "command" || f.Kind == "script" { // for programs, also show what they may not do
		none, noHost = "nothing", "no host"
	}
	list := func(names []string) string { return cmp.Or(strings.Join(names, ", "), none) }
	if i := slices.Index(p.Network, "*"); i >= 0 {
		p.Network = slices.Concat(p.Network[:i], []string{"every public host"}, p.Network[i+1:])
	}
	row("network", cmp.Or(strings.Join(p.Network, ", "), noHost))
	row("reads", list(slices.Concat(p.Read, p.Write)))
	row("writes", list(p.Write))
	row("secrets", strings.Join(p.Secrets, ", "))
	switch held := slices.Contains(f.Enforced, "fs"); {
	case none == "":
	case held && f.NotEnforced != "":
		row("enforced", "yes, except: "+f.NotEnforced)
	case held:
		row("enforced", "yes")
	default:
		row("enforced", "no, it can do whatever you can: "+f.NotEnforced)
	}
}

// drawInputs draws a line for each input of a schema.
func drawInputs(row func(name, value string), schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range sorted.Keys(properties) {
		property, _ := properties[name].(map[string]any)
		parts := []string{name}
		if kind, ok := property["type"]; ok {
			parts = append(parts, workflow.FormatText(kind))
		}
		if words, ok := property["enum"]; ok {
			parts = append(parts, "one of "+workflow.FormatJSON(words))
		}
		if value, ok := property["default"]; ok {
			parts = append(parts, "default "+workflow.FormatJSON(value))
		} else if !slices.Contains(required, any(name)) {
			parts = append(parts, "optional")
		}
		line := strings.Join(parts, ", ")
		if about, ok := property["description"].(string); ok {
			line += ": " + about
		}
		row("input", line)
	}
}

func (a *app) toolsCheckVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check tools for errors",
		Long: `Check the tools of the project. Every error and warning comes with its position and
how to fix it. The exit code is 2 if there are errors.`,
		Example: `  hocket tools check
  hocket tools check --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.checkTools() },
	}
}

func (a *app) checkTools() error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	found := p.ToolDiagnostics().Sort()
	own := slices.DeleteFunc(p.Tools(), func(m *hocket.Tool) bool { return m.Builtin })
	switch {
	case a.json:
		err = a.printJSON(jsonDiagnostics(found))
	case len(found) == 0:
		err = a.print(a.outStyle.Paint(view.Green, "ok") + ": " + view.Count(len(own), "tool") + " checked\n")
	default:
		err = a.print(a.showDiagnostics(found, a.outStyle))
	}
	if err == nil && found.Errors() {
		err = exitError(exitUsage)
	}
	return err
}

// completeTool completes the name of a tool.
func (a *app) completeTool(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p, err := a.openProject()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, m := range p.Tools() {
		names = append(names, m.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
