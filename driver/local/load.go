package local

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// Load replays a run without driving it. When an event cannot be read or
// stepped, the run and the events before it come with the error.
func Load(ctx context.Context, store *journal.Store, run string) (*engine.Run, []engine.Envelope, error) {
	pin, err := store.Pin(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	r, err := engine.New(pin.Bundle)
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", run, err)
	}
	var events []engine.Envelope
	err = replay(ctx, store, run, r, func(e engine.Envelope, _ []engine.Command) { events = append(events, e) })
	return r, events, err
}

// replay steps a run through its journal. see sees every event with the commands
// that it led to.
func replay(ctx context.Context, store *journal.Store, run string, r *engine.Run, see func(e engine.Envelope, cmds []engine.Command)) error {
	for e, err := range store.Events(ctx, run) {
		if err != nil {
			return err
		}
		cmds, err := step(r, run, e)
		if err != nil {
			return err
		}
		see(e, cmds)
	}
	return nil
}

// step steps the engine. What is stored must never be refused, so an error is a
// defect, like a panic.
func step(r *engine.Run, run string, e engine.Envelope) (cmds []engine.Command, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &BrokenError{Run: run, Seq: e.Seq, Event: e.Event, Cause: p, Stack: debug.Stack()}
		}
	}()
	cmds, err = r.Step(e)
	if err != nil {
		return nil, &BrokenError{Run: run, Seq: e.Seq, Event: e.Event, Cause: err}
	}
	return cmds, nil
}
