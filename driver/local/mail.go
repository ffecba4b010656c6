package local

import (
	"sync"

	"github.com/hocket-dev/hocket/engine"
)

// letter is a message of another goroutine to the loop: the result of an attempt, a
// question of an attempt, work that it hands off, or a person's answer.
type letter struct {
	ended   engine.Envelope // of a TaskEnded, if it has an event
	query   *query
	handing *handing
	answer  *answer
}

// mailbox accepts letters from many goroutines without blocking them. The loop takes all of
// them at once.
type mailbox struct {
	mu      sync.Mutex
	letters []letter
	closed  bool
	wake    chan struct{} // holds one token while there are letters
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1)}
}

// post adds a letter; false if the mailbox is closed.
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

// take returns all letters, and reuses the memory of the previous ones.
func (m *mailbox) take(room []letter) []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.letters
	m.letters = room[:0]
	return taken
}

// empty reports whether there are no letters.
func (m *mailbox) empty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.letters) == 0
}

// close accepts no more letters and returns the unread ones.
func (m *mailbox) close() []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.letters
}
