package cli

import "github.com/spf13/cobra"

// withVerbs adds subcommands to a command. Without one of them, the command still does
// its own work.
func withVerbs(parent *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	parent.Args = unknownVerb
	for _, v := range verbs {
		v.Flags().SortFlags = false
		v.DisableFlagsInUseLine = true
		parent.AddCommand(v)
	}
	return parent
}
