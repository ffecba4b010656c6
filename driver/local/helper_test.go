package local_test

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// work is what a test drives a run with, and the options of the driver.
type work struct {
	Agents    driver.Agents
	Script    agent.Script
	ScriptAll bool
	Asker     driver.Asker
	Elsewhere bool
	Observer  driver.Observer
	Poll      time.Duration
	Clock     local.Clock
}

func (w work) driver() driver.Work {
	return driver.Work{Agents: w.Agents, Script: w.Script, ScriptAll: w.ScriptAll, Asker: w.Asker, Elsewhere: w.Elsewhere, Observer: w.Observer}
}

// with briefly opens a driver on the directory of a journal, as another process would.
func with(s *journal.Store, w work, do func(d *local.Driver) error) error {
	d, err := local.Open(s.Dir(), local.Options{Poll: w.Poll, Clock: w.Clock})
	if err != nil {
		return err
	}
	return errors.Join(do(d), d.Close())
}

// startRun starts a run and drives it in one process.
func startRun(ctx context.Context, s *journal.Store, spec driver.Spec, w work) (res engine.Result, err error) {
	spec.Owner.Claimed = true
	err = with(s, w, func(d *local.Driver) error {
		made, err := d.Start(ctx, spec)
		if err == nil {
			res, err = d.Drive(ctx, made.Run, w.driver())
		}
		return err
	})
	return res, err
}

func driveRun(ctx context.Context, s *journal.Store, run string, w work) (res engine.Result, err error) {
	err = with(s, w, func(d *local.Driver) error {
		res, err = d.Drive(ctx, run, w.driver())
		return err
	})
	return res, err
}

func actOn(ctx context.Context, s *journal.Store, run string, ev engine.Event) (receipt driver.Receipt, err error) {
	err = with(s, work{}, func(d *local.Driver) error {
		receipt, err = d.Act(ctx, run, ev)
		return err
	})
	return receipt, err
}

func answerRun(ctx context.Context, s *journal.Store, run, address, value, by string) (driver.Receipt, error) {
	return actOn(ctx, s, run, &engine.Answered{ID: address, Value: value, By: by})
}

func cancelRun(ctx context.Context, s *journal.Store, run, by, reason string) (driver.Receipt, error) {
	return actOn(ctx, s, run, &engine.CancelAsked{By: by, Reason: reason})
}

func forkRun(ctx context.Context, s *journal.Store, spec driver.ForkSpec) (run string, err error) {
	err = with(s, work{}, func(d *local.Driver) error {
		made, err := d.Fork(ctx, spec)
		run = made.Run
		return err
	})
	return run, err
}

// loadRun replays a run without driving it.
func loadRun(ctx context.Context, s *journal.Store, run string) (r *engine.Run, events []engine.Envelope, err error) {
	err = with(s, work{}, func(d *local.Driver) error {
		pin, err := d.Pin(ctx, run)
		if err == nil {
			r, err = driver.Replay(run, pin.Bundle, nil, s.Events(ctx, run, 0), func(_ *engine.Run, e engine.Envelope, _ []engine.Command) {
				events = append(events, e)
			})
		}
		return err
	})
	return r, events, err
}
