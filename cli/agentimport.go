package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/cli/view"
)

// importFlags are the flags of agents import.
type importFlags struct {
	from                    []string
	user, dryRun, overwrite bool
}

func (a *app) agentsImportVerb() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import --from PROGRAM [FLAGS]",
		Short: "Import agents from other programs",
		Long: `Import the agents that other programs have in this project into .hocket/agents:
` + strings.Join(hocket.ImportFormats(), ", ") + `. Settings that have no equivalent are
listed. An agent with a restriction that has no equivalent is refused; the exit code
is then 1. The files of the other program are never changed.

Importing again updates agents whose source has changed. An agent that you have
edited is kept; pass --overwrite to replace it.`,
		Example: `  hocket agents import --from claude
  hocket agents import --from claude,gemini --dry-run

  # Import everything, including from your home directory
  hocket agents import --from all --user`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.importAgents(&f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.from, "from", nil, "the `PROGRAM` to import from, a comma-separated list, or all")
	flags.BoolVar(&f.user, "user", false, "also import from your home directory")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would happen without writing anything")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace agents that you have edited")
	complete(cmd, "from", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return append(hocket.ImportFormats(), "all"), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (a *app) importAgents(f *importFlags) error {
	froms, err := importFrom(f.from)
	if err != nil {
		return err
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if f.overwrite && !f.dryRun {
		if err := a.onlyPerson("agents import --overwrite"); err != nil {
			return err
		}
	}
	list, err := p.ImportAgents(hocket.ImportOptions{From: froms, User: f.user, Overwrite: f.overwrite, DryRun: f.dryRun})
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(importLines(list))
	} else {
		err = a.print(a.drawImport(list, f))
	}
	if err == nil && slices.ContainsFunc(list, func(o hocket.Imported) bool { return o.Action == hocket.ImportRefused }) {
		err = exitError(exitFailed)
	}
	return err
}

// importFrom returns the programs that --from names.
func importFrom(given []string) ([]string, error) {
	formats := hocket.ImportFormats()
	var froms []string
	for _, name := range given {
		switch name = strings.TrimSpace(name); {
		case name == "all":
			return formats, nil
		case !slices.Contains(formats, name):
			return nil, usagef(orList(name, append(formats, "all")), "unsupported --from %q", name)
		case !slices.Contains(froms, name):
			froms = append(froms, name)
		}
	}
	if len(froms) == 0 {
		return nil, usagef("expected one or more of: "+strings.Join(formats, ", ")+", or all", "missing --from PROGRAM")
	}
	return froms, nil
}

// importLine is one agent with --json.
type importLine struct {
	Action  hocket.ImportAction   `json:"action"`
	From    string                `json:"from"`
	File    string                `json:"file"`
	Name    string                `json:"name,omitempty"`
	Target  string                `json:"target,omitempty"`
	Edited  bool                  `json:"edited"`
	Reason  string                `json:"reason,omitempty"`
	Lost    []hocket.ImportLost   `json:"lost"`
	Changes []hocket.ImportChange `json:"changes"`
}

func importLines(list []hocket.Imported) []importLine {
	lines := make([]importLine, len(list))
	for i, o := range list {
		lines[i] = importLine{o.Action, o.From, o.File, o.Name, o.Target, o.Edited, o.Reason, append([]hocket.ImportLost{}, o.Lost...), append([]hocket.ImportChange{}, o.Changes...)}
	}
	return lines
}

var importPaint = map[hocket.ImportAction]view.Paint{
	hocket.ImportMade: view.Green, hocket.ImportUpdated: view.Green, hocket.ImportUnchanged: view.Dim,
	hocket.ImportKept: view.Yellow, hocket.ImportRefused: view.Red, hocket.ImportGone: view.Yellow,
}

func (a *app) drawImport(list []hocket.Imported, f *importFlags) string {
	if len(list) == 0 {
		hint := "`" + a.self("agents", "import", "--from", strings.Join(f.from, ","), "--user") + "` also looks in your home directory"
		if f.user {
			hint = "neither the project nor your home directory has any"
		}
		return "no agents found for " + strings.Join(f.from, ", ") + "; " + hint + "\n"
	}
	var b strings.Builder
	for _, o := range list {
		line := o.From + " " + o.File
		if o.Target != "" {
			line += " to " + nearPath(o.Target)
		}
		b.WriteString(a.outStyle.Paint(importPaint[o.Action], view.Pad(string(o.Action), 9)) + "  " + view.Line(line) + "\n")
		detail := func(text string) { b.WriteString(strings.Repeat(" ", 11) + view.Line(text) + "\n") }
		switch {
		case o.Action == hocket.ImportRefused:
			detail(o.Reason)
		case o.Action == hocket.ImportKept:
			detail("you have edited it, and its source has changed; pass --overwrite to replace it")
		case o.Action == hocket.ImportGone:
			detail("its source no longer exists; the agent is kept")
		}
		for _, c := range o.Changes {
			detail(c.Key + ": " + shorten(c.Was) + " -> " + shorten(c.Is))
		}
		if o.Action != hocket.ImportUnchanged {
			for _, l := range o.Lost {
				detail("not imported: " + l.Key + ": " + l.Reason)
			}
		}
	}
	if f.dryRun {
		b.WriteString("\nDry run: nothing was written.\n")
	}
	return b.String()
}

// shorten fits a value into one line.
func shorten(text string) string {
	const most = 60
	if text == "" {
		return "(none)"
	}
	return agent.OneLine(text, most)
}
