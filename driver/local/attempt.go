package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// attempts are those in progress. They are owned by the loop; each runs in a goroutine of
// its own and ends with one letter.
type attempts struct {
	base   context.Context
	cancel context.CancelCauseFunc
	open   map[attemptKey]openAttempt // their results are not stored yet
	flying int                        // their results have not arrived yet
}

type openAttempt struct {
	cancel context.CancelCauseFunc
	log    *attemptLog
}

type attemptKey struct {
	address string
	attempt int
}

// The reasons for which an attempt is told to stop.
var (
	errCancelled   = errors.New("cancelled")
	errInterrupted = errors.New("interrupted")
)

func newAttempts() *attempts {
	base, cancel := context.WithCancelCause(context.Background())
	return &attempts{base: base, cancel: cancel, open: map[attemptKey]openAttempt{}}
}

// worker makes one attempt.
type worker func(ctx context.Context, at driver.Attempt) driver.Outcome

// start makes an attempt. A panic of an agent, or its runtime.Goexit, is a failed attempt.
// The result carries the time at which the attempt ended.
func (as *attempts) start(key attemptKey, work worker, log *attemptLog, at driver.Attempt, clock runClock, mail *mailbox) {
	ctx, cancel := context.WithCancelCause(as.base)
	as.open[key] = openAttempt{cancel, log}
	as.flying++
	go func() {
		makeRoom()
		var out driver.Outcome
		done := false
		defer func() {
			if p := recover(); p != nil {
				log.write(fmt.Appendf(nil, "panic: %v\n%s", p, debug.Stack()))
				out = failed("the agent panicked: %v", p)
			} else if !done {
				out = failed("the agent ended without a result")
			}
			ended := driver.Ended(key.address, key.attempt, out)
			log.close(ended.Output)
			mail.post(letter{ended: clock.stamp(ended)})
		}()
		at.Log = log.write
		out = work(ctx, at)
		done = true
	}()
}

// makeRoom makes the stack of a new goroutine large enough for an attempt. Otherwise it would grow twice
// later, when there is much on it to copy, which takes as long as the engine's step.
//
//go:noinline
func makeRoom() {
	var room [4 << 10]byte
	runtime.KeepAlive(&room)
}

func failed(format string, args ...any) driver.Outcome {
	return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: fmt.Sprintf(format, args...)}}
}

// stop tells an attempt to stop. It may have ended already.
func (as *attempts) stop(key attemptKey) {
	if a, ok := as.open[key]; ok {
		a.cancel(errCancelled)
	}
}

// ended forgets an attempt whose result has been stored.
func (as *attempts) ended(ev *engine.TaskEnded) {
	key := attemptKey{ev.Address, ev.Attempt}
	a := as.open[key]
	a.cancel(nil)                      // frees what the context holds
	_ = a.log.file.Recorded(ev.Output) // otherwise it is stored twice, which does no harm
	delete(as.open, key)
}

// attemptLog stores what an attempt prints and leaves, and shows what it prints. A failure
// to store something does not fail a step: the log reports it.
type attemptLog struct {
	store *journal.Store
	id    driver.AttemptID
	file  *journal.Log
	seen  func(address string, attempt int, piece []byte)
}

// say writes a line of the driver.
func (l *attemptLog) say(text string) { l.write([]byte(text + "\n")) }

func (l *attemptLog) write(piece []byte) {
	l.file.Write(piece)
	l.seen(l.id.Address, l.id.Attempt, piece)
}

// close tells the observer if the log could not be stored.
func (l *attemptLog) close(output string) {
	if err := l.file.Close(output); err != nil {
		l.seen(l.id.Address, l.id.Attempt, fmt.Appendf(nil, "[this log is incomplete: %v]\n", err))
	}
}

// keep stores a stream of the attempt.
func (l *attemptLog) keep(s driver.Stream, text []byte) {
	if s == driver.Output {
		l.write(text)
		return
	}
	if err := l.file.Keep(s, text); err != nil {
		l.write(fmt.Appendf(nil, "[could not store the %s: %v]\n", s, err))
	}
}

// note stores the session and the model of the attempt.
func (l *attemptLog) note(session, model string) {
	if err := l.store.Note(l.id, session, model); err != nil {
		l.write(fmt.Appendf(nil, "[could not store the session: %v]\n", err))
	}
}
