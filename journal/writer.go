package journal

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/database"
	"github.com/hocket-dev/hocket/workflow"
)

// Writer is the right to record events of one run. Only one exists at a time, across all
// processes. It is not safe for concurrent use.
type Writer struct {
	store  *Store
	run    string
	number int64
	next   int    // seq of the next event
	asks   bool   // questions may be stored as open
	lease  string // of the store; "": the run was released
	before driver.Holder
	args   []any
	logs   *Logs
}

// Batch is what one Append records.
type Batch struct {
	Events []engine.Envelope
	// Summary, if not nil, is the entry in the list of runs after the events. It clears a
	// Problem.
	Summary *Summary
	// Begun means that a process has begun the run.
	Begun bool
	// Problem, if not empty, says why the engine cannot continue.
	Problem string
	// Last releases the run, with the Summary: nothing more will be recorded.
	Last bool
	// Verdicts settle messages of the inbox, including those that led to the events.
	Verdicts []Verdict
}

// plain reports whether there is nothing but events.
func (b *Batch) plain() bool {
	return b.Summary == nil && !b.Begun && b.Problem == "" && len(b.Verdicts) == 0 && !slices.ContainsFunc(b.Events, costs) && !slices.ContainsFunc(b.Events, replans)
}

// replans reports whether an event gives the run a new plan.
func replans(e engine.Envelope) bool {
	_, ok := e.Event.(*engine.Replanned)
	return ok
}

// costs reports whether an event's usage is stored separately too, see noteUsage.
func costs(e engine.Envelope) bool {
	ended, ok := e.Event.(*engine.TaskEnded)
	return ok && ended.Usage != engine.Usage{}
}

// Writer takes a run in order to drive it. The error is a *driver.HeldError if another
// process has it, and a *driver.UnknownRunError if it does not exist.
func (s *Store) Writer(ctx context.Context, run string) (*Writer, error) {
	name, err := s.name()
	if err != nil {
		return nil, err
	}
	w := &Writer{store: s, run: run, asks: true, logs: newLogs(s, run)}
	err = patiently(ctx, func() error {
		return s.transact(func(tx *sql.Tx) error { return w.take(tx, name) })
	})
	if err != nil {
		s.writing.CompareAndDelete(run, w)
		return nil, err
	}
	return w, nil
}

// Run returns the id of the run.
func (w *Writer) Run() string { return w.run }

// Recorded returns the number of events of the run.
func (w *Writer) Recorded() int { return w.next - 1 }

// Before returns the process that died while it drove the run; zero if none did.
func (w *Writer) Before() driver.Holder { return w.before }

// Close releases the run.
func (w *Writer) Close() error { return errors.Join(w.logs.close(), w.release()) }

// Append records a batch: all of it, or nothing if there is an error. When it returns, the batch is
// durable. The error is a *ConflictError if another process has written to the run.
func (w *Writer) Append(b Batch) error {
	if err := w.commit(b); err != nil || b.plain() && !w.store.isTime() {
		return err
	}
	return w.store.there()
}

func (w *Writer) commit(b Batch) error {
	rows, err := encode(b.Events)
	if err != nil {
		return err
	}
	before := *w
	p := &pending{change: func(tx *sql.Tx) error {
		*w = before
		return w.record(tx, rows, b)
	}}
	if n := len(rows); n > 0 && n <= maxInsert && rows.simple() && b.plain() {
		p.alone = func() error { return w.store.explainAppend(w, w.insert(nil, rows)) }
	}
	if err = w.store.commit(p); err != nil {
		*w = before
	}
	return err
}

// begin records the first events of a run within a transaction.
func (w *Writer) begin(tx *sql.Tx, n NewRun) error {
	rows, err := encode(n.Events)
	if err != nil {
		return err
	}
	for i, e := range n.Events {
		if ev, ok := e.Event.(*engine.TaskEnded); ok && ev.Stored > 0 {
			line, err := w.store.line(tx.QueryRow(oneLine, n.Origin, ev.Stored), n.Origin, ev.Stored)
			if err != nil {
				return err
			}
			rows[i] = row{data: line.data, kept: line.places}
		}
	}
	return w.record(tx, rows, Batch{Events: n.Events, Summary: n.Summary})
}

