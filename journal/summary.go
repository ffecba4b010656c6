package journal

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Summary is derived from the events of a run, and stored next to them so that lists need
// no replay. The driver of a run keeps it up to date. If a driver was killed, it may be
// behind the events: then [Run.Stale] is set, and [Store.Refresh] replaces it.
type Summary struct {
	Status    engine.Status
	At        time.Time // of the last event
	Due       time.Time // when the run must be driven again; zero: not by itself
	Usage     engine.RunUsage
	Questions []driver.Question // that are open
}

// nextVersion is the version of the next change of the list of runs.
const nextVersion = "(SELECT 1 + max(coalesce((SELECT max(version) FROM runs), 0), coalesce((SELECT max(version) FROM deleted), 0)))"

// record stores a summary of a run after an event. asks means that there may be questions
// of the previous one. last is the lease of the store that releases the run; "" if none
// does.
func (m *Summary) record(s *Store, tx *sql.Tx, number int64, seq int, asks bool, last string) error {
	var due any
	if !m.Due.IsZero() {
		due = micros(m.Due)
	}
	_, err := s.statements.exec(nil, tx, `UPDATE runs SET changed = iif(status <> ?1, ?2, changed), status = ?1, due = ?3, usage = ?4, noted = ?5, problem = '',
		driver = nullif(driver, ?6), version = `+nextVersion+` WHERE number = ?7`,
		string(m.Status), micros(m.At), due, workflow.FormatJSON(m.Usage), seq, last, number)
	if err == nil && asks {
		_, err = tx.Exec("DELETE FROM asked WHERE run = ?", number)
	}
	for _, q := range m.Questions {
		if err != nil {
			return err
		}
		q.Run = "" // the row says it
		_, err = tx.Exec("INSERT INTO asked (run, id, data) VALUES (?, ?, ?)", number, q.ID, workflow.FormatJSON(q))
	}
	return err
}

// Refresh replaces the outdated summary of a run by that of its events up to seq. If
// another process was faster, it does nothing.
func (s *Store) Refresh(r Run, seq int, m Summary) error {
	return s.transact(func(tx *sql.Tx) error {
		var noted int
		if err := tx.QueryRow("SELECT noted FROM runs WHERE number = ?", r.number).Scan(&noted); err != nil || noted != r.noted {
			return err
		}
		return m.record(s, tx, r.number, seq, true, "")
	})
}

// The open questions of all runs after one, and of one run. Neither query looks at others.
const (
	askedByAll = `SELECT r.id, a.id, a.data FROM asked a CROSS JOIN runs r ON r.number = a.run WHERE (a.run, a.id) > (?, ?) ORDER BY a.run, a.id LIMIT ?`
	askedBy    = `SELECT r.id, a.id, a.data FROM runs r CROSS JOIN asked a ON a.run = r.number WHERE r.id = ? AND (a.run, a.id) > (?, ?) ORDER BY a.id LIMIT ?`
)

// Open returns open questions. The oldest run comes first.
func (s *Store) Open(ctx context.Context, f driver.QuestionFilter) (open []driver.Question, err error) {
	after := int64(0)
	if f.After.Run != "" {
		if after, err = s.number(ctx, f.After.Run); err != nil {
			return nil, err
		}
	}
	query, args := askedByAll, []any{after, f.After.ID, cmp.Or(f.Limit, -1)}
	if f.Run != "" {
		query, args = askedBy, append([]any{f.Run}, args...)
	}
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, explain(s.file, err)
	}
	defer rows.Close()
	for rows.Next() {
		var run, id, data string
		if err := rows.Scan(&run, &id, &data); err != nil {
			return nil, explain(s.file, err)
		}
		var q driver.Question
		if err := json.Unmarshal([]byte(data), &q); err != nil {
			return nil, s.damaged("", fmt.Errorf("question %s of run %s: %w", id, run, err))
		}
		q.Run = run
		open = append(open, q)
	}
	return open, explain(s.file, rows.Err())
}
