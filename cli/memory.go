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
		Use:   "memory [COMMAND]",
		Short: "Manage what agents should remember",
		Long: `Store what agents should know about this project. For every task, Hocket searches
the memories for words of the task, and adds the best matches to the prompt, marked
as untrusted material. Without a subcommand, list the newest memories.`,
		Example: `  hocket memory add 'The staging server listens on port 8443.' --tag infra
  hocket memory search 'which port does staging use?'
  hocket memory list --tag infra
  hocket memory delete 17`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.listMemories(cmd.Context(), defaultList, nil)
		},
	}, a.memoryAddVerb(), a.memorySearchVerb(), a.memoryListVerb(), a.memoryDeleteVerb())
}

// defaultList is how many memories are listed by default.
const defaultList = 20

func (a *app) memoryAddVerb() *cobra.Command {
	var tags []string
	var source string
	cmd := &cobra.Command{
		Use:   "add TEXT [FLAGS]",
		Short: "Add a memory",
		Long:  "Add a memory and print its id. Use - to read the text from standard input.",
		Example: `  hocket memory add 'Integration tests are flaky on Fridays.'
  hocket memory add - --tag design --tag api --source notes.md < notes.md`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.addMemory(cmd.Context(), args[0], tags, source)
		},
	}
	cmd.Flags().StringArrayVarP(&tags, "tag", "t", nil, "add a `TAG`; can be repeated")
	cmd.Flags().StringVar(&source, "source", "", "a `TEXT` that says where it comes from")
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
	return a.print(fmt.Sprintf("added memory %d\n", m.ID))
}

// memoryUsage turns an invalid or unknown memory into a usage error.
func memoryUsage(err error) error {
	var invalid *hocket.InvalidMemoryError
	var unknown *hocket.UnknownMemoryError
	switch {
	case errors.As(err, &invalid):
		return usagef(invalid.Hint, "%s", invalid.Problem)
	case errors.As(err, &unknown):
		return usagef("run `hocket memory list` to list the ids", "%v", err)
	}
	return err
}

func (a *app) memorySearchVerb() *cobra.Command {
	var tags []string
	var limit int
	cmd := &cobra.Command{
		Use:   "search QUERY [FLAGS]",
		Short: "Search memories",
		Long: `Search for memories that have words in common with a text, best match first. The
query is plain text: a few words, or a complete task as an agent would get it.`,
		Example: `  hocket memory search 'flaky tests'
  hocket memory search "$(cat task.md)" --limit 3 --json`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usagef("omit the flag for the default of 10", "invalid --limit %d: expected at least 1", limit)
			}
			return a.searchMemories(cmd.Context(), args[0], limit, tags)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 10, "show at most `N` matches")
	cmd.Flags().StringArrayVarP(&tags, "tag", "t", nil, "only memories with this `TAG`; can be repeated")
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
		a.note("no matching memories\n")
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
		Short: "List memories, newest first",
		Example: `  hocket memory list
  hocket memory list --tag infra --all --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				limit = 0
			} else if limit < 1 {
				return usagef("use --all to list all of them", "invalid --limit %d: expected at least 1", limit)
			}
			return a.listMemories(cmd.Context(), limit, tags)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", defaultList, "list at most `N` memories")
	cmd.Flags().BoolVar(&all, "all", false, "list all memories")
	cmd.Flags().StringArrayVarP(&tags, "tag", "t", nil, "only memories with this `TAG`; can be repeated")
	return cmd
}

func (a *app) listMemories(ctx context.Context, limit int, tags []string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	all, err := p.Memories(ctx, 0, limit, tags)
	switch {
	case err != nil:
		return memoryUsage(err)
	case a.json:
		return a.printJSON(append([]hocket.Memory{}, all...))
	case len(all) == 0 && len(tags) > 0:
		a.note("no memories with the tag " + view.Line(strings.Join(tags, " and the tag ")) + "\n")
		return nil
	case len(all) == 0:
		a.note("no memories yet; add one with `hocket memory add TEXT`\n")
		return nil
	}
	return a.print(memoryTable(all).Draw(a.outStyle))
}

func (a *app) memoryDeleteVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a memory",
		Long:  "Delete a memory by its id, as list and search show it.",
		Example: `  hocket memory delete 17
  hocket memory list --tag old --all --json | jq '.[].id' | xargs -n1 hocket memory delete`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usagef("run `hocket memory list` to list the ids", "invalid memory id %q: expected a number", args[0])
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
	return a.print(fmt.Sprintf("deleted memory %d\n", id))
}

func memoryTable(all []hocket.Memory) *view.Table {
	t := &view.Table{Head: []string{"ID", "ADDED", "TAGS", "SOURCE", "TEXT"}, Right: []bool{true}}
	for _, m := range all {
		t.Row(view.Cell{Text: strconv.FormatInt(m.ID, 10)}, view.Cell{Text: m.Created.Local().Format(time.DateTime), Paint: view.Dim},
			view.Cell{Text: strings.Join(m.Tags, " ")}, view.Cell{Text: m.Source, Paint: view.Dim}, view.Cell{Text: m.Text})
	}
	return t
}
