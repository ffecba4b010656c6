package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hocket-dev/hocket/workflow"
)

// Pin is everything that a run was started with and that could change
// afterwards: editing a file does not touch a run under way. It is stored once,
// by the hash of its JSON, for all runs that use the same.
type Pin struct {
	Bundle *workflow.Bundle `json:"bundle"`
	// Sources are the texts of the files that were read, by path.
	Sources map[string]string `json:"sources,omitempty"`
	// Agents and Replies are documents of whoever runs the tasks; the journal
	// does not look into them.
	Agents  json.RawMessage `json:"agents,omitempty"`
	Replies json.RawMessage `json:"replies,omitempty"`
	// Dir is the project's root, absolute.
	Dir string `json:"dir,omitempty"`
}

func (p *Pin) encode() (hash string, data []byte, err error) {
	if p == nil || p.Bundle == nil || p.Bundle.Root == nil {
		return "", nil, errors.New("journal: a pin needs a workflow")
	}
	data, err = json.Marshal(p)
	if err != nil {
		return "", nil, fmt.Errorf("journal: pin: %w", err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), data, nil
}

// Pin reads what a run was started with.
func (s *Store) Pin(ctx context.Context, run string) (*Pin, error) {
	var data []byte
	err := s.read.QueryRowContext(ctx, "SELECT p.data FROM runs r JOIN pins p ON p.hash = r.pin WHERE r.id = ?", run).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &UnknownRunError{ID: run}
	}
	if err != nil {
		return nil, explain(s.file, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // values keep their numbers as they are written
	p := &Pin{}
	if err := dec.Decode(p); err != nil {
		return nil, s.damaged("", fmt.Errorf("definition of run %s: %w", run, err))
	}
	return p, nil
}
