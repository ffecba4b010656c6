package agent

import (
	"strings"
	"sync"
)

// Lines is the log of an attempt in which words come piece by piece, and whole lines
// between them say what is done. It is safe for concurrent use.
type Lines struct {
	log Log

	mu     sync.Mutex
	inside bool // of a line
}

// NewLines begins a log.
func NewLines(log Log) *Lines { return &Lines{log: log} }

// Write hands on a piece at once.
func (l *Lines) Write(piece string) {
	if piece == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log([]byte(piece))
	l.inside = !strings.HasSuffix(piece, "\n")
}

// Piece is Write as a [Log]: it lets a tool write whatever it likes.
func (l *Lines) Piece(p []byte) { l.Write(string(p)) }

// Line writes a line of its own.
func (l *Lines) Line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside {
		text = "\n" + text
	}
	l.log([]byte(text + "\n"))
	l.inside = false
}

// End closes a line that was begun.
func (l *Lines) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside {
		l.log([]byte("\n"))
	}
	l.inside = false
}
