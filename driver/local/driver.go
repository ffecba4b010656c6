package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// Driver keeps the runs of a project in a journal and drives them in this process.
// It is safe for concurrent use.
type Driver struct {
	dir   string
	o     Options
	pulse *pulse

	mu     sync.Mutex
	store  *journal.Store // nil until it is needed and exists
	closed bool
}

var _ driver.Driver = (*Driver)(nil)

// Open opens the runs in a state directory. It makes nothing: the journal is made
// when the first run starts.
func Open(dir string, o Options) (*Driver, error) {
	d := &Driver{dir: dir, o: o.withDefaults()}
	d.pulse = newPulse(d.o.Poll, d.look)
	return d, nil
}

// Close closes the journal. All calls of Drive must have returned.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.store == nil {
		return nil
	}
	err := d.store.Close()
	d.store = nil
	return err
}

var (
	errClosed   = errors.New("driver: closed")
	errReadOnly = errors.New("driver: opened to read only")
)

// reading is the journal, to look at it; nil: there is none.
func (d *Driver) reading() (*journal.Store, error) {
	return d.open(func() (*journal.Store, error) {
		if !journal.Exists(d.dir) {
			return nil, nil
		}
		return journal.OpenReadOnly(d.dir)
	})
}

// writing is the journal, which is made where there is none.
func (d *Driver) writing() (*journal.Store, error) {
	if d.o.ReadOnly {
		return nil, errReadOnly
	}
	s, err := d.open(func() (*journal.Store, error) { return journal.Open(d.dir, journal.Options{}) })
	if err != nil {
		return nil, err
	}
	return s, s.Writable()
}

func (d *Driver) open(open func() (*journal.Store, error)) (*journal.Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	if d.store != nil {
		return d.store, nil
	}
	s, err := open()
	if err == nil {
		d.store = s
	}
	return s, err
}

// known is the journal that has a run.
func (d *Driver) known(run string) (*journal.Store, error) {
	s, err := d.reading()
	if err == nil && s == nil {
		err = &driver.UnknownRunError{ID: run}
	}
	return s, err
}

// Start records a run.
func (d *Driver) Start(_ context.Context, spec driver.Spec) (driver.Created, error) {
	s, err := d.writing()
	if err != nil {
		return driver.Created{}, err
	}
	w, _, err := create(s, spec, d.o.Clock, true)
	var used *journal.UsedKeyError
	if errors.As(err, &used) {
		return driver.Created{Run: used.Run, Existed: true}, nil
	}
	if err != nil {
		return driver.Created{}, err
	}
	return driver.Created{Run: w.Run()}, w.Close()
}

// Drive takes a run up.
func (d *Driver) Drive(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
	s, err := d.writing()
	if err != nil {
		return engine.Result{}, err
	}
	return Resume(ctx, s, run, Options{
		Agents: w.Agents, Script: w.Script, ScriptAll: w.ScriptAll, Asker: w.Asker, Elsewhere: w.Elsewhere,
		Observer: w.Observer, Patience: w.Patience, Poll: d.o.Poll, Clock: d.o.Clock,
	})
}

// Find finds a run by its id or a unique prefix.
func (d *Driver) Find(ctx context.Context, prefix string) (driver.Info, error) {
	s, err := d.known(prefix)
	if err != nil {
		return driver.Info{}, err
	}
	r, err := s.Find(ctx, prefix)
	if err != nil {
		return driver.Info{}, err
	}
	return info(ctx, s, r), nil
}

// Runs lists runs, newest first.
func (d *Driver) Runs(ctx context.Context, f driver.Filter) ([]driver.Info, error) {
	s, err := d.reading()
	if err != nil || s == nil {
		return nil, err
	}
	runs, err := s.List(ctx, f)
	if err != nil {
		return nil, err
	}
	list := make([]driver.Info, len(runs))
	for i, r := range runs {
		list[i] = info(ctx, s, r)
	}
	return list, nil
}

// Pin is what a run was started with.
func (d *Driver) Pin(ctx context.Context, run string) (*driver.Pin, error) {
	s, err := d.known(run)
	if err != nil {
		return nil, err
	}
	return s.Pin(ctx, run)
}

// Act records an answer, a cancellation or a raised limit.
func (d *Driver) Act(ctx context.Context, run string, ev engine.Event) (driver.Receipt, error) {
	if _, err := d.known(run); err != nil {
		return driver.Receipt{}, err
	}
	s, err := d.writing()
	if err != nil {
		return driver.Receipt{}, err
	}
	return act(ctx, s, run, ev)
}

// Fork records a run that repeats another up to a step.
func (d *Driver) Fork(ctx context.Context, spec driver.ForkSpec) (driver.Created, error) {
	if _, err := d.known(spec.From); err != nil {
		return driver.Created{}, err
	}
	s, err := d.writing()
	if err != nil {
		return driver.Created{}, err
	}
	id, err := Fork(ctx, s, spec)
	return driver.Created{Run: id}, err
}

// Delete removes a run that nobody drives.
func (d *Driver) Delete(ctx context.Context, run string) error {
	if _, err := d.known(run); err != nil {
		return err
	}
	s, err := d.writing()
	if err != nil {
		return err
	}
	return s.Delete(ctx, run)
}

const watchPoll = 50 * time.Millisecond

// pause waits until it is time to look again.
func (d *Driver) pause(ctx context.Context) {
	select {
	case <-time.After(watchPoll):
	case <-ctx.Done():
	}
}
