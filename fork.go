package hocket

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workspace"
)

// Retry records a new run that copies the results of this one, except for a step and those
// that depend on it, which will run again. Without an address, it is the failed steps that
// run again. Resume or Drive starts the new run. [WithLimits] overrides the limits of this
// run, [WithLabels], [WithClaim] and [WithKey] are for the new run, [ByPerson] allows to copy a run with a question
// that requires a person, [WithComment] and [WithPrompt] tell the step at the address something else, [Replacing]
// cancels this run, and other options have no effect.
func (r *Run) Retry(ctx context.Context, address string, options ...StartOption) (*Run, error) {
	if address != "" {
		return r.Fork(ctx, address, nil, options...)
	}
	s, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	failed := FailedSteps(&s.Result)
	if len(failed) == 0 {
		return nil, &RefusedError{Run: r.id, Reason: "no step failed; name the step to start at"}
	}
	return r.fork(ctx, driver.ForkSpec{Address: failed[0], Also: failed[1:]}, options)
}

// FailedSteps returns the steps to retry so that a run may succeed: the one that made it
// fail, or that did not start because of a limit, or those that failed without ending the
// run, or those that were cancelled.
func FailedSteps(res *engine.Result) []string {
	for _, s := range res.Steps {
		if s.Status == engine.Skipped && s.Error != "" && res.Status == engine.Failed { // because of a limit
			return []string{s.Address}
		}
	}
	var failed []engine.StepResult
	for _, wanted := range [][]engine.Status{{engine.Failed, engine.TimedOut}, {engine.Cancelled}} {
		for _, s := range res.Steps {
			if len(failed) > 0 && strings.HasPrefix(s.Address, failed[len(failed)-1].Address+"/") {
				failed = failed[:len(failed)-1] // a call fails because of a step in it
			}
			if slices.Contains(wanted, s.Status) {
				failed = append(failed, s)
			}
		}
		if len(failed) > 0 {
			break
		}
	}
	switch {
	case res.Status == engine.Success || !res.Status.Done() || len(failed) == 0:
		return nil
	case res.Status == engine.Failed:
		failed = []engine.StepResult{slices.MaxFunc(failed, func(a, b engine.StepResult) int { return a.Ended.Compare(b.Ended) })}
	}
	addresses := make([]string, len(failed))
	for i, s := range failed {
		addresses[i] = s.Address
	}
	return addresses
}

// Fork is Retry with a given output for the step, which then does not run again: the raw
// output of a task, or the answer to a question. If output is nil, the step runs again.
func (r *Run) Fork(ctx context.Context, address string, output *string, options ...StartOption) (*Run, error) {
	if output != nil {
		if err := r.p.CheckSecret("the output", *output); err != nil {
			return nil, err
		}
	}
	return r.fork(ctx, driver.ForkSpec{Address: address, Output: output}, options)
}

func (r *Run) fork(ctx context.Context, spec driver.ForkSpec, options []StartOption) (*Run, error) {
	s, err := startingWith(options)
	if err != nil {
		return nil, err
	}
	if spec.Edit, err = r.edit(ctx, spec, s.edit); err != nil {
		return nil, err
	}
	if spec.Replace = s.replace; s.key != "" {
		spec.Key = s.key
		asked := spec // with the output that a comment is about, which does not change
		asked.From, asked.Limits = r.id, s.limits
		if spec.Request, err = digestOf(asked); err != nil {
			return nil, err
		}
	}
	if asks, err := r.requiresPerson(ctx); err != nil {
		return nil, err
	} else if asks && !s.byPerson {
		return nil, &RequiresPersonError{r.id}
	}
	was, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	if trust.Depth() > 0 {
		s.limits = check.Override(was.Result.Limits, s.limits)
		done, err := r.p.nested(ctx, &s.limits, &s.labels, func() check.Plan { return check.Plan{} })
		if err != nil {
			return nil, err
		}
		defer done()
	}
	spec.From, spec.Limits, spec.Owner = r.id, s.limits, r.p.owner
	approval, err := r.Approval(ctx)
	if err != nil {
		return nil, err
	}
	spec.Owner.Claimed, spec.Owner.Labels = s.claim, approval.label(s.labels)
	made, err := r.d.Fork(ctx, spec)
	if err != nil {
		return nil, err
	}
	forked := r.p.handle(r.d, made.Run)
	forked.existed = made.Existed
	if err := r.p.ifIsolated(ctx, func(s *workspace.Store) error { return forked.keepAttempts(ctx, s, r.id) }); err != nil {
		return nil, err
	}
	notes := []string{made.Note}
	if spec.Replace != nil { // this one is cancelled
		notes = append(notes, r.withdrawn(ctx))
	}
	forked.Notes = slices.DeleteFunc(notes, func(note string) bool { return note == "" })
	for _, address := range was.repeatedFrom(append([]string{spec.Address}, spec.Also...)) {
		if spec.Output == nil || address != spec.Address {
			forked.Notes = append(forked.Notes, fmt.Sprintf("%q may have its effect once more: it must happen once, and has happened, or may have", address))
		}
	}
	return forked, nil
}

