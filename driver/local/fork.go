package local

import (
	"context"
	"errors"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
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
	id := f.spec.Run
	if id == "" {
		id = f.d.newID(f.pin.Bundle.Root.Name)
	}
	if _, err := f.made(id); err != nil { // nothing is cancelled for a fork that is not possible
		return "", err
	}
	return driver.ReplaceBy(ctx, f.d, f.spec, id)
}

// made returns what is recorded for the new run.
func (f *forking) made(id string) (journal.NewRun, error) {
	now := driver.Moment(f.d.o.Clock.Now())
	events, r, err := driver.ForkEvents(id, f.pin.Bundle, f.of, f.old, loader(f.store, f.spec.From), f.spec, now)
	if err != nil {
		return journal.NewRun{}, err
	}
	spec := f.spec
	return journal.NewRun{Origin: spec.From, Created: now, Events: events, Owner: spec.Owner, Key: spec.Key, Request: spec.Request, Summary: summary(r)}, nil
}
