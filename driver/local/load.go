package local

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// Load replays a run without driving it. When an event cannot be read or
// stepped, the run and the events before it come with the error.
func Load(ctx context.Context, store *journal.Store, run string) (*engine.Run, []engine.Event, error) {
	pin, err := store.Pin(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	r, err := engine.New(pin.Bundle)
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", run, err)
	}
	var events []engine.Event
	err = replay(ctx, store, run, r, func(ev engine.Event, _ []engine.Command) { events = append(events, ev) })
	return r, events, err
}

// replay steps a run through its journal. see sees every event with the commands
// that it led to.
func replay(ctx context.Context, store *journal.Store, run string, r *engine.Run, see func(ev engine.Event, cmds []engine.Command)) error {
	seq := 0
	for ev, err := range store.Events(ctx, run) {
		if err != nil {
			return err
		}
		seq++
		cmds, err := step(r, run, seq, ev)
		if err != nil {
			return err
		}
		see(ev, cmds)
	}
	return nil
}

// BrokenError says that the engine cannot go on with a run: a defect of the
// program. The events are as they were.
type BrokenError struct {
	Run   string
	Seq   int          // of the event at which it happened, from 1
	Event engine.Event // nil if it is not known
	Cause any          // what the engine said or panicked with
	Stack []byte       // of the panic; nil if it did not panic
}

func (e *BrokenError) Error() string {
	what := "refuses"
	if e.Stack != nil {
		what = "fails at"
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", e.Event), "*engine.")
	return fmt.Sprintf("run %s is broken: the engine %s event %d (%s): %v; this is a defect of hocket, and what is recorded of the run is intact",
		e.Run, what, e.Seq, kind, e.Cause)
}

// step steps the engine. What is stored must never be refused, so an error is a
// defect, like a panic.
func step(r *engine.Run, run string, seq int, ev engine.Event) (cmds []engine.Command, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &BrokenError{Run: run, Seq: seq, Event: ev, Cause: p, Stack: debug.Stack()}
		}
	}()
	cmds, err = r.Step(ev)
	if err != nil {
		return nil, &BrokenError{Run: run, Seq: seq, Event: ev, Cause: err}
	}
	return cmds, nil
}
