package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/cli/ask"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// approveFlags are the flags of approve. All but yes are mutually exclusive.
type approveFlags struct{ show, diff, promote, reject, yes bool }

func (a *app) approveVerb() *cobra.Command {
	var f approveFlags
	cmd := &cobra.Command{
		Use:   "approve [ID] [FLAGS]",
		Short: "Review and approve what a model wrote",
		Long: `Show what a model wrote, and approve exactly that: a workflow with a drawing, all
that it says, every command, address and permission, its agents with their
prompts, and the most that a run could cost; or an agent or a tool. You confirm by
typing the last characters of its digest, which covers everything that it would
use. If anything of that changes, you are asked again.

Without an ID, list what is waiting. ID can also be the name of a workflow of the
project, for callers that may only run what was approved. Approving needs a
terminal and a person: there is no flag to skip the question.`,
		Example: `  hocket approve
  hocket approve compare-phones

  # Make it a file of the project, as if you had written it
  hocket approve compare-phones --promote

  # See what has changed since the approval, and withdraw it
  hocket approve compare-phones --diff
  hocket approve compare-phones --reject
  hocket approve compare-phones --reject --yes`,
		Args:              argsBetween(0, 1),
		ValidArgsFunction: a.completeGenerated,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.yes && !f.reject {
				return usagef("approving needs a person in a terminal", "--yes can only be used with --reject")
			}
			if !f.yes && givenFlags(cmd) > 1 || givenFlags(cmd) > 2 {
				return usagef("use one of them", "--show, --diff, --promote and --reject are mutually exclusive")
			}
			if len(args) == 0 {
				if f != (approveFlags{}) {
					return usagef("name a definition; `hocket approve` lists them", "missing argument ID")
				}
				return a.listGenerated()
			}
			return a.approveOne(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.show, "show", false, "show it without asking")
	flags.BoolVar(&f.diff, "diff", false, "print what has changed since it was approved")
	flags.BoolVar(&f.promote, "promote", false, "approve it and make it a file of the project")
	flags.BoolVar(&f.reject, "reject", false, "reject it, or withdraw its approval, and remove it if a model wrote it")
	flags.BoolVarP(&f.yes, "yes", "y", false, "with --reject: do not ask")
	return cmd
}

func (a *app) completeGenerated(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if p, err := a.openProject(); err == nil && len(args) == 0 {
		list, _ := p.Generated() // without them, there is nothing to complete
		for _, g := range list {
			names = append(names, g.ID+"\t"+string(g.State)+" "+string(g.Kind))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) listGenerated() error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	list, err := p.Generated()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(append([]*hocket.Generated{}, list...))
	}
	if len(list) == 0 {
		a.note("no model has written anything that waits for approval\n")
		return nil
	}
	t := &view.Table{Head: []string{"ID", "KIND", "STATE", "BY", "WRITTEN", "GOAL"}}
	for _, g := range list {
		t.Row(view.Cell{Text: g.ID}, view.Cell{Text: string(g.Kind)}, view.Cell{Text: string(g.State)}, view.Cell{Text: view.RevealLine(g.Origin.By)},
			view.Cell{Text: when(g.Origin.At)}, view.Cell{Text: agent.OneLine(view.RevealLine(g.Origin.Goal), shownGoal)})
	}
	return a.print(t.Draw(a.outStyle))
}

// shownGoal is how many characters of a goal a list shows. The review shows all of it.
const shownGoal = 200

func when(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04")
}

func (a *app) approveOne(ctx context.Context, id string, f approveFlags) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if f.reject {
		return a.reject(ctx, p, id, f.yes)
	}
	r, err := p.Review(id)
	switch {
	case err != nil:
		return err
	case f.promote && p.CheckPromote(r.ID) != nil:
		return p.CheckPromote(r.ID)
	case f.diff && a.json:
		return a.printJSON(r.Changes)
	case f.diff && r.Before == nil && r.State != hocket.Approved:
		a.note("nobody has approved " + id + " before; `" + a.self("approve", id, "--show") + "` prints all of it\n")
		return nil
	case f.diff && r.Before == nil:
		a.note("nothing has changed since " + view.Line(r.By) + " approved it at " + when(r.At) + "\n")
		return nil
	case f.diff:
		return a.print(a.outStyle.Revealed(strings.Join(changes(r), "\n") + "\n"))
	case a.json:
		return a.printJSON(reviewJSON(r))
	case f.show:
		return a.print(a.outStyle.Revealed(a.reviewText(r)))
	case r.State == hocket.Approved && !f.promote:
		return a.print(id + " was approved by " + view.Line(r.By) + " at " + when(r.At) + "\n")
	}
	command := []string{"approve", id}
	if f.promote {
		command = append(command, "--promote")
	}
	if err := a.confirm(ctx, r, a.reviewText(r), command...); err != nil {
		return err
	}
	done := "approved " + id + "  " + r.Digest
	if r.Kind == hocket.WorkflowKind {
		done += "\nto run it: " + a.self("run", id)
	}
	if !f.promote || r.State == hocket.Rejected {
		err = approveReviewed(ctx, p, r)
	}
	if f.promote && err == nil {
		done, err = p.Promote(ctx, id, r.Digest)
		done = "promoted to " + done
	}
	if err != nil {
		return err
	}
	return a.print(done + "\n")
}

