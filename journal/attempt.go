package journal

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Note stores the session and the model of an attempt. An empty string leaves the previous
// value.
func (s *Store) Note(a driver.AttemptID, session, model string) error {
	return s.transact(func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO attempts (run, address, attempt, session, model) SELECT number, ?2, ?3, ?4, ?5 FROM runs WHERE id = ?1
			ON CONFLICT DO UPDATE SET session = coalesce(nullif(?4, ''), session), model = coalesce(nullif(?5, ''), model)`,
			a.Run, a.Address, a.Attempt, session, model)
		return err
	})
}

// noteUsage stores the usage of an attempt, for queries about what was spent. An attempt
// without usage needs no row.
func (w *Writer) noteUsage(tx *sql.Tx, ev *engine.TaskEnded, at time.Time) error {
	_, err := tx.Exec(`INSERT INTO attempts (run, address, attempt, usage, agent, ended) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET usage = excluded.usage, agent = excluded.agent, ended = excluded.ended`,
		w.number, ev.Address, ev.Attempt, workflow.FormatJSON(ev.Usage), ev.Agent, at.UnixMicro())
	return err
}

// Attempt reads what was noted about an attempt.
func (s *Store) Attempt(ctx context.Context, a driver.AttemptID) (session, model string, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT a.session, a.model FROM attempts a JOIN runs r ON r.number = a.run
		WHERE r.id = ? AND a.address = ? AND a.attempt = ?`, a.Run, a.Address, a.Attempt).Scan(&session, &model)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", "", explain(s.file, err)
	}
	if session == "" { // version 3 stored it in a file
		text, _ := os.ReadFile(s.beside(a, ".session")) // no file: no session
		session = strings.TrimSpace(string(text))
	}
	return session, model, nil
}

// Ended reports whether the end of an attempt, or of a later attempt at the same step, is
// recorded after an event, and up to which event it has checked.
func (s *Store) Ended(ctx context.Context, a driver.AttemptID, after int) (ended bool, last int, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT coalesce(max(seq), ?2), coalesce(max(data ->> 'type' = 'TaskEnded' AND data ->> 'address' = ?3 AND data ->> 'attempt' >= ?4), 0)
		FROM events WHERE run = (SELECT number FROM runs WHERE id = ?1) AND seq > ?2`, a.Run, after, a.Address, a.Attempt).Scan(&last, &ended)
	return ended, last, explain(s.file, err)
}
