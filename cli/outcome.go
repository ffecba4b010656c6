package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/workflow"
)

// outcome prints the result of a run and returns its exit code.
func (a *app) outcome(ctx context.Context, d *drive, res engine.Result, err error) error {
	var interrupted *hocket.InterruptedError
	stopped := errors.As(err, &interrupted)
	if err != nil && !stopped {
		return a.driveFailed(ctx, d, err)
	}
	if err := a.printResult(context.WithoutCancel(ctx), d, res); err != nil {
		return err
	}
	switch {
	case stopped && d.run.OnWorkers():
		a.note("the run goes on without you. To see it again, or to stop it:\n  " + a.self("resume", d.run.ID()) + "\n  " + a.self("cancel", d.run.ID()) + "\n")
		return exitError(exitInterrupted)
	case stopped:
		a.note("interrupted; recorded results are kept. To continue:\n  " + a.self("resume", d.run.ID()) + "\n")
		return exitError(exitInterrupted)
	case res.Status == engine.Waiting:
		// The context may be cancelled; reading the state must still work.
		a.noteWaiting(context.WithoutCancel(ctx), d)
	case exitFor(res.Status) != nil:
		a.note(a.failedText(context.WithoutCancel(ctx), d, res))
	}
	return exitFor(res.Status)
}

func (a *app) printResult(ctx context.Context, d *drive, res engine.Result) error {
	if a.json {
		return a.printRun(ctx, d.run, newHead(res, d.bundle.Root.Name, workflow.Digest(d.bundle.Root)), res.Steps, newTail(res))
	}
	if !res.Status.Done() || res.Output == nil {
		return nil
	}
	if d.drawn && a.outStyle.Width > 0 {
		a.note("\n") // separates it from the tree
	}
	return a.print(a.outputText(res))
}

// outputText formats the output of a run. The outputs of several final steps are an
// object, which is shown to people as a list in the order of the steps.
func (a *app) outputText(res engine.Result) string {
	outputs, several := res.Output.(map[string]any)
	if !several || len(outputs) < 2 || a.outStyle.Width == 0 {
		return endLine(a.outText(workflow.FormatText(res.Output)))
	}
	var b strings.Builder
	listed := map[string]bool{}
	for _, s := range res.Steps {
		output, ok := outputs[s.Node]
		if !ok || listed[s.Node] {
			continue
		}
		listed[s.Node] = true
		text := strings.TrimSpace(view.Text(workflow.FormatText(output)))
		before := ": "
		if strings.Contains(text, "\n") {
			before, text = ":\n  ", strings.ReplaceAll(text, "\n", "\n  ")
		}
		b.WriteString(a.outStyle.Paint(view.Bold, view.Line(s.Node)) + before + text + "\n")
	}
	if len(listed) < len(outputs) { // the workflow itself returned an object
		return endLine(a.outText(workflow.FormatText(res.Output)))
	}
	return b.String()
}

func (a *app) noteWaiting(ctx context.Context, d *drive) {
	if s, err := d.run.State(ctx); err == nil {
		a.note(a.waitingText(s, a.errStyle) + a.unusedReplies(ctx, s, d))
	}
}

// unusedReplies warns about an answer in the replies that the run did not accept.
func (a *app) unusedReplies(ctx context.Context, s *hocket.State, d *drive) string {
	replies := d.replies
	if replies == nil {
		replies, _ = d.run.Replies(ctx) // it was driven with them
	}
	for _, q := range s.Questions {
		if q.Kind == engine.GateQuestion && replies != nil && replies.CoversPerson(q.Node) {
			return "the reply for " + view.Line(q.ID) + " was not accepted; to answer from another file:\n  " +
				a.self("resume", s.ID, "--replies", "FILE") + "\n"
		}
	}
	return ""
}

