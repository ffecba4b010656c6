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

	"github.com/hocket-dev/hocket/driver"
)

// encodePin is a pin as it is stored: once, by the hash of its JSON, for all runs
// that use the same.
func encodePin(p *driver.Pin) (hash string, data []byte, err error) {
	if p == nil || p.Bundle == nil || p.Bundle.Root == nil {
		return "", nil, errors.New("journal: a pin needs a workflow")
	}
	data, err = json.Marshal(p)
	if err != nil {
		return "", nil, fmt.Errorf("journal: pin: %w", err)
	}
	return hashOf(data), data, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Pin reads what a run was started with.
func (s *Store) Pin(ctx context.Context, run string) (*driver.Pin, error) {
	var hash string
	var data []byte
	err := s.read.QueryRowContext(ctx, "SELECT p.hash, p.data FROM runs r JOIN pins p ON p.hash = r.pin WHERE r.id = ?", run).Scan(&hash, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &driver.UnknownRunError{ID: run}
	}
	if err != nil {
		return nil, explain(s.file, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // values keep their numbers as they are written
	p := &driver.Pin{}
	if hash != hashOf(data) {
		return nil, s.damaged(fmt.Sprintf("the definition of run %s does not have its hash", run), nil)
	}
	err = dec.Decode(p)
	if err == nil && (p.Bundle == nil || p.Bundle.Root == nil) {
		err = errors.New("it has no workflow")
	}
	if err != nil {
		return nil, s.damaged("", fmt.Errorf("definition of run %s: %w", run, err))
	}
	return p, nil
}
