package shell

import (
	"bytes"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
)

// maxTail is how much of the end of what a command prints is kept for an error;
// maxLastWords how much of that the error shows.
const (
	maxTail      = 4 << 10
	maxLastLines = 10
)

// capture keeps what a command prints, up to a limit, and hands all of it to the
// log. It is safe for concurrent use: an orphan may print while it is read.
type capture struct {
	limit int
	log   agent.Log
	over  chan struct{} // closed when standard output is over the limit

	mu     sync.Mutex
	out    []byte
	errors []byte // the end of standard error
	closed bool
}

func newCapture(limit int, log agent.Log) *capture {
	return &capture{limit: limit, log: log, over: make(chan struct{})}
}

func (c *capture) stdout(piece []byte) {
	c.log(piece)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.out = append(c.out, piece[:min(len(piece), c.limit+1-len(c.out))]...)
	if len(c.out) > c.limit {
		c.closed = true
		close(c.over)
	}
}

func (c *capture) stderr(piece []byte) {
	c.log(piece)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors = append(c.errors, piece...)
	if len(c.errors) > 2*maxTail {
		c.errors = append(c.errors[:0], c.errors[len(c.errors)-maxTail:]...)
	}
}

// output is standard output as the task's result.
func (c *capture) output() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := agent.NotText(c.out); at > 0 {
		return "", agent.Permanentf("its output is not text (UTF-8) at byte %d; encode it, e.g. with base64, or write it to a file", at)
	}
	return string(bytes.TrimRight(c.out, "\r\n")), nil
}

// lastWords is the end of what the command printed, ready to follow the reason of
// its failure.
func (c *capture) lastWords() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := bytes.TrimSpace(c.errors)
	if len(said) == 0 {
		said = bytes.TrimSpace(c.out)
	}
	if len(said) == 0 {
		return ""
	}
	text := strings.ToValidUTF8(string(said[max(0, len(said)-maxTail):]), "\uFFFD")
	lines := strings.Split(text, "\n")
	return ": " + strings.Join(lines[max(0, len(lines)-maxLastLines):], "\n")
}
