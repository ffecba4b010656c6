package journal

import (
	"context"
	"database/sql"
	"errors"
)

// Snapshot returns the state of a run as its driver last stored it; nil if there is none.
// It is a cache: if it cannot be used, replay the events.
func (s *Store) Snapshot(ctx context.Context, run string) ([]byte, error) {
	var data []byte
	err := s.read.QueryRowContext(ctx, "SELECT s.data FROM snapshots s JOIN runs r ON r.number = s.run WHERE r.id = ?", run).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return data, explain(s.file, err)
}

// Keep stores the state of the run, replacing the previous one.
func (w *Writer) Keep(snapshot []byte) error {
	return w.store.transact(func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO snapshots (run, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data", w.number, snapshot)
		return err
	})
}
