package hocket

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
	"github.com/hocket-dev/hocket/workspace"
)

// byPerson reports whether a person is asked to resolve the conflicts of a merge, or to pick a workspace.
func (c *attemptAt) byPerson() bool { return c.task.ByPerson() && !c.scripted }

// merge folds the branches. Only if they conflict, an agent or a person works, once for each branch that
// conflicts with what was merged before it. The attempt ends with each question, and the next one continues with
// what was merged and resolved until then.
func (c *attemptAt) merge(ctx context.Context) driver.Outcome {
	var out driver.Outcome
	left, done, answer := c.branches(), c.task.Continues, c.task.Answer
	if done != "" {
		left = append([]workspace.Branch{{Name: workspace.MergedBefore, Commit: done}}, left...)
	}
	for {
		m, err := c.store.Merge(ctx, c.run, c.task.Workspace, left)
		if err != nil {
			return unprepared(err)
		}
		if len(m.Conflicts) == 0 {
			out.Workspace = m.Commit
			break
		}
		round := c.resolve(ctx, m, answer)
		answer = nil // it was about this conflict
		round.Usage = round.Usage.Plus(out.Usage)
		if out = round; out.Asks != nil {
			out.Workspace = done
		}
		if out.Fault != nil || out.Asks != nil {
			return out
		}
		done = out.Workspace
		left = append([]workspace.Branch{{Name: workspace.MergedBefore, Commit: done}}, left[m.Next:]...)
	}
	if out.Output == "" {
		out.Output = c.summary(ctx, out.Workspace)
	}
	return out
}

func (c *attemptAt) branches() []workspace.Branch {
	var list []workspace.Branch
	for _, t := range c.task.Trees {
		list = append(list, workspace.Branch{Name: t.Step, Commit: t.Workspace})
	}
	return list
}

