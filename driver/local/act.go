package local

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/journal"
)

// Act records an event of a process that does not drive the run: directly, or through the
// inbox of the process that does.
func (d *Driver) Act(ctx context.Context, run string, ev engine.Event) (driver.Receipt, error) {
	s, err := d.changing(run)
	if err != nil {
		return driver.Receipt{}, err
	}
	e, err := roundTrip(engine.Envelope{Event: ev})
	if err != nil {
		return driver.Receipt{}, err
	}
	return d.act(ctx, s, run, e.Event)
}

// Replan records a new plan. It is stored first, so that the event that names it makes it the plan
// of the run, at once and completely.
func (d *Driver) Replan(ctx context.Context, run string, p driver.Replan) (driver.Receipt, error) {
	s, err := d.changing(run)
	if err != nil {
		return driver.Receipt{}, err
	}
	hash, err := s.AddPlan(ctx, run, p.Pin)
	if err != nil {
		return driver.Receipt{}, err
	}
	pin, err := s.Plan(ctx, run, hash)
	if err != nil {
		return driver.Receipt{}, err
	}
	e, err := roundTrip(engine.Envelope{Event: &engine.Replanned{Plan: hash, Tasks: p.Tasks, Limits: p.Limits, Base: p.Base, Words: driver.Valid(p.Words), Planning: p.Planning, Labels: p.Labels, By: p.By, Via: p.Via}})
	if err != nil {
		return driver.Receipt{}, err
	}
	e.Event.(*engine.Replanned).Bundle = pin.Bundle
	receipt, err := d.act(ctx, s, run, e.Event)
	if errors.As(err, new(*driver.RefusedError)) {
		err = errors.Join(err, s.DropPlan(context.WithoutCancel(ctx), run, hash))
	}
	return receipt, err
}

func (d *Driver) act(ctx context.Context, s *journal.Store, run string, ev engine.Event) (driver.Receipt, error) {
	for {
		writer, err := s.Writer(ctx, run)
		if err == nil {
			receipt, err := recordIdle(ctx, s, writer, ev, driver.Moment(d.o.Clock.Now()))
			d.pulse.changed(change)
			return receipt, errors.Join(err, writer.Close())
		}
		var held *driver.HeldError
		if !errors.As(err, &held) {
			return driver.Receipt{}, err
		}
		settled, err := d.send(ctx, s, held, ev)
		if settled || err != nil {
			return driver.Receipt{Driven: true}, err
		}
	}
}

// roundTrip returns an event as it will come back from the journal, whatever Go values the
// caller put into it.
func roundTrip(e engine.Envelope) (engine.Envelope, error) {
	data, err := engine.Encode(e)
	if err != nil {
		return e, err
	}
	return engine.Decode(data)
}

// recordIdle records an event in a run that no process drives.
func recordIdle(ctx context.Context, store *journal.Store, w *journal.Writer, ev engine.Event, now time.Time) (driver.Receipt, error) {
	r, err := load(ctx, store, w.Run())
	if err != nil {
		return driver.Receipt{}, err
	}
	if now.Before(r.Time()) { // time never goes back within a run
		now = r.Time()
	}
	i := &idler{r, w, now}
	_, answer := ev.(*engine.Answered)
	late := answer && overdue(r, now) != ""
	if err := r.Admit(i.envelope(ev)); err != nil && !late {
		return driver.Receipt{}, &driver.RefusedError{Run: w.Run(), Reason: err.Error()}
	}
	note, err := endLost(r, w)
	if err != nil {
		return driver.Receipt{}, err
	}
	var refused *driver.RefusedError
	if err = i.record(ev, late); err == nil || errors.As(err, &refused) {
		err = errors.Join(err, w.Append(journal.Batch{Summary: summary(r)}))
	}
	return driver.Receipt{Status: r.Status(), Note: note}, err
}

