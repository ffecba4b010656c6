package local

import (
	"time"
)

// Options say how a driver is opened. The zero value is the default.
type Options struct {
	// ReadOnly refuses everything that would record something.
	ReadOnly bool
	// Poll is how often the driver looks for changes that other processes make,
	// while somebody watches; while runs only wait for mail, five times as long.
	// Zero: 20 ms.
	Poll time.Duration
	// Clock is the time. Nil: the system's.
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

// Clock is a source of time. The driver has no other, so that a run goes by one clock.
type Clock interface {
	// Now is what the wall clock shows, which somebody may set.
	Now() time.Time
	// Elapsed is the time since some moment in the past, which nobody can set.
	Elapsed() time.Duration
	// Timer sends once after d, unless stop is called before.
	Timer(d time.Duration) (fires <-chan time.Time, stop func())
}
