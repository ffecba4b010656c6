package cli

import (
	"cmp"
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
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) showVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN [ADDRESS]",
		Short: "Show a run or one of its steps",
		Long: `Show a run: its status, steps, open questions and output. With the address of a
step, show that step and its complete output; with the id of a step that ran several
times, list its instances. A unique prefix of the run id is enough.`,
		Example: `  hocket show review-3k7q
  hocket show review-3k7q security-scanner

  # Print the output of one step, in a script
  hocket show review-3k7q --json | jq -r '.steps[] | select(.node == "report").output'`,
		Args:              argsBetween(1, 2),
		ValidArgsFunction: a.completeRunThenAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], func(r *hocket.Run) error {
				if len(args) == 2 {
					return a.showStep(cmd.Context(), r, args[1])
				}
				return a.show(cmd.Context(), r)
			})
		},
	}
}

// shownTail is what show --json prints after the steps. It has more than the result of
// the run.
type shownTail struct {
	runTail
	Started time.Time `json:"started"`
	Driven  bool      `json:"driven"`
	Origin  string    `json:"origin,omitempty"`
	Stalled string    `json:"stalled,omitempty"` // what it lacks to go on by itself, such as a worker
	Made    *madeText `json:"made,omitempty"`    // if a model wrote the workflow

	HalfLanded bool `json:"half_landed,omitempty"` // its process was killed while it landed a change

	Plan    *hocket.PlanChange `json:"plan,omitempty"` // the newest one, if it was changed
	Waiting []waitingFor       `json:"waiting"`
}

func (a *app) show(ctx context.Context, r *hocket.Run) error {
	s, err := r.State(ctx)
	switch {
	case s == nil || err != nil && a.json:
		return err
	case a.json:
		return a.printShown(ctx, r, s)
	}
	// A damaged run is shown as far as it can be read.
	text, unread := a.drawRun(ctx, r, s)
	return errors.Join(a.print(text), err, unread)
}

// shownState returns the state of a run after its last recorded event.
func shownState(s *hocket.State) engine.Status {
	info := s.Info
	info.Status, info.Open = s.Result.Status, len(s.Questions)
	return info.Shown()
}

func (a *app) printShown(ctx context.Context, r *hocket.Run, s *hocket.State) error {
	head := newHead(s.Result, s.Workflow, s.Digest)
	head.Status = string(shownState(s))
	made, err := r.Approval(ctx)
	if err != nil {
		return err
	}
	half, err := r.HalfLanded(ctx)
	if err != nil {
		return err
	}
	tail := shownTail{HalfLanded: half, runTail: newTail(s.Result), Started: s.Created, Driven: s.Driven, Origin: s.Origin, Stalled: s.Stalled, Made: newMade(made), Plan: s.Plan, Waiting: a.waitingList(s)}
	return a.printRun(ctx, r, head, unsentSteps(s.Result.Steps), tail)
}

// continuing says how a run goes on that no process drives.
func (a *app) continuing(info hocket.Info) string {
	switch {
	case !info.Workers:
		return "to continue: " + a.self("resume", info.ID)
	case info.Home != "": // no other one may do its steps
		return "the worker with its files continues it: " + a.self("worker", "--name", info.Home)
	}
	return "a worker continues it: " + a.self("worker")
}

