package journal

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/database"
	"github.com/hocket-dev/hocket/workflow"
)

// Run is one entry of the list of runs. Its status, due time, usage and number of open
// questions are a cache of what follows from the events, see [Summary]. [Store.HolderOf]
// returns who drives it now.
type Run struct {
	driver.Info
	Begun bool // a process has begun it
	// Stale means that the cache misses events: the last driver was killed, or the journal
	// is of an older version.
	Stale bool
	// Version is that of the list of runs after this entry changed last.
	Version int64

	number int64
	lease  string // the store that drives it, or did when its process died
	pin    string // the hash of its definition
	noted  int
	damage string // the cell that cannot be read
}

// WasDriven reports whether a process drives the run, or did when it died.
func (r *Run) WasDriven() bool { return r.lease != "" }

// NewRun is what Create records.
type NewRun struct {
	ID           string
	Pin          *driver.Pin
	Origin       string
	Owner        driver.Owner
	Key, Request string // see driver.Spec
	Created      time.Time
	Events       []engine.Envelope // the first ones, at least Started; omitted outputs are those of Origin
	Summary      *Summary          // after them; nil: the run continues
}

// UsedKeyError reports that a run was started with the same key for the same request.
type UsedKeyError struct{ Key, Run string }

func (e *UsedKeyError) Error() string {
	return fmt.Sprintf("the key %q has already started run %s", e.Key, e.Run)
}

// Create records a new run with its first events, in one transaction, and returns its
// writer. The error is a *[UsedKeyError] or a *[driver.KeyError] if the key was used
// before.
func (s *Store) Create(n NewRun) (*Writer, error) {
	hash, data, err := encodePin(n.Pin)
	if err != nil {
		return nil, err
	}
	name, err := s.name()
	if err != nil {
		return nil, err
	}
	w := &Writer{store: s, run: n.ID, next: 1, lease: name, logs: newLogs(s, n.ID)}
	before := *w
	err = s.transact(func(tx *sql.Tx) (err error) {
		*w = before
		if err := n.checkKey(tx); err != nil {
			return err
		}
		if _, err := s.statements.exec(nil, tx, "INSERT INTO pins (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING", hash, string(data)); err != nil {
			return err
		}
		if w.number, err = n.insert(s, tx, hash, name); err != nil {
			return err
		}
		s.writing.Store(w.run, w)
		return w.begin(tx, n)
	})
	if err != nil {
		s.writing.CompareAndDelete(w.run, w)
		return nil, err
	}
	return w, nil
}

// checkKey rejects a key that was used. The transaction holds the write lock, so no other
// process can use the key in between.
func (n *NewRun) checkKey(tx *sql.Tx) error {
	run, err := startedWith(n.Key, n.Request, func(key string) *sql.Row { return tx.QueryRow(byKey, key) })
	if run != "" {
		err = &UsedKeyError{n.Key, run}
	}
	return err
}

// StartedWith returns the run that was started with a key for a request; "" if there is none. The error
// is a *[driver.KeyError] if the key was used for another request.
func (s *Store) StartedWith(ctx context.Context, key, request string) (run string, err error) {
	run, err = startedWith(key, request, func(key string) *sql.Row { return s.read.QueryRowContext(ctx, byKey, key) })
	return run, explain(s.file, err)
}

const byKey = "SELECT id, request FROM runs WHERE key = ?"

func startedWith(key, request string, find func(key string) *sql.Row) (run string, err error) {
	if key == "" {
		return "", nil
	}
	var was string
	switch err := find(key).Scan(&run, &was); {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", err
	case was != request:
		return "", &driver.KeyError{Key: key, Run: run}
	}
	return run, nil
}

