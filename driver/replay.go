package driver

import (
	"iter"
	"runtime/debug"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Replay steps a run through its events, without driving it. see, which may be nil,
// sees the run after each of them, and the commands that it led to. When an event
// cannot be read or stepped, the run as it was before comes with the error.
func Replay(run string, b *workflow.Bundle, events iter.Seq2[engine.Envelope, error], see func(r *engine.Run, e engine.Envelope, cmds []engine.Command)) (*engine.Run, error) {
	r, err := engine.New(b)
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

// Step steps an event that is recorded. What is recorded must never be refused, so
// an error is a defect, like a panic: a *[BrokenError].
func Step(r *engine.Run, run string, e engine.Envelope) (cmds []engine.Command, err error) {
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
