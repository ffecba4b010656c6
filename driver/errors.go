package driver

import (
	"fmt"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// HeldError reports that another process drives a run.
type HeldError struct {
	Run string
	Holder
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("run %s is driven by another process", e.Run)
	}
	return fmt.Sprintf("run %s has been driven by process %d on %s since %s", e.Run, e.PID, e.Host, e.Since.Local().Format(time.DateTime))
}

// SilentError reports that the process that drives a run does not react. The message sent to it was
// withdrawn.
type SilentError struct {
	HeldError
	Stopped bool // the process was suspended, as by Ctrl-Z
}

func (e *SilentError) Error() string {
	if e.Stopped {
		return e.HeldError.Error() + ", which is suspended"
	}
	return e.HeldError.Error() + ", which does not respond"
}

// Hint says what to do about it.
func (e *SilentError) Hint() string {
	return fmt.Sprintf("resume it with `kill -CONT %d`, or end it with `kill -9 %d` and repeat the command", e.PID, e.PID)
}

// UnknownRunError reports that no run has an id, or that several begin with it.
type UnknownRunError struct {
	ID         string
	Candidates []string // several runs begin with ID; none: no run does
}

func (e *UnknownRunError) Error() string {
	if len(e.Candidates) == 0 {
		return fmt.Sprintf("unknown run %s", e.ID)
	}
	return fmt.Sprintf("several runs begin with %s: %s", e.ID, strings.Join(e.Candidates, ", "))
}

// ExistsError reports that a run's id is taken.
type ExistsError struct{ Run string }

func (e *ExistsError) Error() string { return fmt.Sprintf("run %s already exists", e.Run) }

// KeyError reports that a start key was used for another request.
type KeyError struct {
	Key string
	Run string // that was started with the key
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("the key %q was used for another request, which started run %s; use a new key", e.Key, e.Run)
}

// LeftRunningError reports that programs of a run, left running when the process that drove it
// died, could not be ended. The run is unchanged.
type LeftRunningError struct {
	Run   string
	Cause error
}

func (e *LeftRunningError) Error() string {
	return fmt.Sprintf("run %s is unchanged: the process that drove it died, and its programs are still running: %v", e.Run, e.Cause)
}

// Hint says what to do about it.
func (e *LeftRunningError) Hint() string { return "end them, then repeat the command" }

func (e *LeftRunningError) Unwrap() error { return e.Cause }

// RefusedError reports why an answer, a cancellation, a raised limit, a fork or a deletion
// was rejected: it was not recorded. What had happened before it, such as a deadline that
// passed, may have been.
type RefusedError struct {
	Run    string
	Reason string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("run %s: %s", e.Run, e.Reason) }

// InterruptedError reports that a run was stopped from outside before its end. Drive
// continues it.
type InterruptedError struct {
	Run   string
	Cause error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("run %s was interrupted: %v", e.Run, e.Cause)
}

func (e *InterruptedError) Unwrap() error { return e.Cause }

// BrokenError reports that the engine cannot continue a run, which is a defect of the
// program. The events are unchanged.
type BrokenError struct {
	Run   string
	Seq   int          // of the event at which it happened, from 1
	Event engine.Event // nil if unknown
	Cause any          // the engine's error or panic value
	Stack []byte       // of the panic; nil if it did not panic
}

func (e *BrokenError) Error() string {
	what := "refuses"
	if e.Stack != nil {
		what = "fails at"
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", e.Event), "*engine.")
	return fmt.Sprintf("run %s is broken: the engine %s event %d (%s): %v; this is a bug in hocket, and the recorded events of the run are intact",
		e.Run, what, e.Seq, kind, e.Cause)
}

// DamagedLogError reports that a file with the output of attempts is damaged.
type DamagedLogError struct {
	File string
	At   int64 // the first byte that cannot be read
}

func (e *DamagedLogError) Error() string {
	return fmt.Sprintf("log %s is damaged at byte %d: some output of steps cannot be read; their results can", e.File, e.At)
}
