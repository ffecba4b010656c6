package tool

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
)

// masked stands where the value of a secret would.
const masked = "***"

// secrets are the values that a call was given, by name.
type secrets map[string]string

// hide masks every value in a text, also a line of one that has several.
func (s secrets) hide(text string) string {
	var values []string
	for _, value := range s {
		for line := range strings.SplitSeq(value, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				values = append(values, line)
			}
		}
	}
	// The longest first: one secret may be the beginning of another.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, value := range values {
		text = strings.ReplaceAll(text, value, masked)
	}
	return text
}

// longestLine is how much of a line is held back until its end comes.
const longestLine = 64 << 10

// lines hands what a program prints to a log in whole lines, so that a secret that
// comes in two pieces is still seen. It is safe for concurrent use.
type lines struct {
	secrets secrets
	log     agent.Log

	mu   sync.Mutex
	rest []byte
}

func (l *lines) write(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, b...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 && len(l.rest) > longestLine {
		end = len(l.rest)
	}
	l.emit(end)
}

// flush hands on what has no end.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.emit(len(l.rest))
}

func (l *lines) emit(end int) {
	if end > 0 {
		l.log([]byte(l.secrets.hide(string(l.rest[:end]))))
		l.rest = append(l.rest[:0], l.rest[end:]...)
	}
}
