package local

import (
	"context"
	"errors"
	"sync"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/journal"
)

// Driver stores the runs of a project in a journal and drives them in this process. It is
// safe for concurrent use.
type Driver struct {
	dir   string
	o     Options
	pulse *pulse
	newID func(workflow string) string

	mu     sync.Mutex
	store  *journal.Store       // nil until it is needed and exists
	fresh  map[string]*recorded // runs that this driver has claimed and not begun
	closed bool
}

var _ driver.Driver = (*Driver)(nil)

// Open opens the runs in a state directory. It creates nothing: the journal is created when
// the first run starts.
func Open(dir string, o Options) (*Driver, error) {
	d := &Driver{dir: dir, o: o.withDefaults(), newID: NewID, fresh: map[string]*recorded{}}
	d.pulse = newPulse(d.o.Poll, d.look)
	return d, nil
}

// Close closes the journal. All calls of Drive must have returned. A second call does nothing.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	var errs []error
	for _, made := range d.fresh {
		errs = append(errs, made.writer.Close())
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	return errors.Join(errs...)
}

var (
	errClosed   = errors.New("driver: closed")
	errReadOnly = errors.New("driver: opened read-only")
)

// reading returns the journal for reading; nil if there is none.
func (d *Driver) reading() (*journal.Store, error) {
	return d.open(func() (*journal.Store, error) {
		if !journal.Exists(d.dir) {
			return nil, nil
		}
		return journal.OpenReadOnly(d.dir)
	})
}

// writing returns the journal, creating it if necessary.
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

// known returns the journal that has a run.
func (d *Driver) known(run string) (*journal.Store, error) {
	s, err := d.reading()
	if err == nil && s == nil {
		err = &driver.UnknownRunError{ID: run}
	}
	return s, err
}

// changing returns the journal in order to change a run. If this driver has claimed the run
// and not begun it, it releases the run for that.
func (d *Driver) changing(run string) (*journal.Store, error) {
	if _, err := d.known(run); err != nil {
		return nil, err
	}
	if made := d.isNew(run); made != nil {
		if err := made.writer.Close(); err != nil {
			return nil, err
		}
	}
	return d.writing()
}

// Find returns the id of a run with a unique prefix.
func (d *Driver) Find(ctx context.Context, prefix string) (string, error) {
	s, err := d.known(prefix)
	if err != nil {
		return "", err
	}
	r, err := s.Find(ctx, prefix)
	return r.ID, err
}

// Info returns the current state of a run.
func (d *Driver) Info(ctx context.Context, run string) (driver.Info, error) {
	s, err := d.known(run)
	if err != nil {
		return driver.Info{}, err
	}
	r, err := s.Run(ctx, run)
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

// FirstPin returns what a run was started with.
func (d *Driver) FirstPin(ctx context.Context, run string) (*driver.Pin, error) {
	s, err := d.known(run)
	if err != nil {
		return nil, err
	}
	return s.FirstPin(ctx, run)
}

// Pin returns what a run was started with, or its newest plan.
func (d *Driver) Pin(ctx context.Context, run string) (*driver.Pin, error) {
	s, err := d.known(run)
	if err != nil {
		return nil, err
	}
	return s.Pin(ctx, run)
}

// Check reads the whole journal, and returns the number of runs; -1 if there is no journal.
func (d *Driver) Check(ctx context.Context) (int, error) {
	s, err := d.reading()
	if err != nil || s == nil {
		return -1, err
	}
	if err := s.Check(ctx); err != nil {
		return 0, err
	}
	runs, err := s.List(ctx, driver.Filter{})
	return len(runs), err
}

// Delete deletes a run that no process drives.
func (d *Driver) Delete(ctx context.Context, run string) error {
	s, err := d.changing(run)
	if err != nil {
		return err
	}
	_, err = s.Delete(ctx, run)
	d.pulse.changed(change)
	return err
}

// keep holds a recorded run until it is driven.
func (d *Driver) keep(run string, made *recorded) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errors.Join(errClosed, made.writer.Close())
	}
	d.fresh[run] = made
	return nil
}

// isNew returns, once, a run that this driver has claimed and not begun; nil if it has not.
func (d *Driver) isNew(run string) *recorded {
	d.mu.Lock()
	defer d.mu.Unlock()
	made := d.fresh[run]
	delete(d.fresh, run)
	return made
}
