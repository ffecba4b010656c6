package trial

import (
	"context"
	"slices"
	"sync"
	"time"
)

// clock is the time of a run in a test. It stands still while something happens, and skips to the next timer when nothing
// does. While executors really work, it runs.
//
// Invariant: time is skipped only if the run waits, each of its attempts sleeps here, and nobody still has to hear that
// a timer has fired. Then nothing can happen before the next timer.
type clock struct {
	mu       sync.Mutex
	now      time.Time
	timers   []*timer                   // earliest first; those of one time as they were set
	waits    bool                       // the driver waits
	attempts int                        // that may end by themselves
	sleeping map[*timer]context.Context // attempts that sleep
	unheard  int                        // timers that have fired and are not stopped

	working int       // executors that really work
	since   time.Time // when they began, on the system's clock
	alarm   *time.Timer
}

// epoch is when every test begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newClock() *clock { return &clock{now: epoch, sleeping: map[*timer]context.Context{}} }

// Now returns the time of the run.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time()
}

// Elapsed returns the time since the test began.
func (c *clock) Elapsed() time.Duration { return c.Now().Sub(epoch) }

func (c *clock) time() time.Time {
	if c.working > 0 {
		return c.now.Add(time.Since(c.since))
	}
	return c.now
}

// Timer sends once after d. The receiver calls stop when it has done what it was waiting for.
func (c *clock) Timer(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.set(d)
	return t.fires, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stop(t)
	}
}

func (c *clock) set(d time.Duration) *timer {
	t := &timer{due: c.time().Add(d), fires: make(chan time.Time, 1)}
	at := slices.IndexFunc(c.timers, func(other *timer) bool { return other.due.After(t.due) })
	if at < 0 {
		at = len(c.timers)
	}
	c.timers = slices.Insert(c.timers, at, t)
	c.arm()
	return t
}

func (c *clock) stop(t *timer) {
	switch {
	case t.stopped:
	case t.fired:
		c.unheard--
	default:
		at := slices.Index(c.timers, t)
		c.timers = slices.Delete(c.timers, at, at+1)
		c.arm()
	}
	t.stopped = true
}

// Sleep makes an attempt wait.
func (c *clock) Sleep(ctx context.Context, d time.Duration) {
	c.mu.Lock()
	t := c.set(d)
	c.sleeping[t] = ctx
	c.skip()
	c.mu.Unlock()
	select {
	case <-t.fires:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sleeping, t)
	c.stop(t)
}

// Waits says that the driver waits.
func (c *clock) Waits(attempts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits, c.attempts = c.unheard == 0, attempts // otherwise there will be mail
	c.skip()
}

// Wakes says that it continues.
func (c *clock) Wakes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = false
}

// Work makes time pass as it does outside, until the function is called.
func (c *clock) Work() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working == 0 {
		c.since = time.Now()
	}
	c.working++
	c.arm()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now = c.time()
		c.since = time.Now()
		c.working--
		c.arm()
	}
}

// skip goes to the next timer if nothing can happen before it.
func (c *clock) skip() {
	if !c.waits || c.attempts > len(c.sleeping) || c.unheard > 0 || c.working > 0 || len(c.timers) == 0 {
		return
	}
	for _, ctx := range c.sleeping {
		if ctx.Err() != nil { // it was cancelled, and is about to end
			return
		}
	}
	if due := c.timers[0].due; due.After(c.now) {
		c.now = due
	}
	c.fire()
}

// fire fires the next timer.
func (c *clock) fire() {
	t := c.timers[0]
	c.timers = slices.Delete(c.timers, 0, 1)
	t.fired, c.waits = true, false
	c.unheard++
	t.fires <- c.time()
}

// arm has the timers fire that become due while executors work.
func (c *clock) arm() {
	if c.alarm != nil {
		c.alarm.Stop()
		c.alarm = nil
	}
	if c.working == 0 || len(c.timers) == 0 {
		return
	}
	c.alarm = time.AfterFunc(c.timers[0].due.Sub(c.time()), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for c.working > 0 && len(c.timers) > 0 && !c.timers[0].due.After(c.time()) {
			c.fire()
		}
		c.arm()
	})
}

type timer struct {
	due            time.Time
	fires          chan time.Time
	fired, stopped bool
}
