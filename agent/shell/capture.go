package shell

import (
	"bytes"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/process"
)

// capture keeps what a command prints, up to a limit, and passes all of it to the log.
type capture struct {
	log  agent.Log
	out  process.Output
	said process.Tail // the end of standard error
}

func (c *capture) stdout(piece []byte) error {
	c.log(piece)
	return c.out.Add(piece)
}

func (c *capture) stderr(piece []byte) error {
	c.log(piece)
	return c.said.Add(piece)
}

// output returns standard output as the task's result.
func (c *capture) output() (string, error) {
	out := c.out.Bytes()
	if at := agent.NotText(out); at > 0 {
		return "", agent.Permanentf("its output is not UTF-8 text at byte %d; encode it, for example with base64, or write it to a file", at)
	}
	return string(bytes.TrimRight(out, "\r\n")), nil
}

// lastWords returns the end of what the command printed, formatted to follow the reason of
// its failure.
func (c *capture) lastWords() string {
	said := c.said.Last()
	if said == "" {
		said = process.LastLines(string(c.out.Bytes()))
	}
	if said == "" {
		return ""
	}
	return ": " + said
}
