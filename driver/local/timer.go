package local

import (
	"container/heap"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// timers are the timers of a run, on its own clock and on the wall clock. They are
// owned by the loop.
type timers struct{ clock, wall schedule }

func (ts *timers) set(c *engine.SetTimer) {
	ts.cancel(c.ID)
	if c.At.IsZero() {
		ts.clock.set(c.ID, int64(c.Clock))
	} else {
		ts.wall.set(c.ID, c.At.UnixNano())
	}
}

func (ts *timers) cancel(id string) {
	ts.clock.cancel(id)
	ts.wall.cancel(id)
}

// left returns the time until the next timer is due; !ok if there is none.
func (ts *timers) left(c runClock) (left time.Duration, ok bool) {
	due, ok := ts.clock.next()
	left = time.Duration(due) - c.elapsed()
	if at, set := ts.wall.next(); set {
		if d := time.Unix(0, at).Sub(c.clock.Now()); !ok || d < left {
			left, ok = d, true
		}
	}
	return left, ok
}

// due removes and returns a timer that is due.
func (ts *timers) due(c runClock) (id string, ok bool) {
	if id, ok = ts.wall.due(c.clock.Now().UnixNano()); !ok {
		id, ok = ts.clock.due(int64(c.elapsed()))
	}
	return id, ok
}

// schedule holds timers on one clock, earliest first.
type schedule struct {
	order []*timer
	byID  map[string]*timer
}

type timer struct {
	id    string
	due   int64 // nanoseconds
	index int   // in order
}

// set sets a timer; one with the same id is replaced.
func (s *schedule) set(id string, due int64) {
	if t := s.byID[id]; t != nil {
		t.due = due
		heap.Fix(s, t.index)
		return
	}
	if s.byID == nil {
		s.byID = map[string]*timer{}
	}
	t := &timer{id: id, due: due}
	s.byID[id] = t
	heap.Push(s, t)
}

func (s *schedule) cancel(id string) {
	if t := s.byID[id]; t != nil {
		delete(s.byID, id)
		heap.Remove(s, t.index)
	}
}

// next returns when the earliest timer is due.
func (s *schedule) next() (due int64, ok bool) {
	if len(s.order) == 0 {
		return 0, false
	}
	return s.order[0].due, true
}

// due removes and returns the earliest timer if it is due.
func (s *schedule) due(now int64) (id string, ok bool) {
	if due, set := s.next(); !set || due > now {
		return "", false
	}
	id = s.order[0].id
	s.cancel(id)
	return id, true
}

// The methods of heap.Interface.

func (s *schedule) Len() int           { return len(s.order) }
func (s *schedule) Less(i, j int) bool { return s.order[i].due < s.order[j].due }

func (s *schedule) Swap(i, j int) {
	s.order[i], s.order[j] = s.order[j], s.order[i]
	s.order[i].index, s.order[j].index = i, j
}

func (s *schedule) Push(x any) {
	t := x.(*timer)
	t.index = len(s.order)
	s.order = append(s.order, t)
}

func (s *schedule) Pop() any {
	last := len(s.order) - 1
	t := s.order[last]
	s.order[last] = nil
	s.order = s.order[:last]
	return t
}

// alarm is the channel of the earliest timer. It is recreated only when that changes, which
// is rare while a run is in progress.
type alarm struct {
	clock, wall int64 // the earliest timers for which it was created
	fires       <-chan time.Time
	end         func()
}

func (a *alarm) at(ts *timers, c runClock) <-chan time.Time {
	clock, _ := ts.clock.next()
	wall, _ := ts.wall.next()
	if a.end != nil && clock == a.clock && wall == a.wall {
		return a.fires
	}
	a.stop()
	left, set := ts.left(c)
	if !set {
		return nil
	}
	a.clock, a.wall = clock, wall
	a.fires, a.end = c.clock.Timer(max(0, left))
	return a.fires
}

// stop stops the alarm, so that a new one is created next time.
func (a *alarm) stop() {
	if a.end != nil {
		a.end()
		a.end = nil
	}
}
