// Package growth tests how the work of a function grows with its input.
package growth

import (
	"runtime"
	"testing"
	"time"
)

const (
	times = 8 // how many times longer the long input is
	most  = 3 // how many times the work may grow beyond that: about 1, or 8 if the work is quadratic
)

// Linear fails a test if an input that is eight times as long takes much more than eight
// times the work, in memory or in processor time. The speed and load of the machine do not
// matter.
func Linear[T any](t *testing.T, n int, input func(n int) T, work func(T)) {
	t.Helper()
	short, long := input(n), input(times*n)
	work(short) // one-time work
	var bytes, busy float64
	for range 3 { // repeat, because a measurement may be disturbed
		few := measure(func() {
			for range times {
				work(short)
			}
		})
		one := measure(func() { work(long) })
		bytes, busy = float64(one.bytes)/float64(few.bytes), float64(one.busy)/float64(few.busy+time.Millisecond)
		if bytes < most && busy < most {
			return
		}
	}
	t.Errorf("an input %d times as long takes %.0f times the memory and %.0f times the time", times, times*bytes, times*busy)
}

type cost struct {
	bytes uint64
	busy  time.Duration // processor time of this goroutine; 0: not measured on this system
}

func measure(work func()) cost {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := threadTime()
	work()
	busy := threadTime() - start
	runtime.ReadMemStats(&after)
	return cost{bytes: after.TotalAlloc - before.TotalAlloc, busy: busy}
}
