package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/workflow"
)

// shells are the shells for which cobra can generate completion.
var shells = []struct {
	name  string
	write func(root *cobra.Command, w io.Writer) error
}{
	{"bash", bashCompletion},
	{"zsh", func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	{"powershell", func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }},
}

// bashCompletion writes cobra's script, changed to keep words with an @ together, as it
// does words with a colon: bash would split them, and ids of questions contain an @.
func bashCompletion(root *cobra.Command, w io.Writer) error {
	var script strings.Builder
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	const colon = `_handle_special_char "$cur" :`
	at := strings.TrimSuffix(colon, ":") + "@"
	taught := strings.NewReplacer("_init_completion -n =:", "_init_completion -n =:@", colon, colon+"\n    __"+root.Name()+at)
	_, err := taught.WriteString(w, script.String())
	return err
}

func (a *app) completionVerb() *cobra.Command {
	names := make([]string, len(shells))
	for i, s := range shells {
		names[i] = s.name
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Generate shell completion for bash, zsh, fish or powershell",
		Long: `Generate a script that makes a shell complete the commands and flags of hocket, the
workflows of the project and the ids of its runs.`,
		Example: `  # Bash, for the current session
  source <(hocket completion bash)

  # Zsh, for every new session
  hocket completion zsh > "${fpath[1]}/_hocket"

  # Fish, for every new session
  hocket completion fish > ~/.config/fish/completions/hocket.fish`,
		Args:      argsBetween(1, 1),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells {
				if s.name == args[0] {
					return s.write(cmd.Root(), a.std.Out)
				}
			}
			hint := "expected one of: " + strings.Join(names, ", ")
			if near := workflow.DidYouMean(args[0], names); near != "" {
				hint = near + " " + hint
			}
			return usagef(hint, "no completion for the shell %q", args[0])
		},
	}
}

// complete sets the completion of a flag's value. It cannot fail, as the flag exists.
func complete(cmd *cobra.Command, flag string, offer cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic(fmt.Sprintf("cli: completion of --%s of %s: %v", flag, cmd.Name(), err))
	}
}

// completeWorkflow offers the names of the project's workflows, and leaves files
// to the shell.
func (a *app) completeWorkflow(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	p, err := a.openProject()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return typeable(p.Workflows()), cobra.ShellCompDirectiveDefault
}

// typeable are the names without control characters: a shell shows them as they are.
func typeable(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.ContainsFunc(name, unicode.IsControl) })
}

// completeRun completes the ids of runs, described by their status and time.
func (a *app) completeRun(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeRunThat(cmd, args, func(hocket.Info) bool { return true })
}

// completeRunThat completes the runs for which wanted returns true.
func (a *app) completeRunThat(cmd *cobra.Command, args []string, wanted func(hocket.Info) bool) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p, err := a.openProject()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	runs, err := p.Runs(cmd.Context(), hocket.Filter{Limit: 50})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, r := range runs {
		if wanted(r) {
			list = append(list, r.ID+"\t"+string(r.Shown())+", "+r.Created.Local().Format(time.DateTime))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeRunThenAddress completes runs, and then the addresses of the run's steps.
func (a *app) completeRunThenAddress(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.completeRun(cmd, args, typed)
	}
	return a.addresses(cmd.Context(), args[0], func(s *hocket.State) []string {
		var list []string
		for _, step := range s.Result.Steps {
			list = append(list, step.Address)
		}
		return list
	})
}

// addresses completes what choose returns for a run.
func (a *app) addresses(ctx context.Context, id string, choose func(s *hocket.State) []string) ([]string, cobra.ShellCompDirective) {
	var list []string
	err := a.withRun(ctx, id, func(r *hocket.Run) error {
		s, err := r.State(ctx)
		if err == nil {
			list = choose(s)
		}
		return err
	})
	if err != nil {
		list = nil
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
