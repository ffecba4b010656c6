package llm

import (
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
)

// lines writes the log of an attempt: the words of the model as they come, and
// between them whole lines about what is done. It is safe for concurrent use.
type lines struct {
	mu     sync.Mutex
	log    agent.Log
	inside bool // of a line
}

// write hands on a piece of an answer at once.
func (l *lines) write(piece string) {
	if piece == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log([]byte(piece))
	l.inside = !strings.HasSuffix(piece, "\n")
}

// line writes a line of its own.
func (l *lines) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside {
		text = "\n" + text
	}
	l.log([]byte(text + "\n"))
	l.inside = false
}

// end closes a line that was begun.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside {
		l.log([]byte("\n"))
	}
	l.inside = false
}

// piece lets a tool write whatever it likes.
func (l *lines) piece(p []byte) { l.write(string(p)) }
