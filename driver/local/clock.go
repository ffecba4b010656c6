package local

import (
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// runClock is the time of a run: the wall clock, and the run's own clock, which continues
// from where it was when this process resumed the run. It is safe for concurrent use.
type runClock struct {
	clock Clock
	base  time.Duration // of the run, when the process resumed it
	since time.Duration // of the process, at that moment
}

func newRunClock(c Clock, base time.Duration) runClock { return runClock{c, base, c.Elapsed()} }

// elapsed returns the run's own clock. It is never zero, which would mean that it was not
// measured.
func (c runClock) elapsed() time.Duration { return max(1, c.base+c.clock.Elapsed()-c.since) }

// stamp returns an event that happens now.
func (c runClock) stamp(ev engine.Event) engine.Envelope {
	return engine.Envelope{Time: driver.Moment(c.clock.Now()), Clock: c.elapsed(), Event: ev}
}
