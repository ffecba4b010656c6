package local

import (
	"context"
	"errors"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// Start starts a run and drives it. The result says how far it came: it is over,
// or it waits. The error is an *[InterruptedError] when ctx was done before.
func Start(ctx context.Context, store *journal.Store, spec Spec, o Options) (engine.Result, error) {
	o = o.withDefaults()
	l, err := newLoop(store, spec.Pin, o)
	if err != nil {
		return engine.Result{}, err
	}
	var started engine.Envelope
	if l.writer, started, err = create(store, spec, o.Clock, false); err != nil {
		l.audience.close()
		return engine.Result{}, err
	}
	l.clock = newRunClock(o.Clock, 0)
	return l.drive(ctx, func() error {
		cmds, err := l.step(1, started)
		for _, c := range cmds {
			l.carryOut(c)
		}
		return err
	})
}

// create records a run with its first event. An unattended one is begun by whoever
// takes it up.
func create(store *journal.Store, spec Spec, clock Clock, unattended bool) (*journal.Writer, engine.Envelope, error) {
	const tries = 5 // ids made by chance that happen to be taken
	for try := 1; ; try++ {
		id := spec.Run
		if id == "" {
			id = NewID(spec.Pin.Bundle.Root.Name)
		}
		e, err := roundTrip(engine.Envelope{Time: moment(clock.Now()), Unattended: unattended, Event: &engine.Started{
			Run: id, Version: engine.Version, Inputs: spec.Inputs, Limits: spec.Limits, Tasks: spec.Tasks,
		}})
		if err != nil {
			return nil, e, err
		}
		w, err := store.Create(journal.NewRun{
			ID: id, Pin: spec.Pin, Owner: spec.Owner, Key: spec.Key, Request: spec.Request,
			Created: e.Time, Events: []engine.Envelope{e},
		})
		var exists *journal.ExistsError
		if errors.As(err, &exists) && spec.Run == "" && try < tries {
			continue
		}
		return w, e, err
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

// Resume takes a run up where it was left and drives it. A run that is over is
// left as it is. The error is a *[journal.HeldError] when another process drives
// it.
func Resume(ctx context.Context, store *journal.Store, run string, o Options) (engine.Result, error) {
	o = o.withDefaults()
	info, err := store.Find(ctx, run)
	if err != nil {
		return engine.Result{}, err
	}
	pin, err := store.Pin(ctx, info.ID)
	if err != nil {
		return engine.Result{}, err
	}
	writer, err := store.Writer(ctx, info.ID)
	if err != nil {
		return engine.Result{}, err
	}
	l, err := newLoop(store, pin, o)
	if err != nil {
		return engine.Result{}, errors.Join(err, writer.Close())
	}
	l.writer, l.status = writer, info.Status
	if info.Problem != "" {
		l.status = "" // so that the mark goes when the run goes on
	}
	return l.drive(ctx, func() error { return l.recover(ctx) })
}

// recover replays the run, says so in the journal, and carries out what is
// asked for and not answered.
func (l *loop) recover(ctx context.Context) error {
	err := replay(ctx, l.store, l.writer.Run(), l.run, func(e engine.Envelope, cmds []engine.Command) {
		l.last = e.Time
		l.script.happened(e.Event)
		l.script.commanded(cmds)
	})
	if err != nil {
		return err
	}
	if l.run.Status().Done() {
		l.over = true
		return nil
	}
	if l.mail.numbers, err = l.writer.LastQuestions(ctx); err != nil {
		return err
	}
	l.clock = newRunClock(l.o.Clock, l.run.ClockAt(l.o.Clock.Now()))
	if err := l.takeUp(l.now(&engine.Recovered{Unsettled: true})); err != nil {
		return err
	}
	for _, c := range l.run.Pending() {
		l.carryOut(c)
	}
	return l.readInbox()
}

// takeUp records and steps an event of the recovery. Its commands are not
// carried out: Pending has them.
func (l *loop) takeUp(e engine.Envelope) error {
	if err := l.writer.Append(journal.Batch{Events: []engine.Envelope{e}}); err != nil {
		return err
	}
	cmds, err := l.step(l.writer.Recorded(), e)
	if err == nil {
		l.script.commanded(cmds)
	}
	return err
}