func (a *app) reject(ctx context.Context, p *hocket.Project, id string, yes bool) error {
	if err := a.onlyPerson("approve --reject"); err != nil {
		return err
	}
	runs, err := p.RunsOf(ctx, id)
	if err != nil {
		return err
	}
	seen := hocket.Broken // it can be rejected, too, and what is gone can lose its approval
	if r, err := p.Review(id); err == nil {
		seen = r.State
	}
	if !yes {
		if err := a.agreeToReject(ctx, p, id, runs); err != nil {
			return err
		}
	}
	if err := p.Reject(ctx, id, seen); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"id": id, "state": hocket.Rejected, "runs": append([]string{}, runs...)})
	}
	return a.print("rejected " + id + "\n" + stuckText(runs))
}

// stuckText lists the runs that a rejection stops.
func stuckText(runs []string) string {
	if len(runs) == 0 {
		return ""
	}
	return "these runs cannot continue: " + strings.Join(runs, ", ") + "\n"
}

// agreeToReject asks whether to reject a definition, if there is one.
func (a *app) agreeToReject(ctx context.Context, p *hocket.Project, id string, runs []string) error {
	detail := stuckText(runs)
	list, err := p.Generated()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(g *hocket.Generated) bool { return g.ID == id }) {
		detail = "its files are removed\n" + detail
	}
	people := a.people(a.std.Err)
	if people == nil {
		return usagef("run it in a terminal, or pass --yes", "cannot ask whether to reject %s: not a terminal", id)
	}
	return a.decide(ctx, people, ask.Question{
		Text: "Reject " + id + "?", Detail: detail,
		Options: []workflow.Option{{Value: "yes"}, {Value: "no"}},
	}, "yes", "not rejected")
}

// typed is how many characters of a digest a person types to confirm it.
const typed = 6

// confirm shows the text of a review to a person, who types the end of its digest, with one more try.
// later is the command that asks again, if there is one.
func (a *app) confirm(ctx context.Context, r *hocket.Review, text string, later ...string) error {
	if err := a.onlyPerson("approve"); err != nil {
		return err
	}
	otherwise := "not approved"
	if len(later) > 0 {
		otherwise += "; to do it later: " + a.self(later...)
	} else {
		later = []string{"approve", r.ID}
	}
	people := a.people(a.std.Err)
	if people == nil {
		return usagef("run `"+a.self(later...)+"` in a terminal; `"+a.self("approve", r.ID, "--show")+"` prints it", "cannot ask for approval: not a terminal")
	}
	end := r.Digest[len(r.Digest)-typed:]
	answer, err := people.Ask(ctx, ask.Question{
		Text:   "Do you approve this, with the digest " + r.Digest + "?",
		Detail: text,
		Custom: true,
		How:    fmt.Sprintf("To approve it, type the last %d characters of its digest, %s. Any other answer approves nothing.", typed, r.Digest),
	})
	if err != nil || answer == end || strings.EqualFold(answer, "no") { // which is not a mistyped digest
		return a.decided(answer, err, end, otherwise)
	}
	return a.decide(ctx, people, ask.Question{
		Text:   "That is not the end of the digest " + r.Digest + ".",
		Custom: true,
		How:    fmt.Sprintf("To approve it, type its last %d characters. Any other answer approves nothing.", typed),
	}, end, otherwise)
}

