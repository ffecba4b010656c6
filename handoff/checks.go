package handoff

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

// CheckNote records the check of a text before it is sent, even if the text was refused.
type CheckNote struct {
	Time   time.Time `json:"time"`
	File   string    `json:"file"`
	Blocks int       `json:"blocks"` // requests; zero: prose
	Passed bool      `json:"passed"`
	Codes  []string  `json:"codes,omitempty"`  // of the errors
	Errors []string  `json:"errors,omitempty"` // their summaries
}

func (s *Sessions) checksFile() string { return filepath.Join(s.p.State(), "handoff-checks.jsonl") }

// codeSecret is the code for texts that were refused because of a secret. No diagnostic uses it,
// because a diagnostic would show the text.
const codeSecret = "secret"

// noteSecret records that a text was refused because it contains a secret.
func (s *Sessions) noteSecret(o Order, h *protocol.Handoffs) error {
	return s.note(CheckNote{File: o.File, Blocks: h.Blocks, Codes: []string{codeSecret}, Errors: []string{"the text contains the value of a secret"}})
}

// noteCheck records a check.
func (s *Sessions) noteCheck(o Order, h *protocol.Handoffs) error {
	n := CheckNote{File: o.File, Blocks: h.Blocks, Passed: !h.Found.Errors()}
	for _, d := range h.Found {
		if d.Severity == workflow.Error {
			n.Codes, n.Errors = append(n.Codes, d.Code), append(n.Errors, d.Summary)
		}
	}
	return s.note(n)
}

func (s *Sessions) note(n CheckNote) error {
	n.Time = s.now().UTC()
	line, err := json.Marshal(n)
	if err == nil {
		err = os.MkdirAll(s.p.State(), 0o700)
	}
	if err != nil {
		return fmt.Errorf("handoff: cannot record the check: %w", err)
	}
	f, err := os.OpenFile(s.checksFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("handoff: cannot record the check: %w", err)
	}
	_, err = f.Write(append(line, '\n')) // one write, so that lines of several processes do not mix
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("handoff: cannot record the check: %w", err)
	}
	return nil
}

// Checks returns all recorded checks, oldest first. It skips a line that was cut off because the
// disk was full.
func (s *Sessions) Checks() ([]CheckNote, error) {
	text, err := os.ReadFile(s.checksFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("handoff: %w", err)
	}
	var notes []CheckNote
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var n CheckNote
		if json.Unmarshal(lines.Bytes(), &n) == nil {
			notes = append(notes, n)
		}
	}
	return notes, lines.Err()
}
