package local

import (
	"context"
	"errors"
	"slices"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// Start records a run. If it is not claimed, it is unattended: the process that drives it
// records that. This driver holds a claimed run from the start and begins it itself, which
// needs no event.
func (d *Driver) Start(_ context.Context, spec driver.Spec) (driver.Created, error) {
	s, err := d.writing()
	if err != nil {
		return driver.Created{}, err
	}
	w, first, err := d.create(s, spec)
	var used *journal.UsedKeyError
	if errors.As(err, &used) {
		return driver.Created{Run: used.Run, Existed: true}, nil
	}
	if err != nil {
		return driver.Created{}, err
	}
	d.pulse.changed(change)
	if spec.Owner.Claimed {
		return driver.Created{Run: w.Run()}, d.keep(w.Run(), &recorded{pin: spec.Pin, began: spec.Pin, writer: w, first: first, status: engine.Running})
	}
	return driver.Created{Run: w.Run()}, w.Close()
}

// StartedWith returns the run that was started with a key for a request.
func (d *Driver) StartedWith(ctx context.Context, key, request string) (string, error) {
	s, err := d.reading()
	if err != nil || s == nil {
		return "", err
	}
	return s.StartedWith(ctx, key, request)
}

// create records a run with its first event.
func (d *Driver) create(store *journal.Store, spec driver.Spec) (w *journal.Writer, first engine.Envelope, err error) {
	w, err = d.createAs(store, spec.Run, spec.Pin, func(id string) (journal.NewRun, error) {
		first, err = roundTrip(engine.Envelope{Time: driver.Moment(d.o.Clock.Now()), Unattended: !spec.Owner.Claimed, Event: &engine.Started{
			Run: id, Version: engine.Version, Inputs: spec.Inputs, Limits: spec.Limits, Tasks: spec.Tasks, Base: spec.Base,
		}})
		return journal.NewRun{Owner: spec.Owner, Key: spec.Key, Request: spec.Request, Created: first.Time, Events: []engine.Envelope{first}}, err
	})
	return w, first, err
}

// createAs records a run under an id, or under a new one if that is "".
func (d *Driver) createAs(store *journal.Store, id string, pin *driver.Pin, made func(id string) (journal.NewRun, error)) (*journal.Writer, error) {
	const tries = 5 // random ids that happen to be taken
	for try := 1; ; try++ {
		as := id
		if as == "" {
			as = d.newID(pin.Bundle.Root.Name)
		}
		n, err := made(as)
		if err != nil {
			return nil, err
		}
		n.ID, n.Pin = as, pin
		w, err := store.Create(n)
		var exists *driver.ExistsError
		if errors.As(err, &exists) && id == "" && try < tries {
			continue
		}
		return w, err
	}
}

// Drive resumes a run where it was left and drives it. A run that is over is left
// unchanged.
func (d *Driver) Drive(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
	made := d.isNew(run)
	s, err := d.changing(run)
	if made == nil && err == nil && ctx.Err() == nil {
		made, err = d.takeUp(ctx, s, run)
	}
	if err == nil && ctx.Err() != nil { // before anything of the run is touched
		err = &driver.InterruptedError{Run: run, Cause: context.Cause(ctx)}
	}
	if err == nil && w.Pin != nil && !journal.SamePin(w.Pin, made.pin) {
		w, err = under(made.pin, w)
	}
	var l *loop
	if err == nil {
		l, err = newLoop(d, s, made, w)
	}
	if err != nil {
		if made != nil {
			err = errors.Join(err, made.writer.Close())
		}
		return engine.Result{Run: run}, err
	}
	if made.first.Event != nil {
		return l.drive(ctx, func() error { return l.begin(made.first) })
	}
	return l.drive(ctx, func() error { return l.recover(ctx) })
}

// recorded is what the driver knows about a run that it is about to drive.
type recorded struct {
	pin    *driver.Pin // the newest
	began  *driver.Pin // the one that it was started with
	writer *journal.Writer
	first  engine.Envelope // of a run that this driver has recorded and not begun
	status engine.Status   // in the list of runs; "": it must be written again
	begun  bool            // in the list of runs
}

// takeUp takes a run, unless another process drives it, and reads what is recorded about it. Before,
// another process could still give it a new plan.
func (d *Driver) takeUp(ctx context.Context, s *journal.Store, run string) (made *recorded, err error) {
	writer, err := s.Writer(ctx, run)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, writer.Close())
		}
	}()
	r, err := s.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	pin, err := s.Pin(ctx, run)
	if err != nil {
		return nil, err
	}
	first, err := s.FirstPin(ctx, run)
	if err != nil {
		return nil, err
	}
	if r.Problem != "" {
		r.Status = "" // so that the mark is removed when the run continues
	}
	return &recorded{pin: pin, began: first, writer: writer, status: r.Status, begun: r.Begun}, nil
}

