package temporal

import (
	"slices"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// launch starts an attempt, unless it has to wait for the next execution or for its worker.
func (m *machine) launch(c *engine.StartTask) {
	m.send(&attempt{task: c, pin: m.pin, site: m.pin.Site(c)})
}

func (m *machine) send(a *attempt) {
	key, label := a.key(), a.site.Queue
	switch {
	case m.drain && !m.awaited():
		m.held = append(m.held, a)
	case a.site.Stays && m.homes[label] == "":
		m.seek(a)
	case len(m.crowded) > 0 || len(m.attempts) >= mostOpen || !m.fits():
		m.crowded = append(m.crowded, a)
	default:
		m.attempts[key], m.fresh[key] = a, true
		m.do.start(key, a)
	}
}

// untaken asks again for an attempt that no worker has taken for a while.
func (m *machine) untaken(now time.Time, key attemptKey) error {
	a := m.attempts[key]
	switch {
	case a == nil || m.over:
		return nil
	case m.stopping[key]:
		return m.arrived(now, arrival{ended: failed(key, engine.FaultCancelled)})
	}
	delete(m.attempts, key)
	a.waits = true
	m.send(a)
	return m.wait([]*attempt{a})
}

// awaited reports whether an attempt waits for work that it has handed off, which therefore must be done.
func (m *machine) awaited() bool {
	return len(m.handings) > 0 || m.asking != nil && m.asking.waits
}

// unlaunched removes an attempt that was not started yet.
func (m *machine) unlaunched(key attemptKey) bool {
	is := func(a *attempt) bool { return key == a.key() }
	if i := slices.IndexFunc(m.held, is); i >= 0 {
		m.held = slices.Delete(m.held, i, i+1)
		return true
	}
	if i := slices.IndexFunc(m.crowded, is); i >= 0 {
		m.crowded = slices.Delete(m.crowded, i, i+1)
		return true
	}
	for label, waiting := range m.homeless {
		if i := slices.IndexFunc(waiting, is); i >= 0 {
			m.homeless[label] = slices.Delete(waiting, i, i+1)
			return true
		}
	}
	return false
}

// stop ends an attempt. One that has not begun is over at once.
func (m *machine) stop(key attemptKey) {
	if m.unlaunched(key) {
		m.own = append(m.own, arrival{ended: failed(key, engine.FaultCancelled)})
		return
	}
	if _, ok := m.attempts[key]; ok {
		m.stopping[key] = true
		if m.fresh[key] {
			m.halting = append(m.halting, key)
			m.soon()
			return
		}
		m.do.stop(key)
	}
}
