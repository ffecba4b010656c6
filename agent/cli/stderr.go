package cli

import (
	"bytes"
	"strings"
	"sync"
)

// complaints read standard error: its end is kept for an error, and its lines are
// looked at as they come. Some CLIs say only there that they wait for a quota.
type complaints struct {
	tail
	rules []errorRule
	line  []byte // that has not ended
}

// complaint is a line on standard error that ends a run.
type complaint struct {
	means Meaning
	words string
}

func (c *complaint) Error() string { return "cli: " + c.words }

// maxComplaint is the longest line that is looked at.
const maxComplaint = 64 << 10

// add is a [process.Sink].
func (c *complaints) add(piece []byte) error {
	c.keep(piece)
	if len(c.rules) == 0 {
		return nil
	}
	for len(piece) > 0 {
		part, rest, ended := bytes.Cut(piece, []byte("\n"))
		c.line = append(c.line, part[:min(len(part), maxComplaint-min(len(c.line), maxComplaint))]...)
		if ended {
			if err := c.look(string(c.line)); err != nil {
				return err
			}
			c.line = c.line[:0]
		}
		piece = rest
	}
	return nil
}

func (c *complaints) look(line string) error {
	for _, rule := range c.rules {
		match := rule.matches.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		words := line
		if i := rule.matches.SubexpIndex("words"); i >= 0 {
			words = match[i]
		}
		return &complaint{means: rule.means, words: oneLine(strings.ToValidUTF8(words, "\uFFFD"), maxToolLine)}
	}
	return nil
}

// tail keeps the end of what is written to it. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is how much of the last words is kept, and maxLastLines how many lines of
// them an error shows.
const (
	maxTail      = 8 << 10
	maxLastLines = 10
)

func (t *tail) keep(piece []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, piece...)
	if len(t.text) > 2*maxTail {
		t.text = append(t.text[:0], t.text[len(t.text)-maxTail:]...)
	}
}

// last are the last lines.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text[max(0, len(t.text)-maxTail):]), "\uFFFD"))
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-maxLastLines):], "\n")
}

// all is everything that is kept.
func (t *tail) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
