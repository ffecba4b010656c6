package journal

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"time"
)

// Pulse notices changes of a journal by any process. A check costs a few microseconds. It
// is not safe for concurrent use.
type Pulse struct {
	store *Store
	conn  *sql.Conn
	stmt  *sql.Stmt
}

// Pulse opens a connection to check for changes. Close it before the Store.
func (s *Store) Pulse(ctx context.Context) (*Pulse, error) {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return nil, explain(s.file, err)
	}
	stmt, err := conn.PrepareContext(ctx, "PRAGMA data_version")
	if err != nil {
		return nil, explain(s.file, errors.Join(err, conn.Close()))
	}
	return &Pulse{s, conn, stmt}, nil
}

// Beat is a state of a journal. If it differs from the previous one, something was
// recorded, or a process has begun or ceased to drive a run.
type Beat struct {
	Data   int64     // changes with every commit
	Leases time.Time // changes when a process begins or ceases to drive runs, unless it is killed
}

// Beat looks at the journal.
func (p *Pulse) Beat(ctx context.Context) (b Beat, err error) {
	if err = p.stmt.QueryRowContext(ctx).Scan(&b.Data); err != nil {
		return Beat{}, explain(p.store.file, err)
	}
	if f, err := os.Stat(p.store.leases()); err == nil {
		b.Leases = f.ModTime()
	}
	return b, p.store.there()
}

// Close closes the connection.
func (p *Pulse) Close() error { return errors.Join(p.stmt.Close(), p.conn.Close()) }

// Gone is a run that was deleted.
type Gone struct {
	ID      string
	Version int64 // of the list of runs after that
}

// Changes returns the runs that have changed since a version of the list of runs, and those that were
// deleted since, both in the order of their versions. Before the first version is -1.
func (s *Store) Changes(ctx context.Context, since int64) (changed []Run, deleted []Gone, version int64, err error) {
	tx, err := s.read.BeginTx(ctx, nil) // both lists are of the same moment
	if err != nil {
		return nil, nil, since, explain(s.file, err)
	}
	defer func() { _ = tx.Rollback() }()
	err = tx.QueryRow("SELECT " + nextVersion + " - 1").Scan(&version)
	if err == nil && version > since {
		changed, err = queryRuns(ctx, tx, "WHERE version > ? ORDER BY version, number", since)
	}
	if err == nil && version > since && since >= 0 {
		deleted, err = goneSince(ctx, tx, since)
	}
	return changed, deleted, version, explain(s.file, err)
}

func goneSince(ctx context.Context, tx *sql.Tx, since int64) (all []Gone, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, version FROM deleted WHERE version > ? ORDER BY version", since)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one Gone
		if err := rows.Scan(&one.ID, &one.Version); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// Mail returns the runs that have messages in their inbox.
func (s *Store) Mail(ctx context.Context) ([]string, error) {
	runs, err := texts(ctx, s.read, "SELECT DISTINCT r.id FROM inbox i JOIN runs r ON r.number = i.run WHERE i.verdict IS NULL")
	return runs, explain(s.file, err)
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func texts(ctx context.Context, q querier, query string, args ...any) ([]string, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}
