package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/engine"
)

// Message is a request to the process that drives a run: an event that it may accept or
// reject.
type Message struct {
	ID    int64
	Event engine.Event
	Sent  time.Time
}

// Verdict is the outcome of a message.
type Verdict struct {
	ID      int64
	Refused string // why it was rejected; "": it was accepted
}

func (v Verdict) record(tx *sql.Tx) error {
	res, err := tx.Exec("UPDATE inbox SET verdict = 'read', reason = ? WHERE id = ? AND verdict IS NULL", v.Refused, v.ID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return &WithdrawnError{v.ID}
}

// WithdrawnError reports that a message is no longer in the inbox: its sender withdrew it.
type WithdrawnError struct{ ID int64 }

func (e *WithdrawnError) Error() string { return fmt.Sprintf("message %d was withdrawn", e.ID) }

func (*WithdrawnError) explained() {}

// Send puts a message into the inbox of a run, sent at a time, and returns its id.
func (s *Store) Send(ctx context.Context, run string, ev engine.Event, at time.Time) (int64, error) {
	number, err := s.number(ctx, run)
	if err != nil {
		return 0, err
	}
	data, err := engine.Encode(engine.Envelope{Event: ev})
	if err != nil {
		return 0, fmt.Errorf("journal: %T: %w", ev, err)
	}
	var id int64
	err = s.transact(func(tx *sql.Tx) error {
		res, err := tx.Exec("INSERT INTO inbox (run, event, sent) VALUES (?, ?, ?)", number, string(data), micros(at))
		if err == nil {
			id, err = res.LastInsertId()
		}
		return err
	})
	return id, err
}

// Inbox returns the messages to a run that have no verdict yet, oldest first.
func (w *Writer) Inbox(ctx context.Context) ([]Message, error) {
	s := w.store
	if err := s.there(); err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, "SELECT id, event, sent FROM inbox WHERE run = ? AND verdict IS NULL ORDER BY id", w.number)
	if err != nil {
		return nil, explain(s.file, err)
	}
	defer rows.Close()
	var ms []Message
	for rows.Next() {
		var m Message
		var data string
		var sent int64
		if err := rows.Scan(&m.ID, &data, &sent); err != nil {
			return nil, explain(s.file, err)
		}
		e, err := engine.Decode([]byte(data))
		if err != nil {
			return nil, s.damaged("", fmt.Errorf("message %d: %w", m.ID, err))
		}
		m.Event, m.Sent = e.Event, fromMicros(sent)
		ms = append(ms, m)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(s.file, err)
	}
	_ = rows.Close() // nothing else may be read before
	for _, m := range ms {
		if err := s.addBundle(ctx, w.run, m.Event); err != nil {
			return nil, err
		}
	}
	return ms, nil
}

// Verdict returns the outcome of a message; !ok if it has not been read yet.
func (s *Store) Verdict(ctx context.Context, id int64) (v Verdict, ok bool, err error) {
	var word sql.NullString
	v.ID = id
	err = s.read.QueryRowContext(ctx, "SELECT verdict, reason FROM inbox WHERE id = ?", id).Scan(&word, &v.Refused)
	if errors.Is(err, sql.ErrNoRows) {
		err = &WithdrawnError{id}
	}
	return v, word.Valid, explain(s.file, err)
}

// Withdraw withdraws a message, if it has not been read yet.
func (s *Store) Withdraw(id int64) (withdrawn bool, err error) {
	err = s.transact(func(tx *sql.Tx) error {
		res, err := tx.Exec("DELETE FROM inbox WHERE id = ? AND verdict IS NULL", id)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		withdrawn = n == 1
		return err
	})
	return withdrawn, err
}
