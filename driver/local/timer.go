package local

import (
	"container/heap"
	"time"
)

// timers are the timers of a run, the earliest first. They are owned by the
// loop.
type timers struct {
	order []*timer
	byID  map[string]*timer
}

type timer struct {
	id    string
	at    time.Time
	index int // in order
}

// set sets a timer; one with the same id is replaced.
func (ts *timers) set(id string, at time.Time) {
	if t := ts.byID[id]; t != nil {
		t.at = at
		heap.Fix(ts, t.index)
		return
	}
	if ts.byID == nil {
		ts.byID = map[string]*timer{}
	}
	t := &timer{id: id, at: at}
	ts.byID[id] = t
	heap.Push(ts, t)
}

func (ts *timers) cancel(id string) {
	if t := ts.byID[id]; t != nil {
		delete(ts.byID, id)
		heap.Remove(ts, t.index)
	}
}

// next is the time of the earliest timer.
func (ts *timers) next() (at time.Time, ok bool) {
	if len(ts.order) == 0 {
		return time.Time{}, false
	}
	return ts.order[0].at, true
}

// due takes out the earliest timer if its time has come.
func (ts *timers) due(now time.Time) (id string, ok bool) {
	if at, set := ts.next(); !set || at.After(now) {
		return "", false
	}
	id = ts.order[0].id
	ts.cancel(id)
	return id, true
}

// The methods of heap.Interface.

func (ts *timers) Len() int           { return len(ts.order) }
func (ts *timers) Less(i, j int) bool { return ts.order[i].at.Before(ts.order[j].at) }

func (ts *timers) Swap(i, j int) {
	ts.order[i], ts.order[j] = ts.order[j], ts.order[i]
	ts.order[i].index, ts.order[j].index = i, j
}

func (ts *timers) Push(x any) {
	t := x.(*timer)
	t.index = len(ts.order)
	ts.order = append(ts.order, t)
}

func (ts *timers) Pop() any {
	last := len(ts.order) - 1
	t := ts.order[last]
	ts.order[last] = nil
	ts.order = ts.order[:last]
	return t
}

// alarm is the channel of the earliest timer. It is made anew only when that
// changes: while a run goes on, its earliest timer is mostly the same.
type alarm struct {
	time  time.Time
	fires <-chan time.Time
	end   func()
}

func (a *alarm) at(ts *timers, clock Clock) <-chan time.Time {
	next, set := ts.next()
	if set && a.end != nil && next.Equal(a.time) {
		return a.fires
	}
	a.stop()
	if !set {
		return nil
	}
	a.time = next
	a.fires, a.end = clock.Timer(max(0, next.Sub(clock.Now())))
	return a.fires
}

// stop ends the alarm, so that the next one is made anew.
func (a *alarm) stop() {
	if a.end != nil {
		a.end()
		a.end = nil
	}
}