func (a *app) drawRun(ctx context.Context, r *hocket.Run, s *hocket.State) (string, error) {
	res, style := s.Result, a.outStyle
	var b strings.Builder
	status := view.Status(shownState(s))
	after := " after " + view.Took(elapsed(s.Info))
	switch {
	case res.Status.Done() && s.Plan != nil: // it may have been over for a long time before it got the plan
		after = ", active for " + view.Took(res.Active)
	case res.Status.Done():
		after = " in " + view.Took(elapsed(s.Info))
	case isStopped(shownState(s)): // the time is not known
		after = "; " + a.continuing(s.Info)
		var unapproved *hocket.UnapprovedError
		if errors.As(r.CheckApproval(ctx), &unapproved) {
			after = "; " + unapproved.Error()
		}
		res.Steps = unsentSteps(res.Steps)
		for i := range res.Steps {
			if res.Steps[i].Status == engine.Running { // no process works on it
				res.Steps[i].Status = shownState(s)
			}
		}
	}
	b.WriteString(style.Paint(view.Bold, view.Line(s.ID)) + "  " + style.Paint(status.Paint, status.Text) + after + "\n")
	fact := func(name, text string) {
		if text != "" {
			b.WriteString(style.Paint(view.Dim, view.Pad(name, 9)) + " " + view.Line(text) + "\n")
		}
	}
	fact("workflow", s.Workflow+"  "+shortDigest(s.Digest))
	fact("started", s.Created.Local().Format(time.DateTime))
	fact("used", usageText(res.Usage))
	fact("from", s.Origin)
	if approval, err := r.Approval(ctx); err == nil {
		made := newMade(approval)
		fact("made by", made.line())
	}
	fact("plan", planLine(s.Plan))
	if res.Error != "" {
		b.WriteString(style.Paint(view.Dim, view.Pad("reason", 9)) + " " + indentLines(handoff.ForPeople(res.Error)) + "\n")
	}
	fact("problem", s.Problem)
	fact("lacks", s.Stalled)
	var unread error
	if len(res.Steps) > 0 {
		var table *view.Table
		table, unread = stepTable(res.Steps, lastSeen(s.Info))
		b.WriteString("\n" + table.Draw(style))
		b.WriteString(artifactText(ctx, r, res.Steps, style))
	}
	landing := halfLandedText(ctx, r, style)
	if len(res.Warnings) > 0 || landing != "" {
		b.WriteString("\n")
	}
	b.WriteString(landing)
	for _, w := range res.Warnings {
		b.WriteString(style.Paint(view.Yellow, "warning") + ": " + indentLines(w) + "\n")
	}
	b.WriteString(a.waitingText(s, style))
	if res.Status.Done() && res.Output != nil {
		b.WriteString("\n" + style.Paint(view.Dim, "output") + "\n" + a.outputText(res))
	}
	return b.String(), unread
}

// pending is the status of a step, or of a run, that no process has started yet.
const pending engine.Status = "pending"

// unsentSteps shows steps that will start when the run is resumed as pending, without the attempt that has
// not begun.
func unsentSteps(steps []engine.StepResult) []engine.StepResult {
	steps = slices.Clone(steps)
	for i := range steps {
		if s := &steps[i]; s.Unsent {
			s.Status, s.Attempts, s.DurationMS, s.Started = pending, s.Attempts-1, 0, time.Time{}
		}
	}
	return steps
}

// planLine says how a run got its newest plan.
func planLine(p *hocket.PlanChange) string {
	if p == nil {
		return ""
	}
	text := "changed at " + p.At.Local().Format(time.DateTime)
	if p.By != "" {
		text += " by " + p.By
	}
	if p.Number > 1 {
		text += fmt.Sprintf(", %d times in total", p.Number)
	}
	if p.Words != "" {
		text += ": " + view.Style{}.Cut(view.Line(p.Words), 200)
	}
	return text
}

func shortDigest(digest string) string {
	const length = len("sha256:") + 12
	return digest[:min(length, len(digest))]
}

func usageText(u engine.RunUsage) string {
	parts := []string{view.Count(u.Steps, "task")}
	switch {
	case u.CostUnknown:
		parts = append(parts, "cost unknown")
	case u.CostUSD > 0:
		parts = append(parts, workflow.FormatUSD(u.CostUSD))
	}
	if n := u.Tokens(); n > 0 {
		parts = append(parts, view.Tokens(n)+" tokens")
	}
	text := strings.Join(parts, ", ")
	if used := plannerUsage(u.Planning); used != "" {
		text += "; of that, for new plans: " + used
	}
	return text
}

// stepTable lists steps. The error is about the first output that cannot be read.
func stepTable(steps []engine.StepResult, now time.Time) (t *view.Table, err error) {
	t = &view.Table{Head: []string{"STEP", "AGENT", "STATUS", "TIME", "TRIES", "RESULT"}, Right: []bool{3: true, 4: true}}
	costs := slices.ContainsFunc(steps, func(s engine.StepResult) bool { return s.Usage != (engine.Usage{}) })
	if costs {
		t.Head, t.Right = slices.Insert(t.Head, 5, "COST"), append(t.Right, true)
	}
	for _, s := range steps {
		output, unread := s.Value()
		err = cmp.Or(err, unread)
		result := view.Cell{Text: view.Style{}.Cut(view.Line(workflow.FormatText(output)), 100)}
		switch {
		case unread != nil:
			result = view.Cell{Text: "cannot be read", Paint: view.Red}
		case s.Error != "" && s.Status != engine.Running: // otherwise it is that of an earlier attempt
			result = view.Cell{Text: s.Error, Paint: view.Red}
		}
		took, tries := "", ""
		if s.Attempts > 0 {
			took, tries = stepTime(s, now), fmt.Sprint(s.Attempts)
		}
		if s.Status == pending {
			took = ""
		}
		row := []view.Cell{{Text: s.Address}, {Text: s.Agent, Paint: view.Dim}, view.Status(s.Status), {Text: took}, {Text: tries}, result}
		if costs {
			row = slices.Insert(row, 5, view.Cell{Text: stepCost(s.Usage)})
		}
		t.Row(row...)
	}
	return t, err
}

