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
		Short: "make agents of those of other programs",
		Long: `Make agents in .hocket/agents of those that other programs keep in this project:
` + strings.Join(hocket.ImportFormats(), ", ") + `. What cannot be carried over is listed.
An agent with a restriction that cannot be carried over is refused, and then the exit
code is 1.
It goes one way: the files of the other program are never changed.

Imported again, an agent follows its source. One that was edited here is kept as
it is; --overwrite replaces it.`,
		Example: `  hocket agents import --from claude
  hocket agents import --from claude,gemini --dry-run

  # all of them, and those in your home directory too
  hocket agents import --from all --user`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.importAgents(&f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.from, "from", nil, "whose agents: `PROGRAM`, several with commas, or all")
	flags.BoolVar(&f.user, "user", false, "those in your home directory too")
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing, only say what would happen")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace agents that were edited here")
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

// importFrom are the programs that --from names.
func importFrom(given []string) ([]string, error) {
	formats := hocket.ImportFormats()
	var froms []string
	for _, name := range given {
		switch name = strings.TrimSpace(name); {
		case name == "all":
			return formats, nil
		case !slices.Contains(formats, name):
			return nil, usagef(orList(name, append(formats, "all")), "agents of %q cannot be imported", name)
		case !slices.Contains(froms, name):
			froms = append(froms, name)
		}
	}
	if len(froms) == 0 {
		return nil, usagef("--from is one or more of "+strings.Join(formats, ", ")+", or all", "import needs --from PROGRAM")
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
		hint := "`" + a.self("agents", "import", "--from", strings.Join(f.from, ","), "--user") + "` looks in your home directory too"
		if f.user {
			hint = "there are none in the project and none in your home directory"
		}
		return "no agents of " + strings.Join(f.from, ", ") + "; " + hint + "\n"
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
			detail("it was edited here, and its source has changed; --overwrite replaces it")
		case o.Action == hocket.ImportGone:
			detail("its source is gone; the agent stays")
		}
		for _, c := range o.Changes {
			detail(c.Key + ": " + shorten(c.Was) + " is now " + shorten(c.Is))
		}
		if o.Action != hocket.ImportUnchanged {
			for _, l := range o.Lost {
				detail("left out: " + l.Key + ": " + l.Reason)
			}
		}
	}
	if f.dryRun {
		b.WriteString("\nNothing was written: this was a dry run.\n")
	}
	return b.String()
}

// shorten is a value in a sentence.
func shorten(text string) string {
	const most = 60
	if text == "" {
		return "nothing"
	}
	return agent.OneLine(text, most)
}
