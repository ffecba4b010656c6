package driver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// ForkEvents returns the first events of a run that repeats another one, and the run after them. The other
// run is given by its bundle, its state and its events; load returns its long outputs.
func ForkEvents(id string, b *workflow.Bundle, of *engine.Run, old []engine.Envelope, load Load, spec ForkSpec, now time.Time) ([]engine.Envelope, *engine.Run, error) {
	for _, address := range spec.Also {
		events, err := engine.Fork(b, old, load, address, id, workflow.Limits{}, now)
		if err == nil {
			old = events
		} else if isUnread(err) { // otherwise it would be created again under another id
			return nil, nil, refused(spec.From, err)
		}
	}
	events, err := engine.Fork(b, old, load, spec.Address, id, spec.Limits, now)
	if err != nil {
		return nil, nil, refused(spec.From, err)
	}
	events[len(events)-1].Event.(*engine.Forked).Edit(spec.Edit)
	r := of.Fresh()
	r.Offload(math.MaxInt, load) // its own events are not recorded yet
	for _, e := range events {
		if _, last := e.Event.(*engine.Forked); last {
			if err := r.Admit(e); err != nil { // the step has no prompt
				return nil, nil, refused(spec.From, err)
			}
		}
		if _, err := Step(r, id, e); err != nil {
			return nil, nil, err
		}
	}
	rest, err := instead(r, spec, now)
	if err != nil {
		return nil, nil, refused(spec.From, err)
	}
	return append(events, rest...), r, nil
}

// ReplaceBy cancels the run that a fork replaces, and returns the id of the new one: the given one, or the one
// for which a process has cancelled the run and then died.
func ReplaceBy(ctx context.Context, d Driver, spec ForkSpec, id string) (string, error) {
	asked := engine.CancelAsked{
		By: spec.Owner.By, Via: spec.Owner.Via, Reason: "replaced by " + id, For: id, Question: spec.Replace.Question, Digest: spec.Replace.Digest,
	}
	_, err := d.Act(ctx, spec.From, &asked)
	if !errors.As(err, new(*RefusedError)) {
		return id, err
	}
	if asked.Question == "" {
		if now, wrong := d.Info(ctx, spec.From); wrong == nil && now.Status.Done() {
			return id, nil
		}
		return "", err
	}
	for e, wrong := range d.Events(ctx, spec.From, 0, false) {
		if wrong != nil {
			return "", wrong
		}
		was, ok := e.Event.(*engine.CancelAsked)
		if !ok || was.By != asked.By || was.Question != asked.Question || was.Digest != asked.Digest || was.For == "" {
			continue
		}
		if _, wrong := d.Info(ctx, was.For); errors.As(wrong, new(*UnknownRunError)) {
			return was.For, nil // the process died before it had recorded the fork, or is about to
		}
	}
	return "", err
}

// refused returns the error of a fork that the run does not allow. An output that cannot be
// read is a different error, because it may be temporary.
func refused(run string, err error) error {
	if isUnread(err) {
		return fmt.Errorf("run %s: %w", run, err)
	}
	return &RefusedError{Run: run, Reason: err.Error()}
}

func isUnread(err error) bool { return errors.As(err, new(*engine.LoadError)) }

// forker is recorded as the author of answers when a run is forked.
const forker = "hocket: the run was forked here"

// instead returns the events that follow the fork: the output, if it is given.
func instead(r *engine.Run, spec ForkSpec, now time.Time) ([]engine.Envelope, error) {
	var events []engine.Envelope
	answer := func(value string) engine.Event {
		return &engine.Answered{ID: spec.Address, Value: value, By: forker}
	}
	add := func(ev engine.Event) error {
		e := engine.Envelope{Time: now, Clock: r.ClockAt(now), Unattended: true, Event: ev}
		_, err := r.Step(e)
		events = append(events, e)
		return err
	}
	if spec.Output == nil {
		return events, nil
	}
	var err error
	switch c := pendingAt(r, spec.Address).(type) {
	case *engine.StartTask:
		err = add(&engine.TaskEnded{Address: c.Address, Attempt: c.Attempt, Output: Valid(*spec.Output)})
	case *engine.Ask:
		if c.Required {
			return nil, fmt.Errorf("a required question must be answered by a person; fork without an output, and answer %q", spec.Address)
		}
		err = add(answer(Valid(*spec.Output)))
	default:
		err = fmt.Errorf("%q is neither a task nor a question, so it has no output", spec.Address)
	}
	return events, err
}

// pendingAt returns the task or the question in progress at an address; nil if there is
// none.
func pendingAt(r *engine.Run, address string) engine.Command {
	for _, c := range r.Pending() {
		switch cmd := c.(type) {
		case *engine.StartTask:
			if cmd.Address == address {
				return c
			}
		case *engine.Ask:
			if cmd.ID == address {
				return c
			}
		case *engine.CancelTask, *engine.SetTimer, *engine.CancelTimer, *engine.Withdraw, *engine.Reply, *engine.Return, *engine.Finish:
		}
	}
	return nil
}
