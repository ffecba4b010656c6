package shell

import (
	"bytes"
	"errors"
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

	mu     sync.Mutex
	out    []byte
	errors []byte // the end of standard error
}

// errTooMuch ends a command that prints more than it may.
var errTooMuch = errors.New("shell: too much output")

func (c *capture) stdout(piece []byte) error {
	c.log(piece)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out)+len(piece) > c.limit {
		return errTooMuch
	}
	c.out = append(c.out, piece...)
	return nil
}

func (c *capture) stderr(piece []byte) error {
	c.log(piece)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors = append(c.errors, piece...)
	if len(c.errors) > 2*maxTail {
		c.errors = append(c.errors[:0], c.errors[len(c.errors)-maxTail:]...)
	}
	return nil
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
