package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
)

// maxDiff is how much of a diff is printed.
const maxDiff = 64 << 20

func (a *app) diffVerb() *cobra.Command {
	var made hocket.Made
	var files bool
	cmd := &cobra.Command{
		Use:   "diff RUN [ADDRESS] [FLAGS]",
		Short: "Show what a step has changed in its workspace",
		Long: `Show what a step with its own workspace has changed. Without ADDRESS, show everything
that has led to the last workspace of the run. With --attempt, show what an attempt has
left, even if it failed. An attempt that is interrupted is made again with the same
number; --interruption shows what it had left before.

The diff of a run can be applied at the top of the repository, where its paths begin. That
of a step fits only the files that the step began with; after a conflict in a merge, these
have its markers.`,
		Example: `  hocket diff improve-3k7q
  hocket diff improve-3k7q coder --attempt 1
  hocket diff improve-3k7q | git apply`,
		Args:              argsBetween(1, 2),
		ValidArgsFunction: a.completeRunThenAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				made.Address = args[1]
			}
			if made.Attempt > 0 && made.Address == "" {
				return usagef("for example: hocket diff "+args[0]+" coder --attempt 1", "--attempt needs the address of a step, and a number from 1")
			}
			if err := checkMade(cmd, made); err != nil {
				return err
			}
			return a.withRun(cmd.Context(), args[0], func(r *hocket.Run) error {
				d, err := r.Diff(cmd.Context(), made, maxDiff)
				if err != nil {
					return a.noWorkspace(cmd.Context(), r, err, "diff")
				}
				if err := a.noteInterruptions(cmd.Context(), r, made); err != nil {
					return err
				}
				if err := a.printDiff(d, files); err != nil || made.Address != "" {
					return err
				}
				return a.noteUnmerged(cmd.Context(), r)
			})
		},
	}
	madeFlags(cmd, &made, "show")
	cmd.Flags().BoolVar(&files, "files", false, "list only the files")
	return cmd
}

// madeFlags adds the flags that choose an attempt.
func madeFlags(cmd *cobra.Command, made *hocket.Made, do string) {
	cmd.Flags().IntVar(&made.Attempt, "attempt", 0, do+" what attempt `N` of the step has left")
	cmd.Flags().IntVar(&made.Interruption, "interruption", 0, "with --attempt, "+do+" what it had left when it was interrupted for the `N`th time")
}

func checkMade(cmd *cobra.Command, made hocket.Made) error {
	if cmd.Flags().Changed("attempt") && made.Attempt < 1 {
		return usagef("for example: --attempt 1", "invalid --attempt %d: attempts are counted from 1", made.Attempt)
	}
	if made.Interruption < 0 || made.Interruption > 0 && made.Attempt == 0 {
		return usagef("for example: --attempt 1 --interruption 1", "--interruption needs --attempt, and a number from 1")
	}
	return nil
}

// noteInterruptions says that an attempt left more than what is shown.
func (a *app) noteInterruptions(ctx context.Context, r *hocket.Run, made hocket.Made) error {
	if made.Attempt == 0 || made.Interruption > 0 {
		return nil
	}
	n, err := r.Interruptions(ctx, made.Address, made.Attempt)
	if n > 0 {
		a.note(fmt.Sprintf("attempt %d was interrupted; to see what it had left before:\n  %s\n", made.Attempt, a.self("diff", r.ID(), made.Address, "--attempt", fmt.Sprint(made.Attempt), "--interruption", fmt.Sprint(n))))
	}
	return err
}

// noteUnmerged says that the run has more changes than what is shown.
func (a *app) noteUnmerged(ctx context.Context, r *hocket.Run) error {
	const most = 10
	last, others, err := r.Unmerged(ctx)
	if len(others) == 0 {
		return err
	}
	b := strings.Builder{}
	fmt.Fprintf(&b, "this is only what led to the workspace of %s; others were not merged with it:\n", view.Line(last))
	for _, address := range others[:min(len(others), most)] {
		b.WriteString("  " + a.self("diff", r.ID(), address) + "\n")
	}
	if len(others) > most {
		fmt.Fprintf(&b, "  … and %d more\n", len(others)-most)
	}
	a.note(b.String())
	return err
}