// failedText says why a run failed, and then which commands help.
func (a *app) failedText(ctx context.Context, d *drive, res engine.Result) string {
	var b strings.Builder
	res.Error = handoff.ForPeople(res.Error)
	if d.kind == sessionKind {
		res.Error = strings.TrimPrefix(res.Error, "handoff: ") // its only step, which nobody has named
	}
	id, reason := d.run.ID(), view.Because(res.Status, res.Error)
	switch {
	case res.Error == "":
		reason = ": no reason was recorded"
	case reason == res.Error:
		reason = ": " + indentLines(reason)
	default:
		reason = " " + indentLines(reason)
	}
	b.WriteString(a.errStyle.Paint(paintError, string(res.Status)) + reason + "\n")
	failed := hocket.FailedSteps(&res)
	var first engine.StepResult
	if len(failed) > 0 {
		first = res.Steps[slices.IndexFunc(res.Steps, func(s engine.StepResult) bool { return s.Address == failed[0] })]
	}
	switch first.Agent {
	case workflow.LandAgent:
		if half := halfLandedText(ctx, d.run, a.errStyle); half != "" {
			b.WriteString(half)
		} else {
			b.WriteString("the change has not landed; what the steps have made is kept\n")
		}
	case workflow.MergeAgent:
		b.WriteString("what the steps have made is kept; a plan with another on_conflict can continue\n")
	}
	b.WriteString("  " + a.self("show", id) + "\n")
	if len(failed) > 0 {
		switch {
		case first.Agent == workflow.LandAgent:
			b.WriteString("  " + a.self("diff", id) + "\n")
		case first.Agent == workflow.MergeAgent:
			b.WriteString("  " + a.self("diff", id) + "\n")
			b.WriteString("  " + a.self("replan", id, "--with", "FILE") + "\n")
		case first.Attempts > 0 && first.Agent != "": // others have no log
			b.WriteString("  " + a.self("logs", id, first.Address) + "\n")
		}
		if s, err := d.run.State(ctx); err != nil || len(s.RepeatedEffects()) == 0 { // a new plan asks before it repeats them
			b.WriteString("  " + a.self(append([]string{"retry", id}, higherLimit(&res, first)...)...) + "\n")
		}
		if d.kind == "" { // a person may want something else now
			b.WriteString("  " + a.self("replan", id) + ` "WORDS"` + "\n")
		}
	}
	return b.String()
}

// indentLines returns a text whose further lines are indented, so that they are not taken for something else.
func indentLines(text string) string {
	return strings.ReplaceAll(strings.TrimRight(view.Text(text), "\n"), "\n", "\n    ")
}

// higherLimit returns the flag that lets a retry get past the limit that ended a run, nil
// if no limit did. It leaves room for steps that are not known yet.
func higherLimit(res *engine.Result, failed engine.StepResult) []string {
	switch {
	case res.Status == engine.TimedOut:
		return []string{"--max-runtime", workflow.FormatDuration(max(10*time.Second, 10*res.Limits.Runtime))}
	case failed.Status == engine.Skipped:
		return []string{"--max-steps", strconv.Itoa(max(2*res.Usage.Steps, len(res.Steps)))}
	}
	return nil
}

// driveFailed explains a system error, or that another process drives the run.
func (a *app) driveFailed(ctx context.Context, d *drive, err error) error {
	var held *hocket.HeldError
	if errors.As(err, &held) {
		return a.heldBy(held)
	}
	if isUsage(err) { // it has its own hint
		return err
	}
	if _, missing := d.run.Info(context.WithoutCancel(ctx)); missing == nil {
		a.note("recorded results are kept. To continue when the cause is fixed:\n  " + a.self("resume", d.run.ID()) + "\n")
	}
	return err
}

// heldBy returns a usage error: another process drives the run.
func (a *app) heldBy(held *hocket.HeldError) error {
	return usagef("follow it with `"+a.self("logs", held.Run, "-f")+"`, or cancel it with `"+a.self("cancel", held.Run)+"`", "%v", held)
}
