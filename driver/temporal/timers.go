package temporal

import (
	"cmp"
	"slices"
	"time"
)

// timers are the timers of the engine, earliest first.
type timers struct {
	at    map[string]time.Time
	order []alarm
}

type alarm struct {
	at time.Time
	id string
}

func (a alarm) compare(b alarm) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) }

func (t *timers) set(id string, at time.Time) {
	t.clear(id)
	t.at[id] = at
	i, _ := slices.BinarySearchFunc(t.order, alarm{at, id}, alarm.compare)
	t.order = slices.Insert(t.order, i, alarm{at, id})
}

func (t *timers) clear(id string) {
	at, ok := t.at[id]
	if !ok {
		return
	}
	delete(t.at, id)
	i, _ := slices.BinarySearchFunc(t.order, alarm{at, id}, alarm.compare)
	t.order = slices.Delete(t.order, i, i+1)
}

// due returns the first timer that is due.
func (m *machine) due(now time.Time) (id string, ok bool) {
	id, at := m.earliest()
	return id, id != "" && !at.After(now)
}

func (m *machine) earliest() (id string, at time.Time) {
	if len(m.timers.order) == 0 {
		return "", time.Time{}
	}
	return m.timers.order[0].id, m.timers.order[0].at
}

// arm sets the timer of the workflow if it would fire too late. One that fires too early does no harm,
// and most timeouts of steps are cancelled: so a step with a timeout adds nothing to the history.
func (m *machine) arm() {
	id, at := m.earliest()
	if m.over || id == "" || len(m.armed) > 0 && !at.Before(m.armed[0]) {
		return
	}
	m.armed = slices.Insert(m.armed, 0, at)
	m.do.arm(at)
}