// noWorkspace explains that there is nothing to show or to open, and which commands would: those begin with verb.
func (a *app) noWorkspace(ctx context.Context, r *hocket.Run, err error, verb ...string) error {
	var none *hocket.NoWorkspaceError
	if !errors.As(err, &none) {
		return err
	}
	show := "see which steps ran with `" + a.self("show", r.ID()) + "`"
	try := func(words ...string) string {
		return "`" + a.self(slices.Concat(verb, []string{r.ID()}, words)...) + "`"
	}
	state, wrong := r.State(ctx)
	if wrong != nil {
		return wrong
	}
	var made, items, without []string // the steps that have one, and the items of this one that have one and that have none
	var step *engine.StepResult
	for i, s := range state.Result.Steps {
		if s.Address == none.Address {
			step = &state.Result.Steps[i]
		}
		item := strings.HasPrefix(s.Address, none.Address+"[")
		if s.Workspace != "" {
			made = append(made, s.Address)
			if item {
				items = append(items, s.Address)
			}
		} else if item && s.Attempts > 0 {
			without = append(without, s.Address)
		}
	}
	hint := "a step has one with `workspace: own`; " + show
	if len(made) > 0 {
		hint = "for one of another step, run for example " + try(made[len(made)-1]) + "; " + show
	}
	switch {
	case none.Address == "":
		return usagef(hint, "%v", err)
	case len(items) > 0:
		return usagef("for example: "+strings.Trim(try(items[0]), "`"), "%s has several workspaces: %s", none.Address, strings.Join(items, ", "))
	case step == nil && len(without) > 0:
		return usagef("what one of them left: "+try(without[0], "--attempt", "1"), "no item of %s has ended with a workspace", none.Address)
	case step == nil:
		return usagef(show, "no step %q has run in %s", none.Address, r.ID())
	case step.Status != engine.Success && step.Attempts > 0 && none.Attempt == 0:
		for n := step.Attempts; n > 0; n-- { // a merge that nobody could resolve has left nothing
			if _, err := r.Diff(ctx, hocket.Made{Address: none.Address, Attempt: n}, 0); err == nil {
				hint = fmt.Sprintf("see why with `%s`, and what attempt %d left with %s", a.self("show", r.ID()), n, try(none.Address, "--attempt", fmt.Sprint(n)))
				break
			}
		}
		why := "has not ended"
		switch {
		case step.Status == engine.Failed:
			why = "failed"
		case step.Status == engine.Cancelled:
			why = "was cancelled"
		case step.Status.Done():
			why = "ended with " + string(step.Status)
		}
		return usagef(hint, "step %s of run %s %s, so it has made no workspace", none.Address, r.ID(), why)
	}
	return usagef(hint, "%v", err)
}

// diffFile is a file of a diff with --json.
type diffFile struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"`
	Status  string `json:"status"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Binary  bool   `json:"binary,omitempty"`
}

func (a *app) printDiff(d hocket.Diff, files bool) error {
	if a.json {
		list := make([]diffFile, len(d.Files))
		for i, f := range d.Files {
			list[i] = diffFile{f.Path, f.From, string(f.Status), f.Added, f.Removed, f.Binary}
		}
		return a.printJSON(map[string]any{"digest": d.Digest, "files": list, "patch": d.Patch, "truncated": d.Truncated})
	}
	if len(d.Files) == 0 {
		a.note("nothing was changed\n")
		return nil
	}
	if files {
		t := &view.Table{Head: []string{"STATUS", "FILE", "+", "−"}, Right: []bool{2: true, 3: true}}
		for _, f := range d.Files {
			added, removed := fmt.Sprint(f.Added), fmt.Sprint(f.Removed)
			if f.Binary {
				added, removed = "binary", ""
			}
			t.Row(view.Cell{Text: string(f.Status)}, view.Cell{Text: f.Path}, view.Cell{Text: added, Paint: view.Green}, view.Cell{Text: removed, Paint: view.Red})
		}
		return a.print(t.Draw(a.outStyle))
	}
	if d.Truncated {
		a.note("the diff is longer than what is shown\n")
	}
	return a.print(paintDiff(a.outStyle, d.Patch))
}

// paintDiff colours a diff as git does. In a terminal, it shows what would control that, or hide text, as escapes: agents
// decide what is in files. Elsewhere the diff is unchanged, so that git apply accepts it.
func paintDiff(style view.Style, patch string) string {
	if style.Width == 0 {
		return patch
	}
	var b strings.Builder
	paint := view.DiffPaint()
	for line := range strings.Lines(patch) {
		text := strings.TrimSuffix(line, "\n")
		b.WriteString(style.Paint(paint(text), view.RevealLine(text)) + line[len(text):])
	}
	return b.String()
}

func (a *app) workspaceVerb() *cobra.Command {
	return withVerbs(&cobra.Command{
		Use:   "workspace COMMAND",
		Short: "List, open and remove workspaces of steps",
		Long: `Steps with "workspace: own" work in directories of their own. What they have made is
