package temporal

import (
	"slices"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// madeBefore returns how many events with which a run is recorded were made before: a fork begins with those of another run.
func madeBefore(events []eventJSON) int {
	for i, e := range slices.Backward(events) {
		if _, ok := e.Event.(*engine.Forked); ok {
			return i
		}
	}
	return 0
}

// dated returns an event that was recorded before an execution began, with the server's time then if the client has made it: what the run
// waits for would come too early or too late by as much as the client's clock is wrong. Nothing has happened later than that, either.
func (m *machine) dated(e engine.Envelope, made bool, start time.Time) engine.Envelope {
	if !made && !e.Time.After(start) {
		return e
	}
	if e.Time = start; start.Before(m.last) { // it follows events of a run whose client was ahead
		e.Time = m.last
	}
	if m.unattended { // otherwise a process has measured it
		e.Clock = m.run.ClockAt(e.Time)
	}
	return e
}

// at returns an event of a moment. Within a run, time does not go backwards: after events of a client whose clock was ahead, it stands
// still. The run's clock does not, except in runs of earlier versions.
func (m *machine) at(now time.Time, ev engine.Event) engine.Envelope {
	e := engine.Envelope{Time: now, Event: ev}
	if now.Before(m.last) {
		e.Time = m.last
	}
	if m.version < 4 {
		now = e.Time
	}
	e.Clock = max(1, now.Sub(m.began))
	return e
}

// newest returns the moment of the newest event.
func (m *machine) newest() time.Time {
	if m.version < 4 {
		return m.last
	}
	return m.began.Add(m.run.ClockAt(m.run.Time()))
}
