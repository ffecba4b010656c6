package server

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
)

// history returns what happened in a run after an event: at most limit entries, and whether there are more.
func (s *Server) history(ctx context.Context, p served, r *hocket.Run, after hocket.EventID, limit int) ([]Event, bool, error) {
	key := p.name + "/" + r.ID()
	if found := s.ahead.take(key, after, limit); found != nil {
		return found, true, nil
	}
	found := []Event{}
	var next piece
	for e, err := range r.History(ctx, after) {
		if err != nil {
			return nil, false, err
		}
		one, err := eventOf(e)
		if err != nil {
			return nil, false, err
		}
		if len(found) < limit {
			found, next.after = append(found, *one), e.ID
			continue
		}
		next.add(e.ID, one)
		if after == (hocket.EventID{}) || next.size > maxAhead { // many clients want the first page only
			break
		}
	}
	if len(next.events) > 1 {
		s.ahead.keep(key, &next)
	}
	return found, len(next.events) > 0, nil
}

// ahead keeps the entries that clients which read histories page by page will ask for next. A replay begins with the first
// event: one for each page would take time that grows with the square of the length.
type ahead struct {
	mu     sync.Mutex
	pieces map[string]*piece // by project and run
}

// piece is a part of a history. What is recorded does not change, so it can be kept; only its end may not be that of the
// history any more.
type piece struct {
	after  hocket.EventID // the entry before the first
	ids    []hocket.EventID
	events []Event
	size   int // about, in bytes
	used   *time.Timer
}

const (
	maxAhead  = 16 << 20 // bytes of one history
	maxPieces = 4
	aheadFor  = 10 * time.Second // how long they are kept after their last use
)

func (p *piece) add(id hocket.EventID, e *Event) {
	p.ids, p.events = append(p.ids, id), append(p.events, *e)
	p.size += 500 + len(e.Text) + len(e.Recorded)
	if e.Output != nil {
		data, _ := json.Marshal(e.Output) // which was read from JSON
		p.size += len(data)
	}
}

// take returns a number of entries after an id, nil unless it has them and at least one more.
func (a *ahead) take(key string, after hocket.EventID, n int) []Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pieces[key]
	if p == nil || later(p.after, after) {
		return nil
	}
	first, found := slices.BinarySearchFunc(p.ids, after, func(id, after hocket.EventID) int {
		switch {
		case later(id, after):
			return 1
		case later(after, id):
			return -1
		}
		return 0
	})
	if found {
		first++
	}
	if first+n >= len(p.events) {
		return nil
	}
	p.used.Reset(aheadFor)
	return slices.Clone(p.events[first : first+n])
}

func (a *ahead) keep(key string, p *piece) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before := a.pieces[key]; before != nil {
		before.used.Stop()
	} else if len(a.pieces) == maxPieces {
		return
	}
	if a.pieces == nil {
		a.pieces = map[string]*piece{}
	}
	a.pieces[key] = p
	p.used = time.AfterFunc(aheadFor, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.pieces[key] == p {
			delete(a.pieces, key)
		}
	})
}