// idler records events in a run that no process drives.
type idler struct {
	run *engine.Run
	w   *journal.Writer
	now time.Time
}

func (i *idler) envelope(ev engine.Event) engine.Envelope {
	return engine.Envelope{Time: i.now, Clock: i.run.ClockAt(i.now), Unattended: true, Event: ev}
}

func (i *idler) add(ev engine.Event) error {
	e := i.envelope(ev)
	if err := i.w.Append(journal.Batch{Events: []engine.Envelope{e}}); err != nil {
		return err
	}
	e.Seq = i.w.Recorded()
	_, err := driver.Step(i.run, i.w.Run(), e)
	return err
}

// record records an event with what must come before and after it. late says which
// deadlines have passed, which comes first: then the event may no longer be possible, and
// only the deadlines are recorded.
func (i *idler) record(ev engine.Event, late bool) error {
	_, cancel := ev.(*engine.CancelAsked)
	recovered := &engine.Recovered{Unsettled: true}
	if !cancel && interrupted(i.run) {
		// The time since then must not count as its own, and the questions of its attempts
		// are for others.
		if err := i.add(recovered); err != nil {
			return err
		}
	}
	for late {
		id := overdue(i.run, i.now)
		if id == "" {
			break
		}
		if err := i.add(&engine.TimerFired{ID: id}); err != nil {
			return err
		}
	}
	if err := i.run.Admit(i.envelope(ev)); err != nil {
		return &driver.RefusedError{Run: i.w.Run(), Reason: err.Error()}
	}
	if err := i.add(ev); err != nil || !cancel || i.run.Status().Done() {
		return err
	}
	return i.add(recovered) // what was in progress is gone
}

// interrupted reports whether a run that no process drives has something in progress.
func interrupted(r *engine.Run) bool {
	attempt := func(c engine.Command) bool {
		_, ok := c.(*engine.StartTask)
		return ok
	}
	return r.Status() == engine.Running || slices.ContainsFunc(r.Pending(), attempt)
}

// overdue returns a timer whose deadline passed before a time; "" if there is none.
func overdue(r *engine.Run, now time.Time) string {
	id, at := "", now
	for _, c := range r.Pending() {
		if t, ok := c.(*engine.SetTimer); ok && !t.At.IsZero() && t.At.Before(at) {
			id, at = t.ID, t.At
		}
	}
	return id
}

const verdictWait = 30 * time.Second

// send puts an event into the inbox of the process that drives the run, and waits for its
// verdict. If !settled, that process has ended and the message was withdrawn.
func (d *Driver) send(ctx context.Context, store *journal.Store, held *driver.HeldError, ev engine.Event) (settled bool, err error) {
	changes := d.pulse.listen(change, "")
	defer changes.close()
	id, err := store.Send(ctx, held.Run, ev, d.o.Clock.Now())
	if err != nil {
		return false, err
	}
	d.pulse.changed(mail)
	ctx, cancel := context.WithTimeoutCause(ctx, verdictWait, &driver.SilentError{HeldError: *held})
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	for {
		v, ok, err := store.Verdict(context.WithoutCancel(ctx), id)
		switch {
		case err != nil:
			return false, err
		case ok && v.Refused != "":
			return true, &driver.RefusedError{Run: held.Run, Reason: v.Refused}
		case ok:
			return true, nil
		}
		holder, driven, err := store.Driver(context.WithoutCancel(ctx), held.Run)
		if err != nil {
			return false, err
		}
		if host, err := os.Hostname(); err == nil && holder.Host == host && process.Stopped(holder.PID) {
			giveUp(&driver.SilentError{HeldError: *held, Stopped: true})
		}
		if !driven || ctx.Err() != nil {
			withdrawn, err := store.Withdraw(id)
			if err != nil {
				return false, err
			}
			if withdrawn {
				return false, context.Cause(ctx)
			}
			continue // the verdict arrived just now
		}
		changes.wait(ctx)
	}
}
