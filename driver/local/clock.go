package local

import (
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// runClock tells the time of a run: the wall clock, and the run's own, which goes
// on from where it was when this process took the run up. It is safe for
// concurrent use.
type runClock struct {
	clock Clock
	base  time.Duration // of the run, when the process took it up
	since time.Duration // of the process, then
}

func newRunClock(c Clock, base time.Duration) runClock { return runClock{c, base, c.Elapsed()} }

// elapsed is the run's own clock. It is never zero, which would mean that nobody
// measured it.
func (c runClock) elapsed() time.Duration { return max(1, c.base+c.clock.Elapsed()-c.since) }

// stamp is an event as it happens now.
func (c runClock) stamp(ev engine.Event) engine.Envelope {
	return engine.Envelope{Time: moment(c.clock.Now()), Clock: c.elapsed(), Event: ev}
}
