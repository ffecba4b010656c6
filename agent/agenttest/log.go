// Package agenttest has helpers for the tests of executors.
package agenttest

import (
	"strings"
	"sync"
)

// Log collects what an attempt prints. Its zero value is empty; it is safe for
// concurrent use.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Add is an agent.Log.
func (l *Log) Add(piece []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(piece)
}

// String returns everything that was printed so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