// offer lets a person review what a command could not use. It returns false if there is none to
// ask.
func (a *app) offer(ctx context.Context, e *hocket.UnapprovedError) (bool, error) {
	if a.json || a.people(a.std.Err) == nil || a.onlyPerson("approve") != nil {
		return false, nil
	}
	p, err := a.openProject()
	if err != nil {
		return false, err
	}
	r, err := p.Review(e.ID)
	if err == nil {
		err = a.confirm(ctx, r, a.reviewText(r), "approve", r.ID)
	}
	if err == nil {
		err = approveReviewed(ctx, p, r)
	}
	return err == nil, err
}

// approveReviewed approves what a person saw, also that it was rejected before.
func approveReviewed(ctx context.Context, p *hocket.Project, r *hocket.Review) error {
	if r.State == hocket.Rejected {
		return p.ApproveRejected(ctx, r.ID, r.Digest)
	}
	return p.Approve(ctx, r.ID, r.Digest)
}

// proposed reports a definition that a model wrote and that waits for a person.
func (a *app) proposed(g *hocket.Generated, err error) error {
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(g)
	}
	return a.print(a.outStyle.Paint(view.Green, "proposed") + "  " + nearPath(g.File) + "\n\nA person can review and approve it: " + a.self("approve", g.ID) + "\n")
}

// reviewText is everything that a person has to see. What models and files wrote is in it
// verbatim; whoever shows it escapes control characters.
func (a *app) reviewText(r *hocket.Review) string {
	var b strings.Builder
	if r.File == "" {
		fmt.Fprintf(&b, "new plan of the run %s\n", r.ID)
	} else {
		fmt.Fprintf(&b, "%s %s (%s)\n", r.Kind, r.ID, r.State)
	}
	if by := r.Origin.By; by != "" {
		fmt.Fprintf(&b, "written by %s\n", strings.TrimSuffix(view.RevealLine(by)+" at "+when(r.Origin.At), " at "))
	}
	if goal := r.Origin.Goal; goal != "" {
		fmt.Fprintf(&b, "for the goal: %s\n", indented(goal))
	}
	if r.File != "" {
		fmt.Fprintf(&b, "file %s\n", nearPath(r.File))
	}
	fmt.Fprintf(&b, "digest %s\n", r.Digest)
	section := func(title string, items ...string) {
		if len(items) > 0 {
			b.WriteString("\n" + title + "\n")
		}
		for _, item := range items {
			b.WriteString("  " + indented(item) + "\n")
		}
	}
	section("Changed since it was approved", changes(r)...)
	if r.Workflow != nil {
		b.WriteString("\n" + drawing(r))
	}
	section("Warnings", warnings(r)...)
	section("Commands", commands(r)...)
	section("Addresses", effects(r, hocket.AddressEffect)...)
	section("Permissions", effects(r, hocket.PermissionEffect)...)
	section("Prompts", effects(r, hocket.PromptEffect)...)
	section("Agents", agents(r)...)
	var files []string
	for _, name := range sorted.Keys(r.Texts) {
		files = append(files, name+"\n  "+indented(r.Texts[name]))
	}
	section("Files", files...)
	section("Files of the project that it covers", covered(r)...)
	if r.Workflow != nil {
		section("All else that it says", rest(r.Meaning))
		section("Limits", a.planText(*r.Plan))
	}
	return b.String()
}

