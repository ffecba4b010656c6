package cli

import "github.com/spf13/cobra"

// withVerbs gives a verb further verbs below it. What it does by itself stays.
func withVerbs(verb *cobra.Command, below ...*cobra.Command) *cobra.Command {
	verb.Args = unknownVerb
	for _, v := range below {
		v.Flags().SortFlags = false
		v.DisableFlagsInUseLine = true
		verb.AddCommand(v)
	}
	return verb
}