// keepAttempts keeps what the run that this one was forked from has made. Attempts at steps that this one repeats would look like its own, and the
// first one that it makes as if it had been interrupted.
func (r *Run) keepAttempts(ctx context.Context, s *workspace.Store, from string) error {
	if r.existed { // it may have made attempts of its own
		return s.Copy(ctx, from, r.id, nil)
	}
	state, err := r.State(ctx)
	if err != nil {
		return err
	}
	var addresses []string
	for _, step := range state.Result.Steps {
		if step.Status.Done() {
			addresses = append(addresses, step.Address)
		}
	}
	return s.Copy(ctx, from, r.id, addresses)
}

// maxPrevious limits how much of an output is sent back with a comment about it.
const maxPrevious = 32 << 10

// edit completes and checks what a step is told when a run is forked.
func (r *Run) edit(ctx context.Context, spec driver.ForkSpec, edit engine.Edit) (engine.Edit, error) {
	if edit == (engine.Edit{}) {
		return edit, nil
	}
	if spec.Output != nil {
		return edit, &RefusedError{Run: r.id, Reason: "a step whose output is given does not run, so it can be given neither a comment nor another prompt"}
	}
	if len(spec.Also) > 0 {
		return edit, &RefusedError{Run: r.id, Reason: "several steps failed; name the one that the comment or the prompt is for"}
	}
	if err := r.p.CheckSecret("the comment", edit.Comment); err != nil {
		return edit, err
	}
	if edit.Prompt != nil {
		if err := r.p.CheckSecret("the prompt", *edit.Prompt); err != nil {
			return edit, err
		}
	}
	if edit.Comment == "" {
		return edit, nil
	}
	s, err := r.State(ctx)
	if err != nil {
		return edit, err
	}
	for _, step := range s.Result.Steps {
		if step.Address == spec.Address {
			value, err := step.Value()
			if err != nil {
				return edit, err
			}
			if value != nil {
				edit.Previous = workflow.FormatText(value)
			}
		}
	}
	if len(edit.Previous) > maxPrevious {
		edit.Previous = strings.ToValidUTF8(edit.Previous[:maxPrevious], "") + "\n[cut]"
	}
	return edit, nil
}

// RequiresPersonError reports that a run was not copied because it has a question that only a person
// may answer, and that the caller did not say [ByPerson].
type RequiresPersonError struct{ Run string }

func (e *RequiresPersonError) Error() string {
	return fmt.Sprintf("only people may retry or fork run %s: it has a question that requires a person", e.Run)
}

// Hint returns what to do about it.
func (e *RequiresPersonError) Hint() string {
	return "run `hocket retry " + e.Run + "` yourself, in your own terminal"
}

// requiresPerson reports whether the run has a question that only a person may answer. A new run would
// copy the answer, which was given for the results of the old one.
func (r *Run) requiresPerson(ctx context.Context) (asks bool, err error) {
	b, err := r.Bundle(ctx)
	if err != nil {
		return false, err
	}
	for _, w := range check.Workflows(*b) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			h, ok := n.Step.(*workflow.Human)
			asks = asks || ok && h.Required
		})
	}
	return asks, nil
}
