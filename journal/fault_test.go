package journal

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/database"
)

var errFault = errors.New("the database failed")

// faults makes one call of the database fail, and notes the calls.
type faults struct {
	in      int    // how many calls are left until then; 0: none fails
	null    bool   // a row of NULLs is read instead
	instead func() // called instead
	on      bool   // all later calls fail too
	hit     bool

	mu    sync.Mutex // the events of a run are read by another goroutine
	calls []string
}

func (f *faults) fail(row bool) bool {
	if f.hit && f.on {
		return true
	}
	if f.in == 0 || f.null && !row {
		return false
	}
	f.in--
	f.hit = f.in == 0
	return f.hit
}

func (f *faults) call(what ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(what, " "))
	if !f.fail(false) {
		return nil
	}
	if f.instead != nil {
		f.instead()
		return nil
	}
	return errFault
}

// injectInto returns the faults of a store.
func injectInto(t *testing.T, s *Store) *faults {
	f := &faults{}
	lite := s.read.Driver()
	if err := database.Close(s.read.DB, s.write); err != nil {
		t.Fatal(err)
	}
	s.write = sql.OpenDB(&connector{lite, database.Source(s.file, "_txlock", "immediate", "_pragma", "synchronous(OFF)"), f})
	s.write.SetMaxOpenConns(1)
	s.read = &reader{DB: sql.OpenDB(&connector{lite, database.Source(s.file, "_query_only", "1"), f})}
	return f
}

type connector struct {
	lite   sqldriver.Driver
	source string
	faults *faults
}

func (c *connector) Driver() sqldriver.Driver { return c.lite }

func (c *connector) Connect(context.Context) (sqldriver.Conn, error) {
	conn, err := c.lite.Open(c.source)
	if err != nil {
		return nil, err
	}
	return &faultyConn{conn.(liteConn), c.faults}, nil
}

type liteConn interface {
	sqldriver.Conn
	sqldriver.ConnBeginTx
	sqldriver.ConnPrepareContext
	sqldriver.ExecerContext
	sqldriver.QueryerContext
}

type faultyConn struct {
	liteConn
	faults *faults
}

func (c *faultyConn) BeginTx(ctx context.Context, o sqldriver.TxOptions) (sqldriver.Tx, error) {
	if err := c.faults.call("begin"); err != nil {
		return nil, err
	}
	tx, err := c.liteConn.BeginTx(ctx, o)
	return &faultyTx{tx, c.faults}, err
}

func (c *faultyConn) PrepareContext(ctx context.Context, text string) (sqldriver.Stmt, error) {
	if err := c.faults.call("prepare", text); err != nil {
		return nil, err
	}
	stmt, err := c.liteConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &faultyStmt{stmt.(liteStmt), text, c.faults}, nil
}

func (c *faultyConn) ExecContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	if err := c.faults.call("exec", text); err != nil {
		return nil, err
	}
	res, err := c.liteConn.ExecContext(ctx, text, args)
	return &faultyResult{res, c.faults}, err
}

func (c *faultyConn) QueryContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	if err := c.faults.call("query", text); err != nil {
		return nil, err
	}
	rows, err := c.liteConn.QueryContext(ctx, text, args)
	return &faultyRows{rows, c.faults}, err
}

type liteStmt interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

type faultyStmt struct {
	liteStmt
	text   string
	faults *faults
}

func (s *faultyStmt) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	if err := s.faults.call("prepared", s.text); err != nil {
		return nil, err
	}
	res, err := s.liteStmt.ExecContext(ctx, args)
	return &faultyResult{res, s.faults}, err
}

func (s *faultyStmt) QueryContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	if err := s.faults.call("prepared", s.text); err != nil {
		return nil, err
	}
	rows, err := s.liteStmt.QueryContext(ctx, args)
	return &faultyRows{rows, s.faults}, err
}

type faultyTx struct {
	sqldriver.Tx
	faults *faults
}

