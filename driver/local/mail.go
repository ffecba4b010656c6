package local

import (
	"sync"

	"github.com/hocket-dev/hocket/engine"
)

// letter is what another goroutine has to say to the loop: the result of an
// attempt, what an attempt asks, or a person's answer.
type letter struct {
	ended  engine.Envelope // of a TaskEnded, if it has an event
	query  *query
	answer *answer
}

// mailbox takes letters from many goroutines without ever making them wait. The
// loop takes all that are there at once.
type mailbox struct {
	mu      sync.Mutex
	letters []letter
	closed  bool
	wake    chan struct{} // holds one token while there are letters
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1)}
}

// post adds a letter; false: nobody reads any more.
func (m *mailbox) post(l letter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.letters = append(m.letters, l)
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return true
}

// take gives all letters, and takes back the room of those before.
func (m *mailbox) take(room []letter) []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.letters
	m.letters = room[:0]
	return taken
}

// close takes no more letters and gives those that nobody has read.
func (m *mailbox) close() []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.letters
}
