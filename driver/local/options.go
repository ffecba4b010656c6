package local

import (
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
)

// Options say with what a run is driven. Only Agents is required.
type Options struct {
	// ReadOnly refuses everything that would record something.
	ReadOnly bool
	// Agents do the work of tasks.
	Agents Agents
	// Script answers tasks and people before Agents and Asker are asked. It
	// counts, so it must be a new one for every Start and Resume.
	Script agent.Script
	// ScriptAll says that the script answers every task; only then may it
	// answer questions that are required.
	ScriptAll bool
	// Asker asks people who are here. Nil: nobody is.
	Asker Asker
	// Elsewhere says that what an attempt asks may be answered through the inbox
	// if nobody is here. Else an attempt is told at once that nobody is.
	Elsewhere bool
	// Observer sees what happens. Nil: nobody looks.
	Observer Observer
	// Patience is how long a run that waits for people, a quota or a budget is
	// kept waiting for a timer before it is given up. Zero: one minute.
	Patience time.Duration
	// Poll is how often it is looked for changes that other processes make. Zero:
	// 20 ms.
	Poll time.Duration
	// Clock is the time. Nil: the system's.
	Clock Clock
}

// What crosses the seam.
type (
	Agents   = driver.Agents
	Attempt  = driver.Attempt
	Outcome  = driver.Outcome
	Asker    = driver.Asker
	Observer = driver.Observer
	Spec     = driver.Spec
	ForkSpec = driver.ForkSpec
	Receipt  = driver.Receipt

	RefusedError     = driver.RefusedError
	InterruptedError = driver.InterruptedError
	BrokenError      = driver.BrokenError
)

// Clock is a source of time.
type Clock interface {
	// Now is what the wall clock shows, which somebody may set.
	Now() time.Time
	// Elapsed is the time since some moment in the past, which nobody can set.
	Elapsed() time.Duration
	// Timer sends once after d, unless stop is called before.
	Timer(d time.Duration) (fires <-chan time.Time, stop func())
}

type systemClock struct{}

var processStart = time.Now()

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Elapsed() time.Duration { return time.Since(processStart) }

func (systemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

const (
	defaultPatience = time.Minute
	defaultPoll     = 20 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	return o
}
