package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/importer"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/project"
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
` + strings.Join(importer.Formats(), ", ") + `. What cannot be carried over is listed.
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
		return append(importer.Formats(), "all"), cobra.ShellCompDirectiveNoFileComp
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
	found, err := findAgents(p, froms, f.user)
	if err != nil {
		return err
	}
	list, err := importer.Import(found, froms, importer.Options{
		Dir: agentsDir(p), Agents: ownAgents(p.Agents), Executors: p.Agents.Executors(),
		Now: time.Now(), User: f.user, Overwrite: f.overwrite, DryRun: f.dryRun,
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(importLines(list))
	}
	return a.print(a.drawImport(list, f))
}

// importFrom are the programs that --from names.
func importFrom(given []string) ([]string, error) {
	formats := importer.Formats()
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

func findAgents(p *project.Project, froms []string, user bool) ([]importer.Found, error) {
	root, err := os.OpenRoot(p.Root) // a link that leads out of the project is not followed
	if err != nil {
		return nil, err
	}
	defer root.Close()
	places := []importer.Place{{FS: root.FS()}}
	if home, err := os.UserHomeDir(); user && err == nil && filepath.Clean(home) != p.Root {
		places = append(places, importer.Place{FS: os.DirFS(home), User: true})
	} else if user && err != nil {
		return nil, usagef("set HOME, or leave --user out", "there is no home directory")
	}
	var all []importer.Found
	for _, from := range froms {
		for _, place := range places {
			found, err := importer.Find(from, place, importTarget(p))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// importTarget is what executors understand, and the project has.
func importTarget(p *project.Project) importer.Target {
	set := p.Agents
	return importer.Target{
		Serves: func(name string) bool {
			return slices.ContainsFunc(p.Config.Servers, func(s project.Server) bool { return s.Name == name })
		},
		Ignored: func(d *agent.Definition) []string {
			var keys []string
			for _, problem := range set.Ignored(d) {
				keys = append(keys, problem.Path[0])
			}
			return keys
		},
		Knows: func(name string) bool { return slices.Contains(set.Executors(), name) },
		Takes: func(executor, setting string, value any) bool {
			problems := set.ValidateSettings(&agent.Definition{Agent: executor}, map[string]any{setting: value})
			return !slices.ContainsFunc(problems, func(p agent.Problem) bool { return len(p.Path) > 0 && p.Path[0] == setting })
		},
	}
}

func ownAgents(set *agent.Set) []*agent.Definition {
	return slices.DeleteFunc(set.Definitions(), func(d *agent.Definition) bool { return d.Builtin })
}

// importLine is one agent with --json.
type importLine struct {
	Action  importer.Action   `json:"action"`
	From    string            `json:"from"`
	File    string            `json:"file"`
	Name    string            `json:"name,omitempty"`
	Target  string            `json:"target,omitempty"`
	Edited  bool              `json:"edited"`
	Reason  string            `json:"reason,omitempty"`
	Lost    []importer.Lost   `json:"lost"`
	Changes []importer.Change `json:"changes"`
}

func importLines(list []importer.Outcome) []importLine {
	lines := make([]importLine, len(list))
	for i, o := range list {
		lines[i] = importLine{o.Action, o.From, o.File, o.Name, o.Target, o.Edited, o.Reason, append([]importer.Lost{}, o.Lost...), append([]importer.Change{}, o.Changes...)}
	}
	return lines
}

var importPaint = map[importer.Action]view.Paint{
	importer.Made: view.Green, importer.Updated: view.Green, importer.Unchanged: view.Dim,
	importer.Kept: view.Yellow, importer.Refused: view.Red, importer.Gone: view.Yellow,
}

func (a *app) drawImport(list []importer.Outcome, f *importFlags) string {
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
			line += " to " + a.nearFile(o.Target)
		}
		b.WriteString(a.outStyle.Paint(importPaint[o.Action], view.Pad(string(o.Action), 9)) + "  " + view.Line(line) + "\n")
		detail := func(text string) { b.WriteString(strings.Repeat(" ", 11) + view.Line(text) + "\n") }
		switch {
		case o.Action == importer.Refused:
			detail(o.Reason)
		case o.Action == importer.Kept:
			detail("it was edited here, and its source has changed; --overwrite replaces it")
		case o.Action == importer.Gone:
			detail("its source is gone; the agent stays")
		}
		for _, c := range o.Changes {
			detail(c.Key + ": " + shorten(c.Was) + " is now " + shorten(c.Is))
		}
		if o.Action != importer.Unchanged {
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