// summary says what a merge brings, for the steps after it.
func (c *attemptAt) summary(ctx context.Context, commit string) string {
	var names []string
	for _, t := range c.task.Trees {
		names = append(names, t.Step)
	}
	d, err := c.store.Diff(ctx, c.task.Workspace, commit, 0)
	if err != nil { // only the words would be missing
		return "merged " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("merged %s: %s", strings.Join(names, ", "), changed(d))
}

// changed says how much a diff changes.
func changed(d workspace.Diff) string {
	added, deleted := 0, 0
	for _, f := range d.Files {
		added, deleted = added+f.Added, deleted+f.Removed
	}
	return fmt.Sprintf("%d %s changed, +%d −%d lines", len(d.Files), plural(len(d.Files), "file"), added, deleted)
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// resolve has an agent or a person resolve conflicts. answer is that of a person to the question about them, or nil.
func (c *attemptAt) resolve(ctx context.Context, m workspace.Merged, answer *engine.Answer) driver.Outcome {
	var list []string
	for _, f := range m.Conflicts {
		text := fmt.Sprintf("%s (%s)", workspace.Shown(cmp.Or(f.Beside, f.Path)), f.Kind)
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	in := workspace.Listed(list, 10)
	conflict := fmt.Sprintf("the changes of %s and %s conflict in %s", m.Sides[0].Name, m.Sides[1].Name, in)
	if m.Sides[0].Name == workspace.MergedBefore {
		conflict = fmt.Sprintf("the changes of %s and those merged before conflict in %s", m.Sides[1].Name, in)
	}
	if c.task.Agent == workflow.MergeAgent && !c.task.ByPerson() {
		return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultConflict, Message: conflict + "; with on_conflict in the merge, a person or an agent resolves that", Permanent: true}}
	}
	c.of.p.o.Trial.joined(c.task, "")
	if c.byPerson() {
		return c.askResolved(ctx, m, conflict, answer)
	}
	with := *c.task
	with.Prompt = strings.TrimSpace(fmt.Sprintf("%s\n\nThe changes of several agents conflict. Resolve the conflicts in the files below, in this directory: keep what each side intended, and leave no conflict markers. A file that one side changed and another one deleted is there without markers: keep or delete it. Where one side has a file and the other one has a directory or a link, the file is beside it, under the name in the list: move or delete it.\n\n%s", c.task.Prompt, conflictList(m)))
	one := *c
	one.task = &with
	out := one.work(ctx, m.Commit)
	switch {
	case out.Fault != nil:
		return out
	case c.task.ByPerson() && strings.TrimSpace(out.Output) == GiveUp:
		return unresolved(conflict)
	}
	return c.checkMarkers(ctx, out, m)
}

func conflictList(m workspace.Merged) string {
	var b strings.Builder
	for _, f := range m.Conflicts {
		fmt.Fprintf(&b, "- %s: %s\n", workspace.Shown(f.Path), m.About(f))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// checkMarkers fails an attempt that left conflict markers, or files that git has put beside others.
func (c *attemptAt) checkMarkers(ctx context.Context, out driver.Outcome, m workspace.Merged) driver.Outcome {
	markers, err := c.store.Markers(ctx, out.Workspace, m.Conflicts)
	if err == nil && len(markers) == 0 {
		markers, err = c.store.MovedMarkers(ctx, out.Workspace, m)
	}
	switch {
	case err != nil:
		out.Fault = &engine.Fault{Kind: engine.FaultError, Message: err.Error()}
	case len(markers) > 0:
		out.Fault = &engine.Fault{Kind: engine.FaultBadOutput, Message: unresolvedIn(markers)}
	}
	return out
}

// unresolvedIn says what is left of conflicts.
func unresolvedIn(markers []workspace.Marker) string {
	const most = 5
	var lines, files, left []string
	for _, m := range markers {
		if m.Line == 0 {
			files = append(files, workspace.Shown(m.Path))
		} else {
			lines = append(lines, fmt.Sprintf("%s:%d", workspace.Shown(m.Path), m.Line))
		}
	}
	if lines != nil {
		left = append(left, "conflict markers are left in "+workspace.Listed(lines, most))
	}
	if files != nil {
		left = append(left, "files that were only put beside others are left: "+workspace.Listed(files, most))
	}
	return strings.Join(left, "; ")
}

// GiveUp is the answer of a person who does not resolve the conflicts of a merge.
const GiveUp = "give up"

const resolved = "resolved" // the other answer

// mergedNote is what the question says first about a conflict with what was merged before.
const mergedNote = "What was merged before is kept, and the directory is a new one: cd into it again."

// ConflictDirectory returns the directory in which a question asks a person to resolve conflicts; "" if it asks something else.
func ConflictDirectory(q Question) string {
	dir, _, _ := strings.Cut(q.Detail, "\n")
	if len(q.Options) == 0 || q.Options[0].Value != resolved || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// askResolved has a person resolve conflicts in the workspace. Until no markers are left, the question comes again.
func (c *attemptAt) askResolved(ctx context.Context, m workspace.Merged, conflict string, answer *engine.Answer) driver.Outcome {
	w, asked, err := c.conflicted(ctx, m.Commit, answer)
	if err != nil {
		return unprepared(err)
	}
	defer c.close(w)
	why := ""
	if m.Sides[0].Name == workspace.MergedBefore { // perhaps by the same person, whose shell is in a directory that is gone
		why = mergedNote + " "
	}
	switch {
	case answer != nil && answer.Value == GiveUp:
		return collected(ctx, w, c.task, unresolved(conflict))
	case asked:
		markers, err := w.Markers(ctx, m.Conflicts)
		switch {
		case err != nil:
			return unprepared(err)
		case len(markers) == 0:
			return collected(ctx, w, c.task, driver.Outcome{})
		}
		left := unresolvedIn(markers)
		why = strings.ToUpper(left[:1]) + left[1:] + ". Resolve that, then answer again. "
	case answer != nil:
		why = "The directory was removed, and has been made again. "
	}
	return driver.Outcome{Asks: &engine.Asked{
		Address: c.task.Address,
		Text:    why + "T" + strings.TrimPrefix(conflict, "t") + ". Resolve that in the directory below" + c.there() + ", then answer resolved.",
		Detail:  w.Root + "\n\n" + conflictHelp(m, c.there()) + "\n" + changeLine + m.Commit[:12],
		Options: []workflow.Option{
			{Value: resolved, Description: "the merge continues with what is in the directory"},
			{Value: GiveUp, Description: "the merge fails; what the steps have made is kept"},
		},
	}}
}

// conflictHelp says what is in the directory in which a person resolves conflicts, and which commands take one side there. there says on which machine that is, as
// the question is shown beside commands for another one.
func conflictHelp(m workspace.Merged, there string) string {
	var b strings.Builder
	marked, exact := false, true // exact: the commands are about these files
	var files []string
	for _, f := range m.Conflicts {
		files = append(files, f.Path)
		exact = exact && !f.Renamed && workspace.IsPlain(f.Path) && (f.Kind == "contents" || f.Kind == "modify/delete" || f.Kind == "binary")
		if f.Kind != "contents" {
			fmt.Fprintf(&b, "%s: %s.\n", workspace.Shown(f.Path), m.About(f))
			continue
		}
		marked = true
		if f.Renamed {
			fmt.Fprintf(&b, "%s has another name on one side, which is at its markers.\n", workspace.Shown(f.Path))
		}
	}
	a, other := m.Sides[0], m.Sides[1]
	if marked {
		fmt.Fprintf(&b, "The lines from <<<<<<< to ======= are those of %s, and from there to >>>>>>> those of %s.\n", a.Name, other.Name)
	}
	all := strings.Join(files, " ")
	if !exact || len(all) > 200 {
		all = "FILE"
	}
	fmt.Fprintf(&b, "To take files as %s has them, run the first of these commands in the directory%s; the second takes them as %s has them. What that side does not have is removed. A dot in place of the names means all files.\n", a.Name, there, other.Name)
	for _, side := range m.Sides {
		fmt.Fprintf(&b, "  git restore -s %.12s -- %s\n", side.Commit, all)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// unresolved is the outcome if a person gives up.
func unresolved(conflict string) driver.Outcome {
	return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultConflict, Message: conflict + ", which nobody resolved", Permanent: true}}
}

// conflicted returns the workspace in which a person resolves conflicts, and whether it is the one in which the
// person was asked to resolve exactly these, with what was done there since.
func (c *attemptAt) conflicted(ctx context.Context, commit string, answer *engine.Answer) (w *workspace.Workspace, asked bool, err error) {
	if answer != nil {
		for a := c.attempt(); a.Number > 0; a.Number-- { // an attempt may have failed after the answer
			if w, err := c.store.Reopen(a, commit); w != nil || err != nil {
				return w, true, err
			}
		}
	}
	w, err = c.checkout(ctx, commit)
	return w, false, err
}

// maxPickDiff is how much of the diff of each branch whoever picks one is shown.
const maxPickDiff = 64 << 10

// pick has an agent or a person take one of the branches.
func (c *attemptAt) pick(ctx context.Context) driver.Outcome {
	var names []string
	var diffs strings.Builder
	for _, t := range c.task.Trees {
		names = append(names, t.Step)
		d, err := c.store.Diff(ctx, c.task.Workspace, t.Workspace, maxPickDiff)
		if err != nil {
			return unprepared(err)
		}
		fmt.Fprintf(&diffs, "## %s: %s\n\n%s\n", t.Step, changed(d), d.Patch)
		diffs.WriteString(unshown(d, "") + aboutBytes(d.Patch))
	}
	var out driver.Outcome
	switch {
	case len(names) == 1:
		out.Output = names[0]
	case c.byPerson() || c.task.Agent == workflow.MergeAgent && !c.scripted:
		q := engine.Asked{Text: cmp.Or(c.task.Prompt, "Which of these changes should be taken?"), Detail: diffs.String()}
		for _, name := range names {
			q.Options = append(q.Options, workflow.Option{Value: name})
		}
		answer, asking := c.asks(q)
		if answer == nil {
			return asking
		}
		out.Output = answer.Value
	default:
		with := *c.task
		place := *c.task.Place
		place.Decide = names
		with.Place = &place
		with.Prompt = fmt.Sprintf("%s\n\nThese are the changes to choose from, each of another agent:\n\n%s", cmp.Or(c.task.Prompt, "Pick the best of these changes."), diffs.String())
		one := *c
		one.task = &with
		if out = one.work(ctx, c.task.Workspace); out.Fault != nil {
			return out
		}
	}
	taken := extract.Decide(names, out.Output)
	i := slices.Index(names, taken.Label)
	if !taken.Matched || i < 0 {
		out.Workspace, out.Fault = "", &engine.Fault{Kind: engine.FaultNoRoute, Message: fmt.Sprintf("the output names none of the workspaces %s", strings.Join(names, ", "))}
		return out
	}
	if len(names) > 1 {
		c.of.p.o.Trial.joined(c.task, names[i])
	}
	out.Workspace = c.task.Trees[i].Workspace
	return out
}

// unshown says which files of a diff that is not shown completely are missing; hint says where they are shown. Each file has its own line, so
// that no name looks like another file, or like another part of a question.
func unshown(d workspace.Diff, hint string) string {
	if !d.Truncated {
		return ""
	}
	const most = 1000
	missing := d.Files[completeFiles(d):]
	var list strings.Builder
	fmt.Fprintf(&list, "… the diff is longer%s. Not completely shown (%d of %d files):\n", hint, len(missing), len(d.Files))
	for i, f := range missing {
		if i == most {
			fmt.Fprintf(&list, "… and %d more\n", len(missing)-most)
			break
		}
		fmt.Fprintf(&list, "%s %s", f.Status, workspace.Shown(f.Path))
		if f.From != "" {
			fmt.Fprintf(&list, " from %s", workspace.Shown(f.From))
		}
		list.WriteByte('\n')
	}
	return list.String()
}

// completeFiles returns how many files of a diff that was cut are surely complete: those before the last heading. Every line of a file begins
// with a sign, so nothing in it looks like a heading. A file that became a link, or the reverse, has two.
func completeFiles(d workspace.Diff) int {
	headings := strings.Count("\n"+d.Patch, "\ndiff --git ")
	for i, f := range d.Files {
		if headings--; f.Status == workspace.Retyped {
			headings--
		}
		if headings <= 0 {
			return i
		}
	}
	return len(d.Files)
}
