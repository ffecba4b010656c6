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
	if run, err := s.StartedWith(ctx, spec.Key, spec.Request); run != "" || err != nil {
		return driver.Created{Run: run, Existed: true}, err
	}
	f, err := d.forking(ctx, s, spec)
	if err == nil && spec.Replace != nil {
		spec.Run, err = f.replace(ctx)
		if err != nil { // the same request may have come first
			if run, _ := s.StartedWith(ctx, spec.Key, spec.Request); run != "" {
				return driver.Created{Run: run, Existed: true}, nil
			}
			return driver.Created{}, err
		}
		f, err = d.forking(ctx, s, spec) // what ended until then counts
	}
	if err != nil {
		return driver.Created{}, err
	}
	note, err := endLostOf(ctx, s, spec.From, f.of)
	if err != nil {
		return driver.Created{}, err
	}
	w, err := d.createAs(s, spec.Run, f.pin, f.made)
	var used *journal.UsedKeyError
	if errors.As(err, &used) {
		return driver.Created{Run: used.Run, Existed: true}, nil
	}
	if err != nil {
		return driver.Created{}, err
	}
	d.pulse.changed(change)
	made := driver.Created{Run: w.Run(), Note: note}
	if spec.Owner.Claimed {
		return made, d.keep(w.Run(), &recorded{pin: f.newest, began: f.pin, writer: w})
	}
	return made, w.Close()
}

// forking is the fork of a run as it is now.
type forking struct {
	d           *Driver
	store       *journal.Store
	spec        driver.ForkSpec
	pin, newest *driver.Pin
	of          *engine.Run
	old         []engine.Envelope
}

func (d *Driver) forking(ctx context.Context, s *journal.Store, spec driver.ForkSpec) (*forking, error) {
	f := &forking{d: d, store: s, spec: spec}
	var err error
	if f.newest, err = s.Pin(ctx, spec.From); err != nil {
		return nil, err
	}
	if f.pin, err = s.FirstPin(ctx, spec.From); err != nil {
		return nil, err
	}
	f.of, err = driver.Replay(spec.From, f.pin.Bundle, loader(s, spec.From), s.Brief(ctx, spec.From, 0), func(_ *engine.Run, e engine.Envelope, _ []engine.Command) {
		f.old = append(f.old, e)
	})
	return f, err
}

// replace cancels the other run, and returns the id of the new one.
func (f *forking) replace(ctx context.Context) (string, error) {
	id, from := f.spec.Run, f.spec.From
	if id == "" {
		id = f.d.newID(f.pin.Bundle.Root.Name)
	}
	if _, err := f.made(id); err != nil { // nothing is cancelled for a fork that is not possible
		return "", err
	}
	asked := engine.CancelAsked{
		By: f.spec.Owner.By, Via: f.spec.Owner.Via, Reason: "replaced by " + id, For: id, Question: f.spec.Replace.Question, Digest: f.spec.Replace.Digest,
	}
	_, err := f.d.act(ctx, f.store, from, &asked)
	if !errors.As(err, new(*driver.RefusedError)) {
		return id, err
	}
	if asked.Question == "" {
		if now, wrong := f.store.Run(ctx, from); wrong == nil && now.Status.Done() {
			return id, nil
		}
		return "", err
	}
	now, wrong := f.d.forking(ctx, f.store, f.spec)
	if wrong != nil {
		return "", wrong
	}
	for _, e := range now.old {
		was, ok := e.Event.(*engine.CancelAsked)
		if !ok || was.By != asked.By || was.Question != asked.Question || was.Digest != asked.Digest || was.For == "" {
			continue
		}
		if _, wrong := f.store.Run(ctx, was.For); errors.As(wrong, new(*driver.UnknownRunError)) {
			return was.For, nil // the process died before it had recorded the fork, or is about to
		}
	}
	return "", err
}

// made returns what is recorded for the new run.
func (f *forking) made(id string) (journal.NewRun, error) {
	spec, pin, load, old := f.spec, f.pin, loader(f.store, f.spec.From), f.old
	now := moment(f.d.o.Clock.Now())
	for _, address := range spec.Also {
		events, err := engine.Fork(pin.Bundle, old, load, address, id, workflow.Limits{}, now)
		if err == nil {
			old = events
		} else if isUnread(err) { // otherwise it would be created again under another id
			return journal.NewRun{}, refused(spec.From, err)
		}
	}
	events, err := engine.Fork(pin.Bundle, old, load, spec.Address, id, spec.Limits, now)
	if err != nil {
		return journal.NewRun{}, refused(spec.From, err)
	}
	events[len(events)-1].Event.(*engine.Forked).Edit(spec.Edit)
	r := f.of.Fresh()
	r.Offload(math.MaxInt, load) // its own events are not recorded yet
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
	return journal.NewRun{Origin: spec.From, Created: now, Events: append(events, rest...), Owner: spec.Owner, Key: spec.Key, Request: spec.Request, Summary: summary(r)}, nil
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