// under returns what a run is driven with under another plan.
func under(pin *driver.Pin, w driver.Work) (driver.Work, error) {
	if w.Replan == nil {
		return w, nil
	}
	now, err := w.Replan(pin)
	if err == nil {
		w.Pin, w.Agents, w.Scripted, w.ScriptAll = pin, now.Agents, now.Scripted, now.ScriptAll
	}
	return w, err
}

// begin carries out what the first event asks for. The run's own clock starts now: the run
// may have been recorded long before.
func (l *loop) begin(first engine.Envelope) error {
	l.clock = newRunClock(l.d.o.Clock, 0)
	cmds, err := l.step(1, first)
	if err != nil {
		return err
	}
	return l.carryOut(cmds)
}

// restore begins with the last snapshot of the run, if there is a valid one. A script must
// see everything that happened, so with a script the run is replayed.
func (l *loop) restore(ctx context.Context) {
	if l.o.Script != nil {
		return
	}
	snapshot, _ := l.store.Snapshot(ctx, l.writer.Run()) // without one, the run is replayed
	if r, err := engine.Restore(l.pin.Bundle, snapshot); err == nil && r.Seq() <= l.writer.Recorded() {
		r.Offload(driver.LongOutput, loader(l.store, l.writer.Run()))
		l.run, l.last, l.kept = r, r.Time(), r.Seq()
	}
}

// A snapshot is stored after this many events: fewer when the run waits and there is time.
const (
	keepWaiting = 1000
	keepRunning = 20_000
)

// keep stores a snapshot of a long run, so that it resumes faster. It is a cache, so errors
// are ignored.
func (l *loop) keep() {
	after := keepRunning
	if l.run.Status() == engine.Waiting {
		after = keepWaiting
	}
	if seq := l.run.Seq(); seq-l.kept >= after {
		l.kept = seq
		_ = l.writer.Keep(l.run.Snapshot())
	}
}

// recover replays the run, records the recovery, and carries out the commands that have no
// result yet.
func (l *loop) recover(ctx context.Context) error {
	first := l.writer.Recorded() == 1 // its beginning has not been observed yet
	l.restore(ctx)
	begun := l.run.Seq() > 0 // a process may have carried something out
	for e, err := range l.store.Brief(ctx, l.writer.Run(), l.run.Seq()) {
		if err != nil {
			return err
		}
		cmds, err := driver.Step(l.run, l.writer.Run(), e)
		if err != nil {
			return err
		}
		begun = begun || !e.Unattended
		l.last = e.Time
		l.script.Happened(e.Event)
		l.script.Commanded(cmds)
		if first && l.audience != nil {
			l.audience.Facts(l.beginning(e.Unattended))
		}
	}
	if l.run.Status().Done() {
		l.over = true
		return nil
	}
	if begun {
		note, err := endLost(l.run, l.writer)
		if err != nil {
			return err
		}
		l.note = note
	}
	l.clock = newRunClock(l.d.o.Clock, l.run.ClockAt(l.d.o.Clock.Now()))
	if err := l.tookUp(l.now(&engine.Recovered{Unsettled: true})); err != nil {
		return err
	}
	if err := l.carryOut(l.run.Pending()); err != nil {
		return err
	}
	return l.readInbox()
}

// beginning returns the facts of the first event. The recovery of an unattended one starts its
// attempts again and says so, so they are not among them.
func (l *loop) beginning(unattended bool) []engine.Fact {
	facts := l.run.Facts()
	if !unattended {
		return facts
	}
	again := map[string]bool{}
	for _, c := range l.run.Pending() {
		if task, ok := c.(*engine.StartTask); ok {
			again[task.Address] = true
		}
	}
	return slices.DeleteFunc(facts, func(f engine.Fact) bool {
		return again[f.Address] && (f.Kind == engine.StepStarted || f.Kind == engine.AttemptStarted)
	})
}

// tookUp records and steps an event of the recovery. Its commands are not carried out:
// Pending returns them.
func (l *loop) tookUp(e engine.Envelope) error {
	if err := l.append(journal.Batch{Events: []engine.Envelope{e}}); err != nil {
		return err
	}
	cmds, err := l.step(l.writer.Recorded(), e)
	if err == nil {
		l.script.Commanded(cmds)
	}
	return err
}
