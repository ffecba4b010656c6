package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
)

func (a *app) memoryVerb() *cobra.Command {
	return withVerbs(&cobra.Command{
		Use:   "memory [VERB]",
		Short: "what agents are reminded of, for this project",
		Long: `Keep what agents should know about this project. For every task Hocket looks for
memories that have words in common with it, and tells the best of them to the
agent, marked as material that it need not trust. By itself it lists the newest.`,
		Example: `  hocket memory add 'The staging server listens on port 8443.' --tag infra
  hocket memory search 'which port does staging use?'
  hocket memory list --tag infra
  hocket memory delete 17`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.listMemories(cmd.Context(), defaultList, nil)
		},
	}, a.memoryAddVerb(), a.memorySearchVerb(), a.memoryListVerb(), a.memoryDeleteVerb())
}

// defaultList is how many memories are listed where nobody says how many.
const defaultList = 20

func (a *app) memoryAddVerb() *cobra.Command {
	var tags []string
	var source string
	cmd := &cobra.Command{
		Use:   "add TEXT [FLAGS]",
		Short: "remember a text",
		Long:  "Remember a text; - reads it from standard input. Its number is printed.",
		Example: `  hocket memory add 'Integration tests are flaky on Fridays.'
  hocket memory add - --tag design --tag api --source notes.md < notes.md`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.addMemory(cmd.Context(), args[0], tags, source)
		},
	}
	cmd.Flags().StringArrayVarP(&tags, "tag", "t", nil, "give it a `TAG`; may be repeated")
	cmd.Flags().StringVar(&source, "source", "", "say where it is from, in a `TEXT`")
	return cmd
}

func (a *app) addMemory(ctx context.Context, text string, tags []string, source string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if text == stdin {
		read, err := a.readStdin()
		if err != nil {
			return err
		}
		text = string(read)
	}
	m, err := p.AddMemory(ctx, text, tags, source)
	if err != nil {
		return memoryUsage(err)
	}
	if a.json {
		return a.printJSON(m)
	}
	return a.print(fmt.Sprintf("remembered as %d\n", m.ID))
}

// memoryUsage makes what is wrong with a memory a mistake of the caller.
func memoryUsage(err error) error {
	var invalid *hocket.InvalidMemoryError
	var unknown *hocket.UnknownMemoryError
	switch {
	case errors.As(err, &invalid):
		return usagef(invalid.Hint, "%s", invalid.Problem)
	case errors.As(err, &unknown):
		return usagef("`hocket memory list` shows the numbers", "%v", err)
	}
	return err
}

func (a *app) memorySearchVerb() *cobra.Command {
	var tags []string
	var limit int
	cmd := &cobra.Command{
		Use:   "search QUERY [FLAGS]",
		Short: "find memories by their words",
		Long: `Find the memories that have most in common with a text, the best first. The text
has no syntax: a few words, or a whole task, as an agent would get it.`,
		Example: `  hocket memory search 'flaky tests'
  hocket memory search "$(cat task.md)" --limit 3 --json`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usagef("leave it out for 10", "--limit must be at least 1")
			}
			return a.searchMemories(cmd.Context(), args[0], limit, tags)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 10, "find at most `N`")
	cmd.Flags().StringArrayVarP(&tags, "tag", "t", nil, "only those with this `TAG`; may be repeated")
	return cmd
}

func (a *app) searchMemories(ctx context.Context, query string, limit int, tags []string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	found, err := p.SearchMemories(ctx, query, limit, tags)
	switch {
	case err != nil:
		return memoryUsage(err)
	case a.json:
		return a.printJSON(append([]hocket.Remembered{}, found...))
	case len(found) == 0:
		a.note("nothing that is remembered has a word of it\n")
		return nil
	}
	all := make([]hocket.Memory, len(found))
	for i, f := range found {
		all[i] = f.Memory
	}
	return a.print(memoryTable(all).Draw(a.outStyle))
}

func (a *app) memoryListVerb() *cobra.Command {
	var tags []string
	var limit int
	var all bool
	cmd := &cobra.Command{
		Use:   "list [FLAGS]",
		Short: "list memories, the newest first",
		Example: `  hocket memory list
  hocket memory list --tag infra --all --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				limit = 0
			} else if limit < 1 {
				return usagef("--all lists them all", "--limit must be at least 1")
			}
			return a.listMemories(cmd.Context(), limit, tags)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", defaultList, "list at most `N`")
	cmd.Flags().BoolVar(&all, "all", false, "list all")
	cmd.Flags().StringArrayVarP(&tags, "tag", "t", nil, "only those with this `TAG`; may be repeated")
	return cmd
}

func (a *app) listMemories(ctx context.Context, limit int, tags []string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	all, err := p.Memories(ctx, limit, tags)
	switch {
	case err != nil:
		return memoryUsage(err)
	case a.json:
		return a.printJSON(append([]hocket.Memory{}, all...))
	case len(all) == 0 && len(tags) > 0:
		a.note("nothing that is remembered has the tag " + view.Line(strings.Join(tags, " and the tag ")) + "\n")
		return nil
	case len(all) == 0:
		a.note("nothing is remembered yet; `hocket memory add TEXT` does it\n")
		return nil
	}
	return a.print(memoryTable(all).Draw(a.outStyle))
}

func (a *app) memoryDeleteVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID",
		Short: "delete a memory",
		Long:  "Delete a memory, by the number that list and search show.",
		Example: `  hocket memory delete 17
  hocket memory list --tag old --all --json | jq '.[].id' | xargs -n1 hocket memory delete`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usagef("`hocket memory list` shows the numbers", "%q is not the number of a memory", args[0])
			}
			return a.deleteMemory(cmd.Context(), id)
		},
	}
}

func (a *app) deleteMemory(ctx context.Context, id int64) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if err := p.DeleteMemory(ctx, id); err != nil {
		return memoryUsage(err)
	}
	if a.json {
		return a.printJSON(map[string]any{"deleted": id})
	}
	return a.print(fmt.Sprintf("forgot %d\n", id))
}

func memoryTable(all []hocket.Memory) *view.Table {
	t := &view.Table{Head: []string{"ID", "ADDED", "TAGS", "SOURCE", "TEXT"}, Right: []bool{true}}
	for _, m := range all {
		t.Row(view.Cell{Text: strconv.FormatInt(m.ID, 10)}, view.Cell{Text: m.Created.Local().Format(time.DateTime), Paint: view.Dim},
			view.Cell{Text: strings.Join(m.Tags, " ")}, view.Cell{Text: m.Source, Paint: view.Dim}, view.Cell{Text: m.Text})
	}
	return t
}
