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
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// encodePin returns a pin as it is stored: once, by the hash of its JSON, for all runs that
// use the same.
func encodePin(p *driver.Pin) (hash string, data []byte, err error) {
	if p == nil || p.Bundle == nil || p.Bundle.Root == nil {
		return "", nil, errors.New("journal: a pin needs a workflow")
	}
	stored := storedPin{Pin: p}
	if stored.Bundle, err = workflow.Store(p.Bundle); err == nil {
		data, err = json.Marshal(stored)
	}
	if err != nil {
		return "", nil, fmt.Errorf("journal: pin: %w", err)
	}
	return hashOf(data), data, nil
}

// storedPin is a pin in a form that is fast to write and read.
type storedPin struct {
	Bundle workflow.StoredBundle `json:"bundle"`
	*driver.Pin
}

func decodePin(data []byte) (*driver.Pin, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // numbers keep their notation
	stored := storedPin{Pin: &driver.Pin{}}
	err := dec.Decode(&stored)
	if err == nil && stored.Bundle.Root == nil {
		err = errors.New("it has no workflow")
	}
	if err == nil {
		stored.Pin.Bundle, err = stored.Bundle.Bundle()
	}
	return stored.Pin, err
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// SamePin reports whether two pins are stored as one.
func SamePin(a, b *driver.Pin) bool {
	if a == b {
		return true
	}
	first, _, err := encodePin(a)
	if err != nil {
		return false
	}
	second, _, err := encodePin(b)
	return err == nil && first == second
}

// lastPin is the definition that was read last. Decoding it takes longer than replaying a
// run, and the host reads it before the driver does.
type lastPin struct {
	hash string
	pin  *driver.Pin
}

// Pin reads what a run works with now: what it was started with, or its newest plan. Callers share
// it, and must not change it.
func (s *Store) Pin(ctx context.Context, run string) (*driver.Pin, error) {
	return s.pinOf(ctx, run, "SELECT pin FROM runs WHERE id = ?")
}

// FirstPin reads what a run was started with, with which its events are replayed. Callers share it,
// and must not change it.
func (s *Store) FirstPin(ctx context.Context, run string) (*driver.Pin, error) {
	return s.pinOf(ctx, run, "SELECT coalesce(first, pin) FROM runs WHERE id = ?")
}

func (s *Store) pinOf(ctx context.Context, run, query string) (*driver.Pin, error) {
	var hash string
	err := s.read.QueryRowContext(ctx, query, run).Scan(&hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &driver.UnknownRunError{ID: run}
	}
	if err != nil {
		return nil, explain(s.file, err)
	}
	return s.cachedPin(ctx, run, hash)
}

func (s *Store) cachedPin(ctx context.Context, run, hash string) (*driver.Pin, error) {
	if last := s.lastPin.Load(); last != nil && last.hash == hash {
		return last.pin, nil
	}
	p, err := s.readPin(ctx, run, hash)
	if err == nil {
		s.lastPin.Store(&lastPin{hash, p})
	}
	return p, err
}

// AddPlan stores a pin that an event of a run is about to name, and returns its hash.
func (s *Store) AddPlan(ctx context.Context, run string, p *driver.Pin) (hash string, err error) {
	hash, data, err := encodePin(p)
	if err != nil {
		return "", err
	}
	number, err := s.number(ctx, run)
	if err != nil {
		return "", err
	}
	return hash, s.transact(func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT INTO pins (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING", hash, string(data)); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO plans (run, pin) VALUES (?, ?) ON CONFLICT DO NOTHING", number, hash)
		return err
	})
}

// DropPlan removes a pin that AddPlan has stored and that the run has refused, unless another event of
// the run, or a message to it, names it.
func (s *Store) DropPlan(ctx context.Context, run, hash string) error {
	number, err := s.number(ctx, run)
	if err != nil {
		return err
	}
	return s.transact(func(tx *sql.Tx) error {
		_, err := tx.Exec(`DELETE FROM plans WHERE run = ?1 AND pin = ?2
			AND NOT EXISTS (SELECT 1 FROM events WHERE run = ?1 AND instr(data, ?2) > 0)
			AND NOT EXISTS (SELECT 1 FROM inbox WHERE run = ?1 AND verdict IS NULL AND instr(event, ?2) > 0)`, number, hash)
		if err != nil {
			return err
		}
		_, err = tx.Exec(deleteLoosePins)
		return err
	})
}

// Plan reads a pin that an event of a run names.
func (s *Store) Plan(ctx context.Context, run, hash string) (*driver.Pin, error) {
	return s.cachedPin(ctx, run, hash)
}

// addBundle completes an event that names a plan.
func (s *Store) addBundle(ctx context.Context, run string, ev engine.Event) error {
	plan, ok := ev.(*engine.Replanned)
	if !ok {
		return nil
	}
	p, err := s.cachedPin(ctx, run, plan.Plan)
	if err == nil {
		plan.Bundle = p.Bundle
	}
	return err
}

func (s *Store) readPin(ctx context.Context, run, hash string) (*driver.Pin, error) {
	var data []byte
	err := s.read.QueryRowContext(ctx, "SELECT data FROM pins WHERE hash = ?", hash).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, s.damaged(fmt.Sprintf("the definition of run %s is missing", run), nil)
	}
	if err != nil {
		return nil, explain(s.file, err)
	}
	if hash != hashOf(data) {
		return nil, s.damaged(fmt.Sprintf("the definition of run %s does not match its hash", run), nil)
	}
	p, err := decodePin(data)
	if err != nil {
		return nil, s.damaged("", fmt.Errorf("definition of run %s: %w", run, err))
	}
	return p, nil
}