recorded, so a directory is only needed while a step works, or for looking at it.`,
		Example: `  hocket workspace list
  cd "$(hocket workspace open improve-3k7q coder)"
  hocket workspace rm improve-3k7q`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}, a.workspaceListVerb(), a.workspaceOpenVerb(), a.workspaceRemoveVerb())
}

// workspaceLine is one workspace with --json.
type workspaceLine struct {
	Run       string    `json:"run_id"`
	Address   string    `json:"address"`
	Attempt   int       `json:"attempt"`
	Directory string    `json:"directory"`
	InUse     bool      `json:"in_use"`
	Recorded  bool      `json:"recorded"`
	Opened    bool      `json:"opened,omitempty"` // a copy, by `hocket workspace open`
	Left      []string  `json:"left,omitempty"`   // what is recorded nowhere
	Bytes     int64     `json:"bytes"`
	Created   time.Time `json:"created_at"`
	Problem   string    `json:"problem,omitempty"`
}

func (a *app) workspaceListVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the directories of workspaces",
		Args:  argsBetween(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.openProject()
			if err != nil {
				return err
			}
			all, err := p.Workspaces(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				lines := make([]workspaceLine, len(all))
				for i, w := range all {
					lines[i] = workspaceLine{w.Run, w.Address, w.Number, w.Dir, w.InUse, isRecorded(w), w.Opened, w.Left, w.Size, w.Created, w.Problem}
				}
				return a.printJSON(lines)
			}
			if len(all) == 0 {
				a.note("no directories of workspaces; they are removed when a run ends, and `hocket diff RUN` shows what its steps have made\n")
				return nil
			}
			t := &view.Table{Head: []string{"RUN", "STEP", "ATTEMPT", "STATUS", "SIZE", "DIRECTORY"}, Right: []bool{2: true, 4: true}, Whole: true}
			var problems []string
			for _, w := range all {
				status := view.Cell{Text: "recorded", Paint: view.Dim}
				switch {
				case w.Problem != "":
					status = view.Cell{Text: "damaged", Paint: view.Yellow}
					problems = append(problems, view.Line(w.Problem)+"; remove "+view.Line(w.Dir)+" if you need nothing in it\n")
				case w.InUse:
					status = view.Cell{Text: "in use", Paint: view.Green}
				case w.Opened && w.Edited:
					status = view.Cell{Text: "opened, edited", Paint: view.Yellow}
				case w.Opened:
					status = view.Cell{Text: "opened", Paint: view.Dim}
				case w.Captured == "":
					status = view.Cell{Text: "not recorded", Paint: view.Yellow}
				case len(w.Left) > 0:
					status = view.Cell{Text: "partly recorded", Paint: view.Yellow}
				}
				for _, dir := range w.Left {
					problems = append(problems, view.Line(dir)+", beside the workspace of "+view.Line(w.Address)+", is recorded nowhere; remove it if you do not need it\n")
				}
				t.Row(view.Cell{Text: w.Run}, view.Cell{Text: w.Address}, view.Cell{Text: fmt.Sprint(w.Number)}, status, view.Cell{Text: view.Bytes(uint64(w.Size))}, view.Cell{Text: w.Dir, Paint: view.Dim})
			}
			for _, p := range problems {
				a.note(p)
			}
			return a.print(t.Draw(a.outStyle))
		},
	}
}

// isRecorded reports whether nothing is lost if a directory is removed.
func isRecorded(w hocket.Workspace) bool {
	if w.Opened {
		return !w.Edited && w.Problem == ""
	}
	return w.Captured != "" && len(w.Left) == 0
}

// whyKept says why a directory was not removed.
func whyKept(w hocket.Workspace) string {
	switch {
	case w.Problem != "":
		return view.Line(w.Problem)
	case w.InUse:
		return "it is in use"
	case w.Edited:
		return "you have changed it; remove it if you need nothing in it"
	case len(w.Left) > 0:
		return "it has files that are recorded nowhere; remove it if you need nothing in it"
	case w.Kept != "":
		return view.Line(w.Kept) + "; remove it if you need nothing in it"
	case w.Captured == "" && !w.Opened:
		return "it is not recorded until its run ends"
	}
	return "it was used meanwhile"
}

func (a *app) workspaceOpenVerb() *cobra.Command {
	var made hocket.Made
	cmd := &cobra.Command{
		Use:   "open RUN ADDRESS [FLAGS]",
		Short: "Check out what a step has made, and print the directory",
		Long: `Check out what a step has made into a directory, and print that. It is a copy: changes
