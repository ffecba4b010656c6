package local

import (
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// alarmClock notes which timers are set.
type alarmClock struct {
	fixedClock
	set     []time.Duration
	stopped int
}

func (c *alarmClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	c.set = append(c.set, d)
	return make(chan time.Time), func() { c.stopped++ }
}

// An alarm is set for the earliest timer of both clocks, and anew only when that changes.
func TestAlarm(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := &alarmClock{fixedClock: fixedClock{now: noon, elapsed: time.Hour}}
	rc := newRunClock(c, time.Minute)
	var ts timers
	var a alarm
	wants := func(what string, set, stopped int, last time.Duration) {
		t.Helper()
		fires := a.at(&ts, rc)
		if len(c.set) != set || c.stopped != stopped || set > 0 && c.set[set-1] != last || (fires != nil) != (a.end != nil) {
			t.Errorf("%s: %v were set, and %d stopped", what, c.set, c.stopped)
		}
	}
	wants("none", 0, 0, 0)
	ts.set(&engine.SetTimer{ID: "a", Clock: 10 * time.Minute})
	wants("one on the run's clock", 1, 0, 9*time.Minute)
	wants("again", 1, 0, 9*time.Minute)
	ts.set(&engine.SetTimer{ID: "b", At: noon.Add(20 * time.Minute)})
	wants("a later one on the wall clock", 2, 1, 9*time.Minute)
	ts.set(&engine.SetTimer{ID: "c", At: noon.Add(5 * time.Minute)})
	wants("an earlier one", 3, 2, 5*time.Minute)
	ts.set(&engine.SetTimer{ID: "c", Clock: 3 * time.Minute})
	wants("the same on the other clock", 4, 3, 2*time.Minute)
	c.elapsed += 3 * time.Minute
	a.stop()
	wants("it is late", 5, 4, 0)
	if id, ok := ts.due(rc); id != "c" || !ok {
		t.Errorf("%q is due, %t", id, ok)
	}
	if id, ok := ts.due(rc); ok {
		t.Errorf("%q is due", id)
	}
	c.now = noon.Add(20 * time.Minute)
	if id, ok := ts.due(rc); id != "b" || !ok {
		t.Errorf("%q is due, %t", id, ok)
	}
	ts.cancel("a")
	ts.cancel("a")
	wants("none is left", 5, 5, 0)
	if a.stop(); c.stopped != 5 {
		t.Error("an alarm that has stopped is stopped again")
	}
	ts.set(&engine.SetTimer{ID: "d", At: c.now.Add(time.Minute)})
	wants("only on the wall clock", 6, 5, time.Minute)
}

// The clock of a run continues from where it was, and is never zero.
func TestRunClock(t *testing.T) {
	c := &fixedClock{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), elapsed: time.Hour}
	if e := newRunClock(c, 0).elapsed(); e != 1 {
		t.Errorf("it begins at %d", e)
	}
	rc := newRunClock(c, time.Minute)
	c.elapsed += time.Second
	if e := rc.stamp(&engine.Recovered{}); e.Clock != time.Minute+time.Second || !e.Time.Equal(c.now) || e.Event == nil {
		t.Errorf("%+v", e)
	}
}

// Options have defaults, and keep what is set.
func TestDefaults(t *testing.T) {
	if o := (Options{}).withDefaults(); o.Poll != 20*time.Millisecond || o.Clock != (systemClock{}) {
		t.Errorf("%+v", o)
	}
	c := &fixedClock{}
	if o := (Options{Poll: time.Hour, Clock: c}).withDefaults(); o.Poll != time.Hour || o.Clock != Clock(c) {
		t.Errorf("%+v", o)
	}
}
