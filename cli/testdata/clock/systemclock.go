package local

import (
	"os"
	"strings"
	"time"
)

// This file takes the place of driver/local/systemclock.go: the wall clock is off by
// what a file says, such as -1h.

type systemClock struct{}

var processStart = time.Now()

func (systemClock) Now() time.Time {
	text, _ := os.ReadFile(os.Getenv("HOCKET_TEST_CLOCK"))
	off, _ := time.ParseDuration(strings.TrimSpace(string(text)))
	return time.Now().Round(0).Add(off)
}

func (systemClock) Elapsed() time.Duration { return time.Since(processStart) }

func (systemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
