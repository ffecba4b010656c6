package process

import (
	"errors"
	"slices"
	"strings"
	"sync"
)

// maxTail is how many bytes of the end of a command's output are kept, and maxLastLines how
// many lines of it an error shows.
const (
	maxTail      = 8 << 10
	maxLastLines = 10
)

// Tail keeps the end of what a command prints, to explain a failure. The zero value is
// empty. It is safe for concurrent use: an orphan may print while it is read.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// Add is a [Sink] that accepts everything.
func (t *Tail) Add(piece []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, piece...)
	if len(t.text) > 2*maxTail { // rarely, so that it costs little
		t.text = append(t.text[:0], t.text[len(t.text)-maxTail:]...)
	}
	return nil
}

func (t *Tail) Write(piece []byte) (int, error) { return len(piece), t.Add(piece) }

// String returns everything that is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// Last returns the last lines, as text.
func (t *Tail) Last() string { return LastLines(t.String()) }

// LastLines returns the lines at the end of a command's output that an error shows.
func LastLines(printed string) string {
	text := strings.TrimSpace(strings.ToValidUTF8(printed[max(0, len(printed)-maxTail):], "\uFFFD"))
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-maxLastLines):], "\n")
}

// ErrTooMuch means that a command printed more than allowed.
var ErrTooMuch = errors.New("process: too much output")

// Output keeps what a command prints, up to a limit. It is safe for concurrent use.
type Output struct {
	Limit int // in bytes

	mu   sync.Mutex
	text []byte
}

// Add is a [Sink] that returns ErrTooMuch beyond the limit.
func (o *Output) Add(piece []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.text)+len(piece) > o.Limit {
		return ErrTooMuch
	}
	o.text = append(o.text, piece...)
	return nil
}

// Bytes returns what is kept. Later output does not change it.
func (o *Output) Bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clip(o.text)
}