func (tx *faultyTx) Commit() error {
	if err := tx.faults.call("commit"); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Tx.Commit()
}

type faultyResult struct {
	sqldriver.Result
	faults *faults
}

func (r *faultyResult) LastInsertId() (int64, error) {
	if err := r.faults.call("result"); err != nil {
		return 0, err
	}
	return r.Result.LastInsertId()
}

func (r *faultyResult) RowsAffected() (int64, error) {
	if err := r.faults.call("result"); err != nil {
		return 0, err
	}
	return r.Result.RowsAffected()
}

type faultyRows struct {
	sqldriver.Rows
	faults *faults
}

func (r *faultyRows) Next(row []sqldriver.Value) error {
	r.faults.mu.Lock()
	fails := r.faults.fail(true)
	r.faults.mu.Unlock()
	if fails && r.faults.instead != nil {
		r.faults.instead()
		fails = false
	}
	if fails && !r.faults.null {
		return errFault
	}
	err := r.Rows.Next(row)
	if fails {
		clear(row)
	}
	return err
}

// A long output, and a long value that is no output.
var (
	longOutput = strings.Repeat("o", MaxInline+1)
	longInput  = strings.Repeat("i", MaxInline+1)
)

func attemptOf(run string) driver.AttemptID {
	return driver.AttemptID{Run: run, Address: "work[2]", Attempt: 1}
}

