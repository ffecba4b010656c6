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
	"github.com/hocket-dev/hocket/workflow"
)

// outcome prints what a run has come to, and gives its exit code.
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
	case stopped:
		a.note("interrupted; nothing that was recorded is lost. To go on:\n  " + a.self("resume", d.run.ID()) + "\n")
		return exitError(exitInterrupted)
	case res.Status == engine.Waiting:
		// What it waits for is told without the cancelled context.
		a.noteWaiting(context.WithoutCancel(ctx), d)
	case exitFor(res.Status) != nil:
		a.note(a.failedText(d, res))
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
		a.note("\n") // apart from the tree
	}
	return a.print(a.outputText(res))
}

// outputText is what a run gave. What several last steps gave is an object, and for
// people a list in the order of the steps.
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
	if len(listed) < len(outputs) { // it is an object of the workflow's own making
		return endLine(a.outText(workflow.FormatText(res.Output)))
	}
	return b.String()
}

func (a *app) noteWaiting(ctx context.Context, d *drive) {
	if s, err := d.run.State(ctx); err == nil {
		a.note(a.waitingText(s, a.errStyle) + a.unusedReplies(ctx, s, d))
	}
}

// unusedReplies says that the replies of a run have an answer that was not taken.
func (a *app) unusedReplies(ctx context.Context, s *hocket.State, d *drive) string {
	replies := d.replies
	if replies == nil {
		replies, _ = d.run.Replies(ctx) // it was driven with them
	}
	for _, q := range s.Questions {
		if q.Kind == engine.GateQuestion && replies != nil && replies.CoversPerson(q.Node) {
			return "the answer to " + view.Line(q.ID) + " in the replies is not taken; to answer from another file:\n  " +
				a.self("resume", s.ID, "--replies", "FILE") + "\n"
		}
	}
	return ""
}

// failedText says why a run failed, with all of it: what to do stands at the end.
func (a *app) failedText(d *drive, res engine.Result) string {
	var b strings.Builder
	id, reason := d.run.ID(), view.Because(res.Status, res.Error)
	switch {
	case res.Error == "":
		reason = ": no reason was recorded"
	case reason == res.Error:
		reason = ": " + view.Line(reason)
	default:
		reason = " " + view.Line(reason)
	}
	b.WriteString(a.errStyle.Paint(paintError, string(res.Status)) + reason + "\n")
	b.WriteString("  " + a.self("show", id) + "\n")
	if failed := hocket.FailedSteps(&res); len(failed) > 0 {
		first := res.Steps[slices.IndexFunc(res.Steps, func(s engine.StepResult) bool { return s.Address == failed[0] })]
		if first.Attempts > 0 && first.Agent != "" { // else it has no log: a person's, or not started
			b.WriteString("  " + a.self("logs", id, first.Address) + "\n")
		}
		b.WriteString("  " + a.self(append([]string{"retry", id}, higherLimit(&res, first)...)...) + "\n")
	}
	return b.String()
}

// higherLimit is the flag with which a retry gets beyond the limit that ended a run, nil
// if none did. It leaves room for more steps than those that are known.
func higherLimit(res *engine.Result, failed engine.StepResult) []string {
	switch {
	case res.Status == engine.TimedOut:
		return []string{"--max-runtime", max(10*time.Second, 10*res.Limits.Runtime).String()}
	case failed.Status == engine.Skipped:
		return []string{"--max-steps", strconv.Itoa(max(2*res.Usage.Steps, len(res.Steps)))}
	}
	return nil
}

// driveFailed explains an error of the machine, or that somebody else drives the
// run.
func (a *app) driveFailed(ctx context.Context, d *drive, err error) error {
	var held *hocket.HeldError
	if errors.As(err, &held) {
		return a.heldBy(held)
	}
	if isUsage(err) { // it says what to do itself
		return err
	}
	if _, missing := d.run.Info(context.WithoutCancel(ctx)); missing == nil {
		a.note("what was recorded is kept. To go on when the cause is repaired:\n  " + a.self("resume", d.run.ID()) + "\n")
	}
	return err
}

// heldBy says that another process drives a run.
func (a *app) heldBy(held *hocket.HeldError) error {
	return usagef("watch it with `"+a.self("logs", held.Run, "-f")+"`, or end it with `"+a.self("cancel", held.Run)+"`", "%v", held)
}