// stepCost formats the cost of a step, "" if it used nothing.
func stepCost(u engine.Usage) string {
	if u == (engine.Usage{}) {
		return ""
	}
	return u.CostText()
}

// stepTime formats how long a step took, or has taken so far.
func stepTime(s engine.StepResult, now time.Time) string {
	if !s.Status.Done() && !s.Started.IsZero() {
		if s.Status == engine.Waiting { // for a person, whether or not a process is running
			now = time.Now()
		}
		return view.Duration(now.Sub(s.Started))
	}
	return view.Took(time.Duration(s.DurationMS) * time.Millisecond)
}

func (a *app) showStep(ctx context.Context, r *hocket.Run, typed string) error {
	s, err := r.State(ctx)
	if err != nil {
		return err
	}
	s.Result.Steps = unsentSteps(s.Result.Steps)
	steps, err := findSteps(s, typed)
	if err != nil {
		return err
	}
	if len(steps) > 1 {
		return a.showSteps(ctx, r, s, steps)
	}
	step := steps[0]
	if a.json {
		out, err := newStepResult(ctx, r, step)
		if err != nil {
			return err
		}
		return a.printJSON(out)
	}
	output, err := step.Value()
	if err != nil {
		return err
	}
	step.Output = output
	table, _ := stepTable(steps, lastSeen(s.Info))
	left := artifactText(ctx, r, steps, a.outStyle)
	if _, model := keptOf(ctx, r, step); model != "" {
		left = "\n" + a.outStyle.Paint(view.Dim, "model") + " " + view.Line(model) + "\n" + left
	}
	if text := endLine(a.outText(workflow.FormatText(output))); text != "" {
		left += "\n" + text
	}
	return a.print(table.Draw(a.outStyle) + left)
}

// showSteps lists the instances of a step, as show lists all steps.
func (a *app) showSteps(ctx context.Context, r *hocket.Run, s *hocket.State, steps []engine.StepResult) error {
	if a.json {
		out := make([]stepResult, len(steps))
		for i, step := range steps {
			var err error
			if out[i], err = newStepResult(ctx, r, step); err != nil {
				return err
			}
		}
		return a.printJSON(out)
	}
	table, err := stepTable(steps, lastSeen(s.Info))
	return errors.Join(a.print(table.Draw(a.outStyle)+artifactText(ctx, r, steps, a.outStyle)), err)
}

// findSteps returns the steps that a name selects: the one with that address, otherwise all
// instances of the node and what they contain.
func findSteps(s *hocket.State, typed string) ([]engine.StepResult, error) {
	var found []engine.StepResult
	var names []string
	for _, step := range s.Result.Steps {
		if step.Address == typed {
			return []engine.StepResult{step}, nil
		}
		if means(typed, step.Node, step.Address) {
			found = append(found, step)
		}
		names = append(names, step.Address)
	}
	if len(found) > 0 {
		return found, nil
	}
	hint := workflow.DidYouMean(typed, names)
	if hint == "" {
		hint = "run `hocket show " + s.ID + "` to list the steps"
	}
	return nil, usagef(hint, "unknown step %q in run %s", typed, s.ID)
}

// outText prepares text from agents and files for standard output: unchanged for programs,
// and without control sequences for a terminal.
func (a *app) outText(s string) string {
	if a.outStyle.Width > 0 {
		return view.Text(s)
	}
	return s
}

func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// madeText says that a model wrote the workflow of a run.
type madeText struct {
	hocket.Origin
	Digest string `json:"digest"` // that a person approved
}

func newMade(a *hocket.RunApproval) *madeText {
	if a == nil || a.Origin == nil {
		return nil
	}
	return &madeText{*a.Origin, a.Digest}
}

func (m *madeText) line() string {
	if m == nil {
		return ""
	}
	return cmp.Or(m.By, "a model") + ", approved as " + shortDigest(m.Digest) + ", for the goal: " + m.Goal
}