func (w *Writer) record(tx *sql.Tx, rows rows, b Batch) error {
	if err := rows.recordBlobs(tx); err != nil {
		return err
	}
	for part := rows; len(part) > 0; {
		n := min(len(part), maxInsert)
		if err := w.store.explainAppend(w, w.insert(tx, part[:n])); err != nil {
			return err
		}
		part = part[n:]
	}
	if err := w.mark(tx, b); err != nil {
		return err
	}
	for _, v := range b.Verdicts {
		if err := v.record(tx); err != nil {
			return err
		}
	}
	return nil
}

// mark updates the list of runs with what a batch says about the whole run.
func (w *Writer) mark(tx *sql.Tx, b Batch) error {
	for _, e := range b.Events {
		if costs(e) {
			if err := w.noteUsage(tx, e.Event.(*engine.TaskEnded), e.Time); err != nil {
				return err
			}
		}
		if plan, ok := e.Event.(*engine.Replanned); ok {
			if err := w.notePlan(tx, plan); err != nil {
				return err
			}
		}
	}
	if b.Begun {
		if _, err := w.store.statements.exec(nil, tx, "UPDATE runs SET begun = 1 WHERE number = ?", w.number); err != nil {
			return err
		}
	}
	if b.Summary != nil {
		last := ""
		if b.Last {
			last = w.lease
		}
		if err := b.Summary.record(w.store, tx, w.number, w.next-1, w.asks, last); err != nil {
			return err
		}
		if b.Last {
			w.lease = ""
		}
		w.asks = len(b.Summary.Questions) > 0
	}
	if b.Problem == "" {
		return nil
	}
	_, err := tx.Exec("UPDATE runs SET problem = ?, changed = ?, version = "+nextVersion+" WHERE number = ?", b.Problem, micros(time.Now()), w.number)
	return err
}

// notePlan makes a plan that was stored before the definition of the run. The run goes on, whatever
// its status was, and a snapshot of the earlier plan is of no use.
func (w *Writer) notePlan(tx *sql.Tx, ev *engine.Replanned) error {
	root := ev.Bundle.Root
	for _, x := range []struct {
		text string
		args []any
	}{
		{"INSERT INTO plans (run, pin) VALUES (?, ?) ON CONFLICT DO NOTHING", []any{w.number, ev.Plan}},
		{"UPDATE runs SET first = coalesce(first, pin), pin = ?, workflow = ?, digest = ?, status = ?, version = " + nextVersion + " WHERE number = ?",
			[]any{ev.Plan, root.Name, workflow.Digest(root), string(engine.Running), w.number}},
		{"DELETE FROM snapshots WHERE run = ?", []any{w.number}},
		{"UPDATE runs SET owner = json_patch(owner, ?) WHERE number = ? AND json_valid(owner)", []any{labelPatch(ev.Labels), w.number}},
	} {
		if _, err := tx.Exec(x.text, x.args...); err != nil {
			return err
		}
	}
	return nil
}

// labelPatch returns the JSON merge patch of an owner that changes labels.
func labelPatch(labels map[string]string) string {
	patch := map[string]any{}
	for name, value := range labels {
		if patch[name] = value; value == "" {
			patch[name] = nil // removes it
		}
	}
	return workflow.FormatJSON(map[string]any{"labels": patch})
}

func (s *Store) explainAppend(w *Writer, err error) error {
	if database.IsTaken(err) {
		return &ConflictError{Run: w.run, Seq: w.next}
	}
	return explain(s.file, err)
}

// insert writes rows with one statement, within tx or, if that is nil, alone.
func (w *Writer) insert(tx *sql.Tx, rows rows) error {
	w.args = w.args[:0]
	for i, r := range rows {
		places := r.places()
		w.args = append(w.args, w.number, w.next+i, r.data, places, checksum(w.number, w.next+i, r.data, places))
	}
	if _, err := w.store.statements.exec(w.store.write, tx, insertText(len(rows)), w.args...); err != nil {
		return err
	}
	w.next += len(rows)
	return nil
}

// maxInsert is the maximum number of rows that one statement inserts. Fewer calls into
// SQLite make a batch of no-op tasks about twice as fast.
const maxInsert = 128

func insertText(n int) string {
	const row = "(?, ?, ?, nullif(?, ''), ?)"
	return "INSERT INTO events (run, seq, data, blobs, sum) VALUES " + row + strings.Repeat(", "+row, n-1)
}