// rest returns what a workflow says without what is shown as effects: the settings, inputs and prompts of its
// tasks. Each fact is a line that begins with a word.
func rest(meaning string) string {
	var b strings.Builder
	call := false
	for line := range strings.Lines(meaning) {
		words := strings.Fields(line)
		switch words[0] {
		case "node":
			call = words[len(words)-1] == "call"
		case "prompt", "ask", "setting":
			continue
		case "with":
			if !call {
				continue
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// shownLines is how many lines of a file a review shows that is part of the project.
const shownLines = 40

func covered(r *hocket.Review) (items []string) {
	for _, name := range sorted.Keys(r.Covered) {
		lines := strings.Split(strings.TrimSpace(r.Covered[name]), "\n")
		if more := len(lines) - shownLines; more > 0 {
			lines = append(lines[:shownLines], fmt.Sprintf("[cut off: %s more; read all of it in %s]", view.Count(more, "line"), name))
		}
		items = append(items, name+"\n  "+indented(strings.Join(lines, "\n")))
	}
	return items
}

// planText is the most that a run could do and cost.
func (a *app) planText(p check.Plan) string {
	plain := *a
	plain.outStyle = view.Style{}
	facts, _, _ := strings.Cut(plain.drawPlan(&p), "\n\n")
	return facts
}

// indented indents all lines of a text but the first. It hides nothing, and what a model wrote
// cannot look like a heading.
func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

func drawing(r *hocket.Review) string {
	return draw.Tree(r.Workflow.Model())
}

func warnings(r *hocket.Review) (items []string) {
	for _, d := range r.Found {
		if d.Severity == workflow.Warning {
			items = append(items, fmt.Sprintf("line %d: %s (%s)", d.Line, view.RevealLine(d.Summary), d.Code))
		}
	}
	return items
}

// effects returns the effects of a kind. One of several steps is shown once, and so is an address in a command
// or a request.
func effects(r *hocket.Review, kind hocket.EffectKind) (items []string) {
	steps := map[string][]string{}
	var order []string
	for _, e := range r.Effects {
		shown := func(o hocket.Effect) bool {
			return o.Step == e.Step && (o.Kind == hocket.CommandEffect || o.Kind == hocket.PermissionEffect) && strings.Contains(o.What, e.What)
		}
		if e.Kind != kind || kind == hocket.AddressEffect && slices.ContainsFunc(r.Effects, shown) {
			continue
		}
		what := e.What
		if len(e.Files) > 0 {
			what += "\nfiles: " + strings.Join(e.Files, ", ")
		}
		if steps[what] == nil {
			order = append(order, what)
		}
		steps[what] = append(steps[what], e.Step)
	}
	for _, what := range order {
		items = append(items, indented(strings.TrimPrefix(strings.Join(steps[what], ", ")+": "+what, ": ")))
	}
	return items
}

// commands returns the commands, and which files the approval covers.
func commands(r *hocket.Review) []string {
	items := effects(r, hocket.CommandEffect)
	named := slices.ContainsFunc(r.Effects, func(e hocket.Effect) bool { return len(e.Files) > 0 })
	switch {
	case len(items) == 0 || r.Workflow == nil:
		return items
	case named:
		return append(items, "The approval covers these files, and no others that a command reads or runs.")
	}
	return append(items, "The approval covers no files, even if a command reads or runs some.")
}

func agents(r *hocket.Review) (items []string) {
	for _, d := range r.Agents {
		if d.Agent == d.Name && d.Model+d.Prompt == "" { // the drawing says all
			continue
		}
		item := view.RevealLine(d.Name)
		if d.Agent != d.Name {
			item += ", an agent of " + view.RevealLine(d.Agent)
		}
		if d.Model != "" {
			item += ", with the model " + view.RevealLine(d.Model)
		}
		if r.Kind != hocket.AgentKind { // otherwise its file is shown
			item += "\n  " + indented(d.Prompt)
		}
		items = append(items, item)
	}
	return items
}

func changes(r *hocket.Review) (items []string) {
	if r.Before != nil {
		items = append(items, fmt.Sprintf("approved by %s at %s", r.Before.By, when(r.Before.At)))
	}
	for _, c := range r.Changes {
		items = append(items, strings.Join(append([]string{c.Mark + " " + view.RevealLine(c.Name)}, c.Lines...), "\n    "))
	}
	return items
}

// reviewJSON is approve --show --json.
func reviewJSON(r *hocket.Review) any {
	out := struct {
		*hocket.Review
		Drawing  string           `json:"drawing,omitempty"`
		Limits   *workflow.Limits `json:"limits,omitempty"`
		Warnings []string         `json:"warnings"`
	}{Review: r, Warnings: append([]string{}, warnings(r)...)}
	if r.Workflow != nil {
		out.Drawing, out.Limits = drawing(r), &r.Plan.Limits
	}
	return out
}
