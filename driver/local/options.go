package local

import (
	"time"
)

// Options configure how a driver is opened. The zero value is the default.
type Options struct {
	// ReadOnly rejects everything that would record something.
	ReadOnly bool
	// Poll is how often the driver checks for changes by other processes while there is a watcher.
	// It is four times as long after a while without a change, and while runs only wait for mail.
	// Zero means 20 ms.
	Poll time.Duration
	// Clock is the source of time; nil means the system's.
	Clock Clock
}

const (
	defaultPatience = time.Minute
	defaultPoll     = 20 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	return o
}

// Clock is a source of time. The driver uses no other, so that a run follows one clock.
type Clock interface {
	// Now returns the time on the wall clock, which can be set.
	Now() time.Time
	// Elapsed returns the time since some moment in the past, on a clock that cannot be set.
	Elapsed() time.Duration
	// Timer sends once after d, unless stop is called first.
	Timer(d time.Duration) (fires <-chan time.Time, stop func())
}

// Waiter is a Clock that has to know when the driver waits, such as one that skips the time in which nothing happens.
// Between a call of Waits and the next of Wakes, a run continues only because an attempt ends or a timer fires.
type Waiter interface {
	Clock
	// Waits says that a run waits, and how many of its attempts may still end by themselves.
	Waits(attempts int)
	// Wakes says that it continues.
	Wakes()
}
