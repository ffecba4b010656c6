package agent

import (
	"strings"
	"sync"
)

// Lines is the log of an attempt that mixes text that arrives in pieces with complete lines
// about what is being done. It is safe for concurrent use.
type Lines struct {
	log Log

	mu     sync.Mutex
	inside bool // in the middle of a line
}

// NewLines returns a new log.
func NewLines(log Log) *Lines { return &Lines{log: log} }

// Write passes a piece on at once.
func (l *Lines) Write(piece string) {
	if piece == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log([]byte(piece))
	l.inside = !strings.HasSuffix(piece, "\n")
}

// Piece is Write as a [Log]. It lets a tool write to the log.
func (l *Lines) Piece(p []byte) { l.Write(string(p)) }

// Line writes a separate line.
func (l *Lines) Line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside {
		text = "\n" + text
	}
	l.log([]byte(text + "\n"))
	l.inside = false
}

// End terminates an unfinished line.
func (l *Lines) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside {
		l.log([]byte("\n"))
	}
	l.inside = false
}