in it change nothing else, and are not recorded. A copy with changes is never removed or
replaced; opening the same again prints its directory. With --attempt, check out what an
attempt has left, even if it failed.`,
		Example: `  cd "$(hocket workspace open improve-3k7q coder)"
  hocket workspace open improve-3k7q coder --attempt 1`,
		Args:              argsBetween(2, 2),
		ValidArgsFunction: a.completeRunThenAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkMade(cmd, made); err != nil {
				return err
			}
			return a.withRun(cmd.Context(), args[0], func(r *hocket.Run) error {
				made.Address = args[1]
				dir, err := r.OpenWorkspace(cmd.Context(), made)
				if err != nil {
					return a.noWorkspace(cmd.Context(), r, err, "workspace", "open")
				}
				if a.json {
					return a.printJSON(map[string]string{"directory": dir})
				}
				return a.print(dir + "\n")
			})
		},
	}
	madeFlags(cmd, &made, "check out")
	return cmd
}

// runOfWorkspaces returns the id of a run. Of one that is not known here, there may be workspaces.
func runOfWorkspaces(ctx context.Context, p *hocket.Project, id string) (string, error) {
	r, err := p.Run(ctx, id)
	if err == nil {
		return r.ID(), nil
	}
	all, wrong := p.Workspaces(ctx)
	if wrong == nil && slices.ContainsFunc(all, func(w hocket.Workspace) bool { return w.Run == id }) {
		return id, nil
	}
	return "", noRun(ctx, p, err)
}

func (a *app) workspaceRemoveVerb() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "rm [RUN] [FLAGS]",
		Short: "Remove the directories of workspaces",
		Long: `Remove the directories of a run's workspaces or, with --all, of all runs. What steps have
made stays recorded. A directory that is in use, or whose files are not recorded, is
never removed, and neither is a copy that you have opened and changed. What a process
left that was killed is recorded when its run is over. If you name a run that another
driver or server has, or that is lost, it counts as over.`,
		Example: `  hocket workspace rm improve-3k7q
  hocket workspace rm --all`,
		Args: argsBetween(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return usagef("for example: hocket workspace rm improve-3k7q", "give either a run or --all")
			}
			remove := func(ctx context.Context, p *hocket.Project, run string) error {
				freed, err := p.RemoveWorkspaces(ctx, run)
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]int64{"freed_bytes": freed})
				}
				a.note("freed " + view.Bytes(uint64(freed)) + "\n")
				left, err := p.Workspaces(ctx)
				for _, w := range left {
					if all || w.Run == run {
						a.note("kept " + view.Line(w.Dir) + ": " + whyKept(w) + "\n")
					}
				}
				return err
			}
			p, err := a.openProject()
			if err != nil {
				return err
			}
			if all {
				return remove(cmd.Context(), p, "")
			}
			run, err := runOfWorkspaces(cmd.Context(), p, args[0])
			if err != nil {
				return err
			}
			return remove(cmd.Context(), p, run)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove those of all runs")
	return cmd
}
