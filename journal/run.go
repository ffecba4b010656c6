package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/database"
	"github.com/hocket-dev/hocket/workflow"
)

// Run is one line of the list of runs.
type Run struct {
	ID       string
	Workflow string
	Digest   string // of the workflow
	Created  time.Time
	Changed  time.Time // when Status changed
	// Status is how far the run had come when its driver last said so. It is a
	// cache: a driver that was killed says nothing, so Running may mean that the
	// run was interrupted (see Store.Driver).
	Status  engine.Status
	Origin  string // the run that this one was forked from
	Problem string // why the engine could not go on, a defect of the program
	number  int64
}

// NewRun is what Create records.
type NewRun struct {
	ID      string
	Pin     *Pin
	Origin  string
	Created time.Time
	Events  []engine.Event // the first ones, Started at least
	Status  engine.Status  // "": running
}

// Create records a new run with its first events, in one transaction, and gives
// the right to go on with it.
func (s *Store) Create(n NewRun) (*Writer, error) {
	if s.write == nil {
		return nil, s.reason
	}
	hash, data, err := encodePin(n.Pin)
	if err != nil {
		return nil, err
	}
	lease, err := s.take(n.ID)
	if err != nil {
		return nil, err
	}
	w := &Writer{store: s, lease: lease, run: n.ID, next: 1}
	root := n.Pin.Bundle.Root
	err = s.transact(func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT INTO pins (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING", hash, string(data)); err != nil {
			return err
		}
		at := micros(n.Created)
		res, err := tx.Exec("INSERT INTO runs (id, workflow, digest, pin, created, status, changed, origin) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			n.ID, root.Name, workflow.Digest(root), hash, at, string(cmp.Or(n.Status, engine.Running)), at, n.Origin)
		if database.IsTaken(err) {
			return &ExistsError{Run: n.ID}
		}
		if err != nil {
			return err
		}
		if w.number, err = res.LastInsertId(); err != nil {
			return err
		}
		return w.append(tx, Batch{Events: n.Events})
	})
	if err != nil {
		return nil, errors.Join(err, lease.Release())
	}
	return w, nil
}

const runColumns = "SELECT number, id, workflow, digest, created, changed, status, origin, problem FROM runs "

// Runs lists the newest runs first; a limit of zero means all.
func (s *Store) Runs(ctx context.Context, limit int) ([]Run, error) {
	if limit == 0 {
		limit = -1
	}
	return s.runs(ctx, "ORDER BY number DESC LIMIT ?", limit)
}

// Find finds a run by its id or by the beginning of it, if only one run begins
// so. The error is an *UnknownRunError.
func (s *Store) Find(ctx context.Context, id string) (Run, error) {
	const most = 10 // candidates to name
	found, err := s.runs(ctx, "WHERE id >= ?1 AND id < ?1 || char(0x10ffff) ORDER BY id <> ?1, number DESC LIMIT ?2", id, most)
	switch {
	case err != nil:
		return Run{}, err
	case id == "" || len(found) == 0:
		return Run{}, &UnknownRunError{ID: id}
	case len(found) == 1 || found[0].ID == id:
		return found[0], nil
	}
	unknown := &UnknownRunError{ID: id}
	for _, r := range found {
		unknown.Candidates = append(unknown.Candidates, r.ID)
	}
	return Run{}, unknown
}

func (s *Store) runs(ctx context.Context, where string, args ...any) ([]Run, error) {
	rows, err := s.read.QueryContext(ctx, runColumns+where, args...)
	if err != nil {
		return nil, explain(s.file, err)
	}
	defer rows.Close()
	var runs []Run
	for rows.Next() {
		var r Run
		var created, changed int64
		if err := rows.Scan(&r.number, &r.ID, &r.Workflow, &r.Digest, &created, &changed, &r.Status, &r.Origin, &r.Problem); err != nil {
			return nil, explain(s.file, err)
		}
		r.Created, r.Changed = fromMicros(created), fromMicros(changed)
		runs = append(runs, r)
	}
	return runs, explain(s.file, rows.Err())
}

// number is the key of a run in the tables.
func (s *Store) number(ctx context.Context, run string) (int64, error) {
	var n int64
	err := s.read.QueryRowContext(ctx, "SELECT number FROM runs WHERE id = ?", run).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, &UnknownRunError{ID: run}
	}
	return n, explain(s.file, err)
}
