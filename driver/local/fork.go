package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// Fork records a run that repeats another up to a step.
func (d *Driver) Fork(ctx context.Context, spec driver.ForkSpec) (driver.Created, error) {
	s, err := d.changing(spec.From)
	if err != nil {
		return driver.Created{}, err
	}
	newest, err := s.Pin(ctx, spec.From)
	if err != nil {
		return driver.Created{}, err
	}
	pin, err := s.FirstPin(ctx, spec.From)
	if err != nil {
		return driver.Created{}, err
	}
	var old []engine.Envelope
	r, err := driver.Replay(spec.From, pin.Bundle, loader(s, spec.From), s.Brief(ctx, spec.From, 0), func(_ *engine.Run, e engine.Envelope, _ []engine.Command) {
		old = append(old, e)
	})
	if err != nil {
		return driver.Created{}, err
	}
	note, err := endLostOf(ctx, s, spec.From, r)
	if err != nil {
		return driver.Created{}, err
	}
	w, err := d.fork(s, pin, r, old, spec)
	if err != nil {
		return driver.Created{}, err
	}
	d.pulse.changed(change)
	made := driver.Created{Run: w.Run(), Note: note}
	if spec.Owner.Claimed {
		return made, d.keep(w.Run(), &recorded{pin: newest, began: pin, writer: w})
	}
	return made, w.Close()
}

// fork records the fork of a run with its events so far.
func (d *Driver) fork(store *journal.Store, pin *driver.Pin, of *engine.Run, old []engine.Envelope, spec driver.ForkSpec) (*journal.Writer, error) {
	now := moment(d.o.Clock.Now())
	return d.createAs(store, spec.Run, pin, func(id string) (journal.NewRun, error) {
		for _, address := range spec.Also {
			events, err := engine.Fork(pin.Bundle, old, loader(store, spec.From), address, id, workflow.Limits{}, now)
			if err == nil {
				old = events
			} else if isUnread(err) { // otherwise it would be created again under another id
				return journal.NewRun{}, refused(spec.From, err)
			}
		}
		events, err := engine.Fork(pin.Bundle, old, loader(store, spec.From), spec.Address, id, spec.Limits, now)
		if err != nil {
			return journal.NewRun{}, refused(spec.From, err)
		}
		events[len(events)-1].Event.(*engine.Forked).Edit(spec.Edit)
		r := of.Fresh()
		r.Offload(math.MaxInt, loader(store, spec.From)) // its own events are not recorded yet
		for _, e := range events {
			if _, last := e.Event.(*engine.Forked); last {
				if err := r.Admit(e); err != nil { // the step has no prompt
					return journal.NewRun{}, refused(spec.From, err)
				}
			}
			if _, err := driver.Step(r, id, e); err != nil {
				return journal.NewRun{}, err
			}
		}
		rest, err := instead(r, pin.Bundle, spec, now)
		if err != nil {
			return journal.NewRun{}, refused(spec.From, err)
		}
		return journal.NewRun{Origin: spec.From, Created: now, Events: append(events, rest...), Owner: spec.Owner, Summary: summary(r)}, nil
	})
}

// refused returns the error of a fork that the run does not allow. An output that cannot be
// read is a different error, because it may be temporary.
func refused(run string, err error) error {
	if isUnread(err) {
		return fmt.Errorf("run %s: %w", run, err)
	}
	return &driver.RefusedError{Run: run, Reason: err.Error()}
}

func isUnread(err error) bool { return errors.As(err, new(*engine.LoadError)) }

// forker is recorded as the author of answers when a run is forked.
const forker = "hocket: the run was forked here"

// instead returns the events that follow the fork: the output, if it is given.
func instead(r *engine.Run, b *workflow.Bundle, spec driver.ForkSpec, now time.Time) ([]engine.Envelope, error) {
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
		err = add(&engine.TaskEnded{Address: c.Address, Attempt: c.Attempt, Output: valid(*spec.Output)})
	case *engine.Ask:
		if c.Required {
			return nil, fmt.Errorf("a required question must be answered by a person; fork without an output, and answer %q", spec.Address)
		}
		err = add(answer(valid(*spec.Output)))
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
