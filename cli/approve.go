package cli

import (
	"context"
	"fmt"
	"maps"
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
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// approveFlags are the flags of approve. They are mutually exclusive.
type approveFlags struct{ show, diff, promote, reject bool }

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
  hocket approve compare-phones --reject`,
		Args:              argsBetween(0, 1),
		ValidArgsFunction: a.completeGenerated,
		RunE: func(cmd *cobra.Command, args []string) error {
			if givenFlags(cmd) > 1 {
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
			view.Cell{Text: when(g.Origin.At)}, view.Cell{Text: view.RevealLine(g.Origin.Goal)})
	}
	return a.print(t.Draw(a.outStyle))
}

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
		return a.reject(ctx, p, id)
	}
	r, err := p.Review(id)
	switch {
	case err != nil:
		return err
	case f.diff && a.json:
		return a.printJSON(append([]trust.PartChange{}, r.Changes...))
	case f.diff && r.Before == nil && r.State != hocket.Approved:
		a.note("nobody has approved " + id + " before; `" + a.self("approve", id, "--show") + "` prints all of it\n")
		return nil
	case f.diff && r.Before == nil:
		a.note("nothing has changed since " + view.Line(r.By) + " approved it at " + when(r.At) + "\n")
		return nil
	case f.diff:
		return a.print(view.Reveal(changesText(r)))
	case a.json:
		return a.printJSON(a.reviewJSON(r))
	case f.show:
		return a.print(view.Reveal(a.reviewText(r)))
	case r.State == hocket.Approved && !f.promote:
		return a.print(id + " was approved by " + view.Line(r.By) + " at " + when(r.At) + "\n")
	}
	if err := a.confirm(ctx, r, a.reviewText(r)); err != nil {
		return err
	}
	if f.promote {
		file, err := p.Promote(ctx, id, r.Digest)
		if err != nil {
			return err
		}
		return a.print("promoted to " + file + "\n")
	}
	if err := p.Approve(ctx, id, r.Digest); err != nil {
		return err
	}
	return a.print("approved " + id + "  " + r.Digest + "\n")
}

func (a *app) reject(ctx context.Context, p *hocket.Project, id string) error {
	if err := a.onlyPerson("approve --reject"); err != nil {
		return err
	}
	list, err := p.Generated()
	if err != nil {
		return err
	}
	seen := hocket.Proposed
	if i := slices.IndexFunc(list, func(g *hocket.Generated) bool { return g.ID == id }); i >= 0 {
		seen = list[i].State
	} else if r, err := p.Review(id); err == nil { // a file that is gone or invalid can lose its approval, too
		seen = r.State
	}
	if err := p.Reject(ctx, id, seen); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"id": id, "state": hocket.Rejected})
	}
	return a.print("rejected " + id + "\n")
}

// typed is how many characters of a digest a person types to confirm it.
const typed = 6

// confirm shows the text of a review to a person, who types the end of its digest.
func (a *app) confirm(ctx context.Context, r *hocket.Review, text string) error {
	if err := a.onlyPerson("approve"); err != nil {
		return err
	}
	people := a.people(a.std.Err)
	if people == nil {
		return usagef("run `"+a.self("approve", r.ID)+"` in a terminal; `--show` prints it", "cannot ask for approval: not a terminal")
	}
	return a.decide(ctx, people, ask.Question{
		Text:   "Do you approve this, with the digest " + r.Digest + "?",
		Detail: text,
		Custom: true,
		How:    fmt.Sprintf("To approve it, type the last %d characters of its digest. Any other answer approves nothing.", typed),
	}, r.Digest[len(r.Digest)-typed:], "not approved")
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
		err = a.confirm(ctx, r, a.reviewText(r))
	}
	if err == nil {
		err = p.Approve(ctx, r.ID, r.Digest)
	}
	return err == nil, err
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
		fmt.Fprintf(&b, "%s %s\n", r.Kind, r.ID)
	}
	if r.Origin != (hocket.Origin{}) {
		fmt.Fprintf(&b, "written by %s at %s\nfor the goal: %s\n", view.RevealLine(r.Origin.By), when(r.Origin.At), indented(r.Origin.Goal, "  "))
	}
	if r.File != "" {
		fmt.Fprintf(&b, "file %s\n", r.File)
	}
	fmt.Fprintf(&b, "digest %s (%s)\n", r.Digest, r.State)
	if text := changesText(r); text != "" {
		b.WriteString("\nChanged since it was approved\n" + text)
	}
	if r.Workflow != nil {
		if text, err := draw.Draw(r.Workflow.Model(), "tree"); err == nil {
			b.WriteString("\n" + text)
		}
	}
	for _, section := range []struct{ title, text string }{
		{"Meaning", meaningText(r.Meaning)},
		{"Warnings", warningsText(r.Found)},
		{"Commands", effectsText(r.Effects, hocket.CommandEffect)},
		{"Addresses", effectsText(r.Effects, hocket.AddressEffect)},
		{"Permissions", effectsText(r.Effects, hocket.PermissionEffect)},
		{"Agents", agentsText(r.Agents)},
		{"Files", filesText(r.Texts)},
		{"At most", a.planText(r.Plan)},
	} {
		if section.text != "" {
			b.WriteString("\n" + section.title + "\n" + section.text)
		}
	}
	return b.String()
}

// indented indents all lines of a text but the first. It hides nothing, and what a model wrote
// cannot look like a heading.
func indented(text, by string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by)
}

// meaningText shows all that a workflow says, also what neither the drawing nor the lists have.
func meaningText(text string) string {
	if text == "" {
		return ""
	}
	return "  " + indented(text, "  ") + "\n"
}

func warningsText(found workflow.Diagnostics) string {
	var b strings.Builder
	for _, d := range found {
		if d.Severity == workflow.Warning {
			fmt.Fprintf(&b, "  line %d: %s (%s)\n", d.Line, view.RevealLine(d.Summary), d.Code)
		}
	}
	return b.String()
}

func effectsText(effects []hocket.Effect, kind hocket.EffectKind) string {
	var b strings.Builder
	for _, d := range effects {
		if d.Kind == kind {
			b.WriteString("  " + indented(strings.TrimPrefix(d.Step+": "+d.What, ": "), "    ") + "\n")
		}
	}
	return b.String()
}

func agentsText(agents []*agent.Definition) string {
	var b strings.Builder
	for _, d := range agents {
		b.WriteString("  " + view.RevealLine(d.Name))
		if d.Agent != d.Name {
			b.WriteString(", an agent of " + view.RevealLine(d.Agent))
		}
		if d.Model != "" {
			b.WriteString(", with the model " + view.RevealLine(d.Model))
		}
		b.WriteString("\n")
		if d.Prompt != "" {
			b.WriteString("    " + indented(d.Prompt, "    ") + "\n")
		}
	}
	return b.String()
}

func filesText(texts map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		b.WriteString("  " + name + "\n    " + indented(texts[name], "    ") + "\n")
	}
	return b.String()
}

func (a *app) planText(p *check.Plan) string {
	if p == nil {
		return ""
	}
	plain := *a
	plain.outStyle = view.Style{}
	facts, _, _ := strings.Cut(plain.drawPlan(p), "\n\n")
	return "  " + indented(facts, "  ") + "\n"
}

func changesText(r *hocket.Review) string {
	var b strings.Builder
	if r.Before != nil {
		fmt.Fprintf(&b, "  approved by %s at %s\n", r.Before.By, when(r.Before.At))
	}
	for _, c := range r.Changes {
		b.WriteString("  " + c.Mark + " " + view.RevealLine(c.Name) + "\n")
		for _, line := range c.Lines {
			b.WriteString("      " + line + "\n")
		}
	}
	return b.String()
}

// reviewed is approve --show --json.
type reviewed struct {
	hocket.Generated
	Drawing  string             `json:"drawing,omitempty"`
	Meaning  string             `json:"meaning,omitempty"`
	Effects  []hocket.Effect    `json:"effects"`
	Agents   []reviewedAgent    `json:"agents"`
	Files    map[string]string  `json:"files,omitempty"`
	Plan     *check.Plan        `json:"plan,omitempty"`
	Limits   *workflow.Limits   `json:"limits,omitempty"`
	Warnings []string           `json:"warnings"`
	Changes  []trust.PartChange `json:"changes"`
}

type reviewedAgent struct {
	Name   string `json:"name"`
	Agent  string `json:"agent"`
	Model  string `json:"model,omitempty"`
	Prompt string `json:"prompt,omitempty"`
}

func (a *app) reviewJSON(r *hocket.Review) reviewed {
	out := reviewed{
		Generated: r.Generated, Meaning: r.Meaning, Effects: append([]hocket.Effect{}, r.Effects...), Agents: []reviewedAgent{}, Files: r.Texts, Plan: r.Plan,
		Warnings: []string{}, Changes: append([]trust.PartChange{}, r.Changes...),
	}
	if r.Workflow != nil {
		out.Drawing, _ = draw.Draw(r.Workflow.Model(), "tree") // a checked workflow can be drawn
		out.Limits = &r.Plan.Limits
	}
	for _, d := range r.Agents {
		out.Agents = append(out.Agents, reviewedAgent{d.Name, d.Agent, d.Model, d.Prompt})
	}
	for _, d := range r.Found {
		if d.Severity == workflow.Warning {
			out.Warnings = append(out.Warnings, d.Summary)
		}
	}
	return out
}
