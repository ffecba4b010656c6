package local

import "time"

// Only this file reads the system clock. A test replaces it to build a command whose wall
// clock can be set.

type systemClock struct{}

var processStart = time.Now()

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Elapsed() time.Duration { return time.Since(processStart) }

func (systemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
