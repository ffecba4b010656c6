package driver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// LongOutput is the number of bytes from which the output of a step is not kept in memory.
const LongOutput = 8 << 10

// Load returns the output of the task whose end is an event of a run.
type Load func(seq int) (string, error)

// NewRun returns the state of a run that has not started and that loads long outputs when
// it needs them.
func NewRun(b *workflow.Bundle, load Load) (*engine.Run, error) {
	r, err := engine.New(b)
	if err == nil {
		r.Offload(LongOutput, load)
	}
	return r, err
}

// Whole returns an event of a run with its output, if that was omitted.
func Whole(ctx context.Context, d Driver, run string, e engine.Envelope) (engine.Envelope, error) {
	ev, ok := e.Event.(*engine.TaskEnded)
	if !ok || ev.Stored == 0 {
		return e, nil
	}
	whole := *ev
	var err error
	whole.Output, err = d.Output(ctx, run, ev.Stored)
	whole.Stored = 0
	e.Event = &whole
	return e, err
}

// Replay steps a run through its events, without driving it. see, which may be nil, is
// called with the run after each of them, and the resulting commands. If an event cannot be
// read or stepped, the run as it was before is returned with the error.
func Replay(run string, b *workflow.Bundle, load Load, events iter.Seq2[engine.Envelope, error], see func(r *engine.Run, e engine.Envelope, cmds []engine.Command)) (*engine.Run, error) {
	r, err := NewRun(b, load)
	if err != nil {
		return nil, &BrokenError{Run: run, Cause: err}
	}
	for e, err := range events {
		if err != nil {
			return r, err
		}
		cmds, err := Step(r, run, e)
		if err != nil {
			return r, err
		}
		if see != nil {
			see(r, e, cmds)
		}
	}
	return r, nil
}

// Step steps a recorded event. The engine must never reject a recorded event, so an error
// is a defect, like a panic: a *[BrokenError]. It is an *[engine.LoadError] if a long
// output cannot be read.
func Step(r *engine.Run, run string, e engine.Envelope) (cmds []engine.Command, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &BrokenError{Run: run, Seq: e.Seq, Event: e.Event, Cause: p, Stack: debug.Stack()}
		}
	}()
	cmds, err = r.Step(e)
	var unread *engine.LoadError
	if errors.As(err, &unread) {
		return nil, fmt.Errorf("run %s: %w", run, err)
	}
	if err != nil {
		return nil, &BrokenError{Run: run, Seq: e.Seq, Event: e.Event, Cause: err}
	}
	return cmds, nil
}
