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
