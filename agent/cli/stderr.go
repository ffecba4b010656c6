package cli

import (
	"bytes"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/process"
)

// complaints reads standard error: it is logged, its end is kept for error messages, and
// each line is inspected as it arrives. Some CLIs report only there that they wait for a
// quota.
type complaints struct {
	log   *agent.Lines
	said  process.Tail
	rules []errorRule
	line  []byte // incomplete
}

// complaint is a line on standard error that ends a run.
type complaint struct {
	means Meaning
	words string
}

func (c *complaint) Error() string { return "cli: " + c.words }

// maxComplaint is the longest line that is inspected.
const maxComplaint = 64 << 10

// add is a [process.Sink].
func (c *complaints) add(piece []byte) error {
	_ = c.said.Add(piece) // takes everything
	for len(piece) > 0 {
		part, rest, ended := bytes.Cut(piece, []byte("\n"))
		c.line = append(c.line, part[:min(len(part), maxComplaint-min(len(c.line), maxComplaint))]...)
		if ended {
			if err := c.end(); err != nil {
				return err
			}
		}
		piece = rest
	}
	return nil
}

// end ends a line.
func (c *complaints) end() error {
	line := strings.TrimRight(strings.ToValidUTF8(string(c.line), "\uFFFD"), "\r")
	c.line = c.line[:0]
	if line == "" {
		return nil
	}
	c.log.Line(line)
	return c.look(line)
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
		return &complaint{means: rule.means, words: agent.OneLine(words, maxNote)}
	}
	return nil
}