func (n *NewRun) insert(s *Store, tx *sql.Tx, pin, lease string) (number int64, err error) {
	root, at := n.Pin.Bundle.Root, micros(n.Created)
	res, err := s.statements.exec(nil, tx, `INSERT INTO runs (id, workflow, digest, pin, created, status, changed, origin, owner, key, request, noted, driver, begun, version)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''), ?, ?, ?, 0, `+nextVersion+`)`,
		n.ID, root.Name, workflow.Digest(root), pin, at, string(engine.Running), at, n.Origin,
		workflow.FormatJSON(n.Owner), n.Key, n.Request, len(n.Events), lease)
	if database.IsTaken(err) {
		return 0, &driver.ExistsError{Run: n.ID}
	}
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

const runColumns = `SELECT number, pin, id, workflow, digest, created, changed, status, origin, problem, owner, due, usage, noted, begun, driver, version,
	(SELECT count(*) FROM asked WHERE run = number),
	CASE WHEN status IN ('running', 'waiting') THEN (SELECT coalesce(max(seq), 0) FROM events WHERE run = number) ELSE noted END
	FROM runs `

// List lists the runs that a filter selects, newest first.
func (s *Store) List(ctx context.Context, f driver.Filter) ([]Run, error) {
	before := int64(math.MaxInt64)
	if f.Before != "" {
		var err error
		if before, err = s.number(ctx, f.Before); err != nil {
			return nil, err
		}
	}
	where, args := "WHERE number < ?", []any{before}
	also := func(text string, values ...any) { where, args = where+" AND "+text, append(args, values...) }
	if len(f.Status) > 0 {
		values := make([]any, len(f.Status))
		for i, status := range f.Status {
			values[i] = string(status)
		}
		also("status IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	}
	if f.Workflow != "" {
		also("workflow = ?", f.Workflow)
	}
	if f.Origin != "" {
		also("origin = ?", f.Origin)
	}
	if f.Label != "" {
		also("CASE WHEN json_valid(owner) THEN EXISTS (SELECT 1 FROM json_each(owner, '$.labels') WHERE key = ?) ELSE 0 END", f.Label)
	}
	if f.Without != "" { // a damaged run is listed
		also("CASE WHEN json_valid(owner) THEN NOT EXISTS (SELECT 1 FROM json_each(owner, '$.labels') WHERE key = ?) ELSE 1 END", f.Without)
	}
	return s.runs(ctx, where+" ORDER BY number DESC LIMIT ?", append(args, cmp.Or(f.Limit, -1))...)
}

// Stale lists the runs that are not over and whose entries miss events, see [Run.Stale].
func (s *Store) Stale(ctx context.Context) ([]Run, error) {
	return s.runs(ctx, "WHERE status IN ('running', 'waiting') AND noted <> (SELECT coalesce(max(seq), 0) FROM events WHERE run = number)")
}

// Count counts runs, and open questions, and returns the version of the list of runs.
func (s *Store) Count(ctx context.Context, since time.Time) (c driver.Counts, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT count(iif(status IN ('running', 'waiting'), 1, NULL)), count(iif(created >= ?, 1, NULL)), (SELECT count(*) FROM asked), `+nextVersion+` - 1 FROM runs`,
		micros(since)).Scan(&c.Active, &c.Created, &c.Questions, &c.Version)
	return c, explain(s.file, err)
}

// Run returns the run with an id. The error is a *driver.UnknownRunError.
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	if err := s.there(); err != nil {
		return Run{}, err
	}
	found, err := s.runs(ctx, "WHERE id = ?", id)
	if err == nil && len(found) == 0 {
		err = &driver.UnknownRunError{ID: id}
	}
	if err != nil {
		return Run{}, err
	}
	return found[0], nil
}

// Find returns a run by its id or by a unique prefix. The error is a
// *driver.UnknownRunError.
func (s *Store) Find(ctx context.Context, id string) (Run, error) {
	// Mostly it is complete. SQLite plans the other query again for every id.
	exact, err := s.Run(ctx, id)
	unknown := &driver.UnknownRunError{ID: id}
	if id == "" || !errors.As(err, &unknown) {
		return exact, err
	}
	const most = 10 // candidates to name
	found, err := s.runs(ctx, "WHERE id >= ?1 AND id < ?1 || char(0x10ffff) ORDER BY number DESC LIMIT ?2", id, most)
	switch {
	case err != nil:
		return Run{}, err
	case len(found) == 0:
		return Run{}, unknown
	case len(found) == 1:
		return found[0], nil
	}
	for _, r := range found {
		unknown.Candidates = append(unknown.Candidates, r.ID)
	}
	return Run{}, unknown
}

func (s *Store) runs(ctx context.Context, where string, args ...any) ([]Run, error) {
	runs, err := queryRuns(ctx, s.read, where, args...)
	return runs, explain(s.file, err)
}

func queryRuns(ctx context.Context, q querier, where string, args ...any) ([]Run, error) {
	rows, err := q.QueryContext(ctx, runColumns+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var runs []Run
	known := cells{map[string]driver.Owner{}, map[string]engine.RunUsage{}}
	for rows.Next() {
		r, err := known.scanRun(rows)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, rows.Err()
}

// cells caches texts of a list: many runs have the same.
type cells struct {
	owners map[string]driver.Owner
	usages map[string]engine.RunUsage
}

// scanRun reads an entry. A damaged entry does not hide others: it reports the damage
// itself.
func (c *cells) scanRun(rows *sql.Rows) (r Run, err error) {
	var created, changed, due, noted, begun, last whole
	var owner, usage string
	var lease sql.NullString
	err = rows.Scan(&r.number, &r.pin, &r.ID, &r.Workflow, &r.Digest, &created, &changed, &r.Status, &r.Origin, &r.Problem,
		&owner, &due, &usage, &noted, &begun, &lease, &r.Version, &r.Open, &last)
	if err != nil {
		return Run{}, err
	}
	r.noted, r.Begun, r.lease, r.Seq = int(noted.n), begun.n != 0, lease.String, int(last.n)
	r.Created, r.Changed, r.Stale = fromMicros(created.n), fromMicros(changed.n), r.noted == 0 || r.noted != int(last.n)
	if due.n != 0 {
		r.Due = fromMicros(due.n)
	}
	bad := func(cell string, is bool) string {
		if is {
			return cell
		}
		return ""
	}
	kept := cmp.Or(bad("owner", once(c.owners, owner, &r.Owner) != nil), bad("created", created.bad), bad("changed", changed.bad), bad("begun", begun.bad))
	cached := cmp.Or(bad("status", !slices.Contains(statuses, r.Status)), bad("usage", once(c.usages, usage, &r.Usage) != nil), bad("due", due.bad), bad("noted", noted.bad || last.bad))
	r.damage = cmp.Or(kept, cached)
	if kept != "" || cached == "status" {
		r.Status, r.Problem = driver.Damaged, "its "+r.damage+" cannot be read"
	}
	r.Stale = kept == "" && (r.Stale || cached != "")
	return r, nil
}

// statuses are the possible statuses of a run.
var statuses = []engine.Status{engine.Running, engine.Waiting, engine.Success, engine.Partial, engine.Failed, engine.TimedOut, engine.Cancelled}

// whole is an integer, 0 for NULL, in a file that may be damaged.
type whole struct {
	n   int64
	bad bool
}

// Scan takes what the database has.
func (w *whole) Scan(value any) error {
	n, ok := value.(int64)
	*w = whole{n, !ok && value != nil}
	return nil
}

// once decodes a JSON text, unless it was decoded before.
func once[T any](known map[string]T, text string, to *T) error {
	if value, ok := known[text]; ok {
		*to = value
		return nil
	}
	err := json.Unmarshal([]byte(text), to)
	if err == nil {
		known[text] = *to
	}
	return err
}

// number returns the key of a run in the tables.
func (s *Store) number(ctx context.Context, run string) (int64, error) {
	var n int64
	err := s.read.QueryRowContext(ctx, "SELECT number FROM runs WHERE id = ?", run).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, &driver.UnknownRunError{ID: run}
	}
	return n, explain(s.file, err)
}
