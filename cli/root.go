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

// chapter is a part of the help: verbs that belong together.
type chapter struct {
	title string
	verbs []*cobra.Command
}

func (a *app) chapters() []chapter {
	return []chapter{
		{"Run workflows", []*cobra.Command{a.runVerb(), a.taskVerb(), a.resumeVerb(), a.retryVerb(), a.forkVerb()}},
		{"Look at runs", []*cobra.Command{a.runsVerb(), a.showVerb(), a.logsVerb(), a.eventsVerb()}},
		{"Act on runs", []*cobra.Command{a.answerVerb(), a.cancelVerb(), a.raiseVerb(), a.gcVerb()}},
		{"Work on workflow files", []*cobra.Command{a.checkVerb(), a.convertVerb(), a.fmtVerb(), a.graphVerb(), a.planVerb(), a.digestVerb(), a.schemaVerb()}},
		{"Work with agents", []*cobra.Command{a.agentsVerb(), a.toolsVerb(), a.mcpVerb(), a.sessionsVerb(), a.memoryVerb()}},
		{"Set up", []*cobra.Command{a.initVerb(), a.trustVerb(), a.doctorVerb(), a.adoptVerb(), a.completionVerb(), a.versionVerb()}},
	}
}

// command is the whole tree of verbs.
func (a *app) command() *cobra.Command {
	var asked bool // for the version
	root := &cobra.Command{
		Use:   "hocket VERB [ARGUMENTS] [FLAGS]",
		Short: "run agent workflows, durably",
		Long: `Hocket runs workflows of agents, tools and people. Every step is recorded
before it counts, so a run that is cut off goes on where it was.`,
		Example: `  # make a project with a workflow that runs at once
  hocket init && hocket run hello

  # see what a run would do at most, and what is wrong with a file
  hocket plan review.yml
  hocket check review.yml

  # go on after a crash
  hocket runs
  hocket resume review-3k7q

  # delete a run that is over
  hocket runs delete review-3k7q`,
		Args: unknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked {
				return a.version()
			}
			return cmd.Help()
		},
		SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVarP(&a.dir, "directory", "C", "", "work as if started in `DIR`")
	flags.StringVar(&a.state, "state", "", "keep runs in `DIR` (default: the user's state directory)")
	flags.BoolVar(&a.json, "json", false, "print facts as JSON")
	root.Flags().BoolVar(&asked, "version", false, "print the version")
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
		Use:   "help [VERB]",
		Short: "say what a verb does",
		Long:  "Say what a verb does, with examples; without one, list the verbs.",
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
		names = append(names, verb.Name())
	}
	hint := workflow.DidYouMean(args[0], names)
	switch {
	case hint != "":
	case cmd.HasParent():
		hint = cmd.Name() + " has " + strings.Join(names, ", ")
	default:
		hint = "`hocket help` lists the verbs"
	}
	return usagef(hint, "unknown verb %q", args[0])
}

// flagError names the nearest flag for one that is not known.
func flagError(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("`%s --help` lists the flags", cmd.CommandPath())
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		if near := nearestFlag(name, flagNames(cmd)); near != "" {
			hint = fmt.Sprintf("did you mean --%s?", near)
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		flag := invalid.GetFlag()
		if wanted := flagValues[flag.Value.Type()]; wanted != "" {
			return usagef(hint, "--%s wants %s, not %q", flag.Name, wanted, invalid.GetValue())
		}
	}
	return usagef(hint, "%s", err)
}

// flagValues says what a flag wants, by its type.
var flagValues = map[string]string{
	"bool": "true or false", "duration": "a time such as 90s or 2h", "float64": "a number", "int": "a whole number", "int64": "a whole number",
}

// nearestFlag is the flag that was meant: one that begins so, else the nearest.
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

// help prints what a verb does, with examples before flags.
func (a *app) help(cmd *cobra.Command, chapters []chapter) {
	head := func(s string) string { return a.outStyle.Paint(view.Bold, s) + "\n" }
	width := cmp.Or(a.outStyle.Width, 80)
	style := view.Style{Width: width}
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + "."
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
		b.WriteString("\n" + head("Verbs"))
		for _, verb := range cmd.Commands() {
			fmt.Fprintf(&b, "  %-11s %s\n", verb.Name(), verb.Short)
		}
	}
	if cmd.Example != "" {
		b.WriteString("\n" + head("Examples") + cmd.Example + "\n")
	}
	if cmd.HasAvailableLocalFlags() && cmd.HasParent() {
		flags := cmd.LocalNonPersistentFlags()
		flags.SortFlags = false // they stand in the order of their use
		b.WriteString("\n" + head("Flags") + flags.FlagUsagesWrapped(width))
	}
	b.WriteString("\n" + head("Flags of every verb") + cmd.Root().PersistentFlags().FlagUsagesWrapped(width))
	if !cmd.HasParent() {
		b.WriteString("\n`hocket help VERB` says more about one of them.\n")
	}
	_ = a.print(b.String()) // nobody is left to tell
}
