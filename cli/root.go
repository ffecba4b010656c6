package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

// chapter is a group of related commands in the help.
type chapter struct {
	title string
	verbs []*cobra.Command
}

func (a *app) chapters() []chapter {
	return []chapter{
		{"Run workflows", []*cobra.Command{a.runVerb(), a.taskVerb(), a.resumeVerb(), a.retryVerb(), a.forkVerb()}},
		{"Inspect runs", []*cobra.Command{a.runsVerb(), a.showVerb(), a.logsVerb(), a.traceVerb(), a.eventsVerb(), a.diffVerb(), a.workspaceVerb()}},
		{"Manage runs", []*cobra.Command{a.answerVerb(), a.cancelVerb(), a.raiseVerb(), a.replanVerb(), a.gcVerb()}},
		{"Write workflows", []*cobra.Command{a.generateVerb(), a.checkVerb(), a.testVerb(), a.cassetteVerb(), a.convertVerb(), a.fmtVerb(), a.graphVerb(), a.planVerb(), a.digestVerb(), a.schemaVerb()}},
		{"Agents and tools", []*cobra.Command{a.agentsVerb(), a.toolsVerb(), a.mcpVerb(), a.handoffVerb(), a.sessionsVerb(), a.memoryVerb()}},
		{"Serve", []*cobra.Command{a.serveVerb(), a.openVerb(), a.notifyVerb(), a.workerVerb()}},
		{"Setup", []*cobra.Command{a.initVerb(), a.trustVerb(), a.approveVerb(), a.doctorVerb(), a.adoptVerb(), a.migrateVerb(), a.completionVerb(), a.versionVerb()}},
	}
}

// command builds the whole command tree.
func (a *app) command() *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "hocket COMMAND [ARGUMENTS] [FLAGS]",
		Short: "Run durable workflows of AI agents, tools and people",
		Long: `Hocket runs durable workflows of AI agents, tools and people: it records every
step, so that an interrupted run resumes where it stopped.`,
		Example: `  # Create a project with an example workflow, and run it
  hocket init && hocket run hello

  # Check a workflow, and show the most that a run of it could do
  hocket check review.yml
  hocket plan review.yml

  # Resume a run after a crash
  hocket runs
  hocket resume review-3k7q

  # Have one agent do one task
  hocket task "Find all REST endpoints" --agent claude`,
		Args: unknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return a.version()
			}
			return cmd.Help()
		},
		SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVarP(&a.dir, "directory", "C", "", "run as if started in `DIR`")
	flags.StringVar(&a.state, "state", "", "store runs in `DIR` (default: the user's state directory)")
	flags.BoolVar(&a.json, "json", false, "print results as JSON")
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	chapters := a.chapters()
	for _, c := range chapters {
		for _, verb := range c.verbs {
			verb.Flags().SortFlags = false
			verb.DisableFlagsInUseLine = true
			root.AddCommand(verb)
		}
	}
	root.AddCommand(a.manVerb())
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show help for a command",
		Long:  "Show help for a command, with examples. Without a command, list all commands.",
		Args:  argsBetween(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownVerb(root, args)
			}
			return verb.Help()
		},
	})
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.help(cmd, chapters) })
	return root
}

func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, verb := range cmd.Commands() {
		if !verb.Hidden {
			names = append(names, verb.Name())
		}
	}
	hint := workflow.DidYouMean(args[0], names)
	switch {
	case hint != "":
	case cmd.HasParent():
		hint = "expected one of: " + strings.Join(names, ", ")
	default:
		hint = "run `hocket help` for a list of commands"
	}
	return usagef(hint, "unknown command %q", args[0])
}

// flagError suggests the nearest flag for an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("run `%s --help` for a list of flags", cmd.CommandPath())
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		if near := nearestFlag(name, flagNames(cmd)); near != "" {
			hint = fmt.Sprintf("did you mean --%s?", near)
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		flag := invalid.GetFlag()
		if wanted := flagValues[flag.Value.Type()]; wanted != "" {
			return usagef(hint, "invalid --%s %q: expected %s", flag.Name, invalid.GetValue(), wanted)
		}
	}
	return usagef(hint, "%s", err)
}

// flagValues describes the values that a flag accepts, by its type.
var flagValues = map[string]string{
	"bool": "true or false", "duration": "a duration such as 90s or 2h", "float64": "a number", "int": "an integer", "int64": "an integer",
}

// nearestFlag returns the flag that was probably meant: one with this prefix, otherwise the
// one with the nearest spelling.
func nearestFlag(name string, flags []string) string {
	name, _, _ = strings.Cut(name, "=")
	for _, f := range flags {
		if strings.HasPrefix(f, name) {
			return f
		}
	}
	return workflow.Nearest(name, flags)
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	collect := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.Flags().VisitAll(collect)
	cmd.InheritedFlags().VisitAll(collect)
	return names
}

// help prints the help of a command, with examples before flags.
func (a *app) help(cmd *cobra.Command, chapters []chapter) {
	head := func(s string) string { return a.outStyle.Paint(view.Bold, s) + "\n" }
	width := cmp.Or(a.outStyle.Width, 80)
	style := view.Style{Width: width}
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	for _, p := range paragraphs(about) {
		if !p.indented {
			p.text = strings.Join(style.Wrap(strings.ReplaceAll(p.text, "\n", " "), 0), "\n")
		}
		b.WriteString(p.text + "\n\n")
	}
	b.WriteString(head("Usage") + "  " + cmd.UseLine() + "\n")
	if !cmd.HasParent() {
		for _, c := range chapters {
			b.WriteString("\n" + head(c.title))
			for _, verb := range c.verbs {
				fmt.Fprintf(&b, "  %-11s %s\n", verb.Name(), verb.Short)
			}
		}
	}
	if cmd.HasParent() && cmd.HasAvailableSubCommands() {
		b.WriteString("\n" + head("Commands"))
		for _, verb := range cmd.Commands() {
			if !verb.Hidden {
				fmt.Fprintf(&b, "  %-11s %s\n", verb.Name(), verb.Short)
			}
		}
	}
	if cmd.Example != "" {
		b.WriteString("\n" + head("Examples") + cmd.Example + "\n")
	}
	if cmd.HasAvailableLocalFlags() && cmd.HasParent() {
		flags := cmd.LocalNonPersistentFlags()
		flags.SortFlags = false // the most useful ones come first
		b.WriteString("\n" + head("Flags") + flags.FlagUsagesWrapped(width))
	}
	b.WriteString("\n" + head("Global flags") + cmd.Root().PersistentFlags().FlagUsagesWrapped(width))
	if !cmd.HasParent() {
		b.WriteString("\nRun `hocket help COMMAND` for more about a command.\n")
	}
	_ = a.print(b.String()) // there is no way to report a failure
}
