package driver

import (
	"sync"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// maxPieces is how many pieces of logs wait for a slow observer before some are dropped.
// Facts are never dropped.
const maxPieces = 1000

// breath is how long the audience pauses after it has seen something. Waking it for every
// fact costs as much as a short step.
const breath = time.Millisecond

// Audience passes what happens to an observer, on its own goroutine, so that nothing waits for it. A nil
// Audience has no observer.
type Audience struct {
	observer Observer
	done     chan struct{}

	mu     sync.Mutex
	more   *sync.Cond
	queue  []notice
	pieces int
	closed bool
}

type notice struct {
	fact    engine.Fact
	address string
	attempt int
	piece   []byte // not nil: a piece of a log
}

// NewAudience returns the audience of an observer, which may be nil.
func NewAudience(o Observer) *Audience {
	if o == nil {
		return nil
	}
	a := &Audience{observer: o, done: make(chan struct{})}
	a.more = sync.NewCond(&a.mu)
	go a.serve()
	return a
}

// Facts shows facts.
func (a *Audience) Facts(facts []engine.Fact) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range facts {
		a.queue = append(a.queue, notice{fact: f})
	}
	a.more.Signal()
}

// Log shows what an attempt printed, unless the observer is far behind.
func (a *Audience) Log(address string, attempt int, piece []byte) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pieces == maxPieces || a.closed {
		return
	}
	a.pieces++
	a.queue = append(a.queue, notice{address: address, attempt: attempt, piece: append([]byte{}, piece...)})
	a.more.Signal()
}

// Close waits until the observer has seen everything.
func (a *Audience) Close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	a.closed = true
	a.more.Signal()
	a.mu.Unlock()
	<-a.done
}

func (a *Audience) serve() {
	defer close(a.done)
	var queue []notice
	for {
		a.mu.Lock()
		for len(a.queue) == 0 && !a.closed {
			a.more.Wait()
		}
		clear(queue)
		if cap(queue) > maxPieces {
			queue = nil
		}
		queue, a.queue, a.pieces = a.queue, queue[:0], 0
		a.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, n := range queue {
			if n.piece != nil {
				a.observer.Log(n.address, n.attempt, n.piece)
			} else {
				a.observer.Fact(n.fact)
			}
		}
		time.Sleep(breath)
	}
}
