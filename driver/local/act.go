package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// Act records an event of somebody who does not drive the run: by itself, or
// through the inbox of the process that does.
func (d *Driver) Act(ctx context.Context, run string, ev engine.Event) (driver.Receipt, error) {
	s, err := d.changing(run)
	if err != nil {
		return Receipt{}, err
	}
	e, err := roundTrip(engine.Envelope{Event: ev})
	if err != nil {
		return Receipt{}, err
	}
	for {
		writer, err := s.Writer(ctx, run)
		if err == nil {
			receipt, err := recordIdle(ctx, s, writer, e.Event)
			d.pulse.changed(change)
			return receipt, errors.Join(err, writer.Close())
		}
		var held *driver.HeldError
		if !errors.As(err, &held) {
			return Receipt{}, err
		}
		settled, err := d.send(ctx, s, held, e.Event)
		if settled || err != nil {
			return Receipt{Driven: true}, err
		}
	}
}

// roundTrip is an event as it will come back from the journal, whatever Go
// values the caller put into it.
func roundTrip(e engine.Envelope) (engine.Envelope, error) {
	data, err := engine.Encode(e)
	if err != nil {
		return e, err
	}
	return engine.Decode(data)
}

// recordIdle records an event in a run that nobody drives.
func recordIdle(ctx context.Context, store *journal.Store, w *journal.Writer, ev engine.Event) (Receipt, error) {
	r, events, err := load(ctx, store, w.Run())
	if err != nil {
		return Receipt{}, err
	}
	e := idle(r, events, ev)
	if err := admitIdle(r, e); err != nil {
		return Receipt{}, &RefusedError{Run: w.Run(), Reason: err.Error()}
	}
	add := func(e engine.Envelope) error {
		if err := w.Append(journal.Batch{Events: []engine.Envelope{e}}); err != nil {
			return err
		}
		e.Seq = w.Recorded()
		_, err := driver.Step(r, w.Run(), e)
		return err
	}
	_, cancel := ev.(*engine.CancelAsked)
	recovered := e
	recovered.Event = &engine.Recovered{Unsettled: true}
	if r.Status() == engine.Running && !cancel {
		// It was interrupted. The time since then must not count as its own.
		err = add(recovered)
	}
	if err == nil {
		err = add(e)
	}
	if err == nil && cancel && !r.Status().Done() {
		err = add(recovered) // what was under way is gone
	}
	if err == nil {
		err = w.Append(journal.Batch{Summary: summary(r)})
	}
	return Receipt{Status: r.Status()}, err
}

// admitIdle says why a run that nobody drives does not take an event. What its
// attempts asked went with the process that made them.
func admitIdle(r *engine.Run, e engine.Envelope) error {
	a, answers := e.Event.(*engine.HumanAnswered)
	if !answers || r.Status().Done() {
		return r.Admit(e)
	}
	if _, _, numbered := journal.SplitQuestion(a.Address); numbered {
		return fmt.Errorf("the question %s is over: the process that asked it has ended; when the run is resumed, its step asks again", a.Address)
	}
	return r.Admit(e)
}

// idle is an event that happens now in a run that nobody drives. Time never goes
// back within a run.
func idle(r *engine.Run, events []engine.Envelope, ev engine.Event) engine.Envelope {
	now := moment(time.Now())
	if last := events[len(events)-1].Time; now.Before(last) {
		now = last
	}
	return engine.Envelope{Time: now, Clock: r.ClockAt(now), Unattended: true, Event: ev}
}

const verdictWait = 30 * time.Second

// send puts an event into the inbox of the process that drives the run, and
// waits for its verdict. !settled: that process has gone; the message was taken
// back.
func (d *Driver) send(ctx context.Context, store *journal.Store, held *driver.HeldError, ev engine.Event) (settled bool, err error) {
	changes := d.pulse.listen(change, "")
	defer changes.close()
	id, err := store.Send(ctx, held.Run, ev)
	if err != nil {
		return false, err
	}
	d.pulse.changed(mail)
	ctx, cancel := context.WithTimeoutCause(ctx, verdictWait, fmt.Errorf("%w, and it does not answer", held))
	defer cancel()
	for {
		v, ok, err := store.Verdict(context.WithoutCancel(ctx), id)
		switch {
		case err != nil:
			return false, err
		case ok && v.Refused != "":
			return true, &RefusedError{Run: held.Run, Reason: v.Refused}
		case ok:
			return true, nil
		}
		_, driven := store.Driver(held.Run)
		if !driven || ctx.Err() != nil {
			withdrawn, err := store.Withdraw(id)
			if err != nil {
				return false, err
			}
			if withdrawn {
				return false, context.Cause(ctx)
			}
			continue // the verdict came in this moment
		}
		changes.wait(ctx)
	}
}