// writeExample fills a journal with runs that have everything that a run can have.
func writeExample(t *testing.T, dir string) {
	s := openStore(t, dir)
	first := started("demo-1")
	first.Event.(*engine.Started).Inputs = map[string]any{"text": longInput}
	w, err := s.Create(NewRun{ID: "demo-1", Pin: testPin("demo"), Created: start, Events: list(first), Key: "key", Request: "request"})
	if err != nil {
		t.Fatal(err)
	}
	log := w.Log("work[2]", 1)
	log.Write([]byte(longOutput))
	sent, err := s.Send(t.Context(), "demo-1", &engine.CancelAsked{By: "ann"}, start)
	_, err2 := s.Send(t.Context(), "demo-1", &engine.CancelAsked{By: "bob"}, start)
	err3 := w.Append(Batch{
		Events:   list(ended(1, "x"), ended(2, longOutput), endedWith("work[3]", engine.Usage{TokensIn: 7})),
		Summary:  &Summary{Status: engine.Waiting, At: start, Due: start, Questions: list(asks("one"), asks("two"))},
		Verdicts: list(Verdict{ID: sent, Refused: "too late"}),
	})
	if err := errors.Join(err, err2, err3, log.Close(longOutput), log.Recorded(longOutput), s.Note(attemptOf("demo-1"), "session", "model"), w.Keep([]byte("state")), w.Close()); err != nil {
		t.Fatal(err)
	}
	w = createRun(t, s, "demo-2")
	if err := errors.Join(w.Append(Batch{Events: list(ended(1, "x"))}), w.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// contents returns what is recorded, except for names and times.
func contents(t *testing.T, s *Store) string {
	t.Helper()
	var all strings.Builder
	for _, query := range []string{
		"SELECT id || status || origin || problem || due || usage || noted || begun || coalesce(key, '') || (driver IS NULL) FROM runs ORDER BY id",
		"SELECT run || ' ' || seq || substr(data, 1, 200) || coalesce(blobs, '') FROM events ORDER BY run, seq",
		"SELECT hex(hash) FROM blobs ORDER BY hash",
		"SELECT hash FROM pins ORDER BY hash",
		"SELECT run || event || coalesce(verdict, '') || reason FROM inbox ORDER BY id",
		"SELECT run || id || data FROM asked ORDER BY run, id",
		"SELECT run || address || attempt || session || model || usage FROM attempts ORDER BY run, address, attempt",
		"SELECT run || data FROM snapshots",
		"SELECT id FROM deleted",
	} {
		lines, err := texts(t.Context(), s.read, strings.ReplaceAll(query, "|| due ||", "|| coalesce(due, '') ||"))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(query + "\n" + strings.Join(lines, "\n") + "\n")
	}
	s.writing.Range(func(run, _ any) bool {
		fmt.Fprintln(&all, run, "has a writer")
		return true
	})
	return all.String()
}

// collect returns what a sequence yields, or its error.
func collect[T any](all iter.Seq2[T, error]) (any, error) {
	var list []T
	for one, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// operation is something that a journal does. It prepares a call, which may be repeated if it fails.
type operation func(t *testing.T, s *Store) func() (any, error)

// of returns an operation without preparations.
func of[T any](call func(s *Store) (T, error)) operation {
	return func(_ *testing.T, s *Store) func() (any, error) {
		return func() (any, error) { return call(s) }
	}
}

// opened returns an operation that opens a writer.
func opened(call func(s *Store) (*Writer, error)) operation {
	return func(t *testing.T, s *Store) func() (any, error) {
		return func() (any, error) {
			w, err := call(s)
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { w.Close() })
			return w.Recorded(), nil
		}
	}
}

// written returns an operation of a run's writer.
func written(call func(w *Writer) error) operation {
	return func(t *testing.T, s *Store) func() (any, error) {
		w, err := s.Writer(t.Context(), "demo-1")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		return func() (any, error) {
			err := call(w)
			return w.Recorded(), err
		}
	}
}

// Whichever call of the database fails, or returns a row that cannot be read: the error is reported,
// nothing was changed, and what was to be done can be done again. A failure that is not reported
// changes nothing about the result.
func TestNoErrorIsLost(t *testing.T) {
	ctx := t.Context()
	template := t.TempDir()
	writeExample(t, template)
	reads := map[string]operation{
		"List":   of(func(s *Store) ([]Run, error) { return s.List(ctx, driver.Filter{}) }),
		"Before": of(func(s *Store) ([]Run, error) { return s.List(ctx, driver.Filter{Before: "demo-2", Workflow: "demo"}) }),
		"Run":    of(func(s *Store) (Run, error) { return s.Run(ctx, "demo-1") }),
		"Find":   of(func(s *Store) (Run, error) { return s.Find(ctx, "demo-1") }),
		"Events": of(func(s *Store) (any, error) { return collect(s.Events(ctx, "demo-1", 0)) }),
		"Simple": of(func(s *Store) (any, error) { return collect(s.Events(ctx, "demo-2", 0)) }),
		"Brief":  of(func(s *Store) (any, error) { return collect(s.Brief(ctx, "demo-1", 1)) }),
		"Output": of(func(s *Store) (string, error) { return s.Output(ctx, "demo-1", 3) }),
		"Pin": of(func(s *Store) (*driver.Pin, error) {
			s.lastPin.Store(nil)
			return s.Pin(ctx, "demo-1")
		}),
		"Open": of(func(s *Store) ([]driver.Question, error) { return s.Open(ctx, driver.QuestionFilter{}) }),
		"Attempt": of(func(s *Store) (any, error) {
			session, model, err := s.Attempt(ctx, attemptOf("demo-1"))
			return list[any](session, model), err
		}),
		"Ended": of(func(s *Store) (any, error) {
			ended, last, err := s.Ended(ctx, attemptOf("demo-1"), 1)
			return list[any](ended, last), err
		}),
		"Verdict": of(func(s *Store) (any, error) {
			v, ok, err := s.Verdict(ctx, 1)
			return list[any](v, ok), err
		}),
		"Driver": of(func(s *Store) (any, error) {
			holder, driven, err := s.Driver(ctx, "demo-1")
			return list[any](holder, driven), err
		}),
		"Mail": of(func(s *Store) ([]string, error) { return s.Mail(ctx) }),
		"Driven": func(t *testing.T, s *Store) func() (any, error) {
			if _, err := s.write.Exec("UPDATE runs SET driver = id"); err != nil {
				t.Fatal(err)
			}
			return func() (any, error) { return s.Driven(ctx) }
		},
		"Snapshot": of(func(s *Store) ([]byte, error) {
			data, err := s.Snapshot(ctx, "demo-1")
			if err == nil && data == nil {
				err = errors.New("there is none") // like every cache, it may be missing
			}
			return data, err
		}),
		"Check": of(func(s *Store) (any, error) { return nil, s.Check(ctx) }),
		"Changes": of(func(s *Store) (any, error) {
			changed, deleted, _, err := s.Changes(ctx, 0)
			return list[any](changed, deleted), err
		}),
		"Bytes": of(func(s *Store) (int64, error) {
			r, err := s.Run(ctx, "demo-1")
			if err != nil {
				return 0, err
			}
			return s.Bytes(ctx, r)
		}),
		"Stream": of(func(s *Store) (any, error) { return collect(s.Stream(ctx, attemptOf("demo-1"), driver.Output, 0)) }),
		"Pulse": of(func(s *Store) (any, error) {
			p, err := s.Pulse(ctx)
			if err != nil {
				return nil, err
			}
			defer p.Close()
			_, err = p.Beat(ctx)
			return nil, err
		}),
	}
	writes := map[string]operation{
		"Create": opened(func(s *Store) (*Writer, error) { return s.Create(keyed("demo-3", "another", "request")) }),
		"Fork": opened(func(s *Store) (*Writer, error) {
			n := keyed("demo-4", "", "")
			n.Origin, n.Events = "demo-1", list(started("demo-4"), engine.Envelope{Time: start, Event: &engine.TaskEnded{Address: "work[2]", Attempt: 1, Stored: 3}})
			n.Summary = &Summary{Status: engine.Running, At: start}
			return s.Create(n)
		}),
		"Writer": opened(func(s *Store) (*Writer, error) { return s.Writer(ctx, "demo-1") }),
		"Writer of a run that was not released": func(t *testing.T, s *Store) func() (any, error) {
			name, err := s.name()
			if err == nil {
				_, err = s.write.Exec("UPDATE runs SET driver = ? WHERE id = 'demo-1'", name)
			}
			if err != nil {
				t.Fatal(err)
			}
			return opened(func(s *Store) (*Writer, error) { return s.Writer(ctx, "demo-1") })(t, s)
		},
		"Append": written(func(w *Writer) error { return w.Append(Batch{Events: list(ended(5, "y"))}) }),
		"Append much": written(func(w *Writer) error {
			var events []engine.Envelope
			for i := range maxInsert {
				events = append(events, ended(i+5, "y"))
			}
			events = append(events, ended(maxInsert+5, longOutput+"."))
			return w.Append(Batch{Events: events, Summary: &Summary{Status: engine.Success, At: start}, Last: true})
		}),
		"Append all": written(func(w *Writer) error {
			return w.Append(Batch{
				Events: list(endedWith("work[4]", engine.Usage{CostUSD: 1})), Begun: true, Problem: "broken", Verdicts: list(Verdict{ID: 2}),
				Summary: &Summary{Status: engine.Waiting, At: start, Questions: list(asks("three"), asks("four"))},
			})
		}),
		"Keep": written(func(w *Writer) error { return w.Keep([]byte("new state")) }),
		"Inbox": written(func(w *Writer) error {
			mail, err := w.Inbox(ctx)
			if err == nil && (len(mail) != 1 || mail[0].Event.(*engine.CancelAsked).By != "bob") {
				err = fmt.Errorf("the inbox has %v", mail)
			}
			return err
		}),
		"Note":     of(func(s *Store) (any, error) { return nil, s.Note(attemptOf("demo-1"), "other", "") }),
		"Send":     of(func(s *Store) (int64, error) { return s.Send(ctx, "demo-1", &engine.CancelAsked{}, start) }),
		"Withdraw": of(func(s *Store) (bool, error) { return s.Withdraw(2) }),
		"Delete":   of(func(s *Store) ([]string, error) { return s.Delete(ctx, "demo-1") }),
		"Compact": of(func(s *Store) (any, error) {
			stray := filepath.Join(s.Dir(), "logs", "stray")
			if err := os.MkdirAll(stray, 0o700); err != nil {
				return nil, err
			}
			err := s.Compact(ctx)
			return gone(stray), err
		}),
		"Refresh": func(t *testing.T, s *Store) func() (any, error) {
			r := find(t, s, "demo-2")
			return func() (any, error) {
				return nil, s.Refresh(r, 2, Summary{Status: engine.Success, At: start, Questions: list(asks("five"))})
			}
		},
	}
	for name, op := range reads {
		t.Run(name, func(t *testing.T) {
			same := newTrial(t, template, op)
			failEachCall(t, func() trial { return same })
		})
	}
	for name, op := range writes {
		t.Run(name, func(t *testing.T) {
			failEachCall(t, func() trial { return newTrial(t, template, op) })
		})
	}
}

// trial is an operation on a copy of a journal.
type trial struct {
	store  *Store
	faults *faults
	try    func() (any, error)
}

func newTrial(t *testing.T, template string, op operation) trial {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	f := injectInto(t, s)
	return trial{s, f, op(t, s)}
}

// nullError matches the errors about a NULL where there is none.
var nullError = regexp.MustCompile("converting NULL|definition of run .* does not match its hash|there is none")

func failEachCall(t *testing.T, next func() trial) {
	healthy := next()
	before := contents(t, healthy.store)
	want, err := healthy.try()
	if err != nil {
		t.Fatal(err)
	}
	after := contents(t, healthy.store)
	for _, null := range []bool{false, true} {
		for in := 1; ; in++ {
			trial := next()
			*trial.faults = faults{in: in, null: null}
			got, err := trial.try()
			if !trial.faults.hit {
				break
			}
			if err != nil {
				if !null && !errors.Is(err, errFault) || null && !nullError.MatchString(err.Error()) {
					t.Errorf("call %d fails, null %t, and the error is %v", in, null, err)
				}
				if diff := cmp.Diff(before, contents(t, trial.store)); diff != "" {
					t.Errorf("call %d fails with %v, and the journal changes (-before +after):\n%s", in, err, diff)
				}
				if got, err = trial.try(); err != nil {
					t.Errorf("call %d failed, and then there is %v", in, err)
				}
			}
			if n := trial.store.read.Stats().InUse; n > 0 {
				t.Errorf("call %d fails, null %t, and %d connections stay in use", in, null, n)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("call %d fails, null %t, and the result is not the same", in, null)
			}
			if diff := cmp.Diff(after, contents(t, trial.store)); diff != "" {
				t.Errorf("call %d fails, null %t, and the journal has (-want +got):\n%s", in, null, diff)
			}
		}
	}
}

// A check that could not read everything must not say that all is well.
func TestCheckReportsEveryFailure(t *testing.T) {
	dir := t.TempDir()
	writeExample(t, dir)
	s := openStore(t, dir)
	f := injectInto(t, s)
	for in := 1; ; in++ {
		*f = faults{in: in, on: true}
		err := s.Check(t.Context())
		if !f.hit {
			break
		}
		if err == nil {
			t.Errorf("call %d fails, and there is no error", in)
		}
	}
}

// Events before one that cannot be read are read.
func TestEventsBeforeAFault(t *testing.T) {
	dir := t.TempDir()
	writeExample(t, dir)
	s := openStore(t, dir)
	f := injectInto(t, s)
	most := 0
	for in := 1; ; in++ {
		*f = faults{in: in, null: true}
		n, last := 0, error(nil)
		for _, err := range s.lines(t.Context(), "demo-1", 0) {
			if last = err; err == nil {
				n++
			}
		}
		if !f.hit {
			break
		}
		if last != nil {
			most = max(most, n)
		}
	}
	if most != 3 {
		t.Errorf("of 4 events, at most %d are read before the one that cannot be", most)
	}
}
