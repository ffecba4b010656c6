package journal

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/workflow"
)

// One store at a time drives a run, across all processes. The row of the run names it, and
// a store lives as long as it holds the lock on the file of its name. The kernel releases
// the lock when the process ends, even by SIGKILL, so a run can be resumed at once. The
// content of the file is only for people.
//
// One lock is enough for all runs of a process: creating, locking and removing a file for
// each costs as much as recording a short run.

// lease is the name of a store, with which others check whether it lives.
type lease struct {
	name string
	*filelock.Lock
}

// patience is how long a writer waits for a run, and a store for its lock. Answering a
// question drives the run for a moment, and checking a lock means holding it: that is no
// reason to fail.
const patience = 200 * time.Millisecond

// leases is the directory of the locks.
func (s *Store) leases() string { return filepath.Join(s.dir, "leases") }

func (s *Store) leasePath(name string) string { return filepath.Join(s.leases(), name+leaseEnding) }

const leaseEnding = ".lock"

// name returns the name of this store. It has none before it drives a run.
func (s *Store) name() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.write == nil {
		return "", s.reason
	}
	if s.lease == nil {
		l, err := s.newLease()
		if err != nil {
			return "", explain(s.leases(), err)
		}
		s.lease = l
		s.sweep()
	}
	return s.lease.name, nil
}

func (s *Store) newLease() (*lease, error) {
	if err := os.MkdirAll(s.leases(), 0o700); err != nil {
		return nil, err
	}
	name := strings.ToLower(rand.Text())
	lock, err := filelock.Wait(s.leasePath(name), patience)
	if err != nil {
		return nil, err
	}
	l := &lease{name, lock}
	l.sign()
	// Watchers look at the locks when the directory changes. One that looked between the creation of the file and the lock
	// on it took this store for dead, and must look again.
	_ = os.Chtimes(s.leases(), time.Time{}, time.Now())
	return l, nil
}

// sign writes who holds the lease, for the error message that others get. If it cannot be written,
// they do not learn it.
func (l *lease) sign() {
	host, _ := os.Hostname()
	holder := driver.Holder{PID: os.Getpid(), Host: cmp.Or(host, "this machine"), Since: time.Now().Round(time.Second).UTC()}
	_, _ = l.File.WriteString(workflow.FormatJSON(holder) + "\n")
}

// sweep removes the files of killed processes, if no run needs them any more. Files that
// cannot be removed do no harm.
func (s *Store) sweep() {
	needed, err := texts(context.Background(), s.write, "SELECT DISTINCT driver FROM runs WHERE driver IS NOT NULL")
	if err != nil {
		return
	}
	names := s.Leases()
	for _, name := range needed {
		delete(names, name)
	}
	for name := range names {
		if lock, err := filelock.Take(s.leasePath(name)); err == nil {
			_ = lock.Release()
		}
	}
}

// Leases returns the names of stores. Most of them live; one whose process was killed
// leaves its file.
func (s *Store) Leases() map[string]bool {
	files, _ := os.ReadDir(s.leases()) // no directory: no lease
	names := make(map[string]bool, len(files))
	for _, f := range files {
		names[strings.TrimSuffix(f.Name(), leaseEnding)] = true
	}
	return names
}

// Lives reports whether the process of a store that drives runs lives. If that cannot be
// determined, it may.
func (s *Store) Lives(name string) bool {
	if name == "" {
		return false
	}
	f, err := os.Open(s.leasePath(name))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close() // unlocks it, if it was free
	return filelock.Look(f) != nil
}

// signature reads what a process wrote about itself. It may be gone, or have written
// nothing yet.
func (s *Store) signature(name string) driver.Holder {
	var h driver.Holder
	text, _ := os.ReadFile(s.leasePath(name))
	_ = json.Unmarshal(text, &h)
	return h
}

// Driver returns which process drives a run, if any.
func (s *Store) Driver(ctx context.Context, run string) (driver.Holder, bool, error) {
	var name sql.NullString
	err := s.read.QueryRowContext(ctx, "SELECT driver FROM runs WHERE id = ?", run).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		err = &driver.UnknownRunError{ID: run}
	}
	if err != nil || !s.Lives(name.String) {
		return driver.Holder{}, false, explain(s.file, err)
	}
	return s.signature(name.String), true, nil
}

// HolderOf returns the process that drove a run when the list was made, if it lives.
func (s *Store) HolderOf(r Run) (driver.Holder, bool) {
	if !s.Lives(r.lease) {
		return driver.Holder{}, false
	}
	return s.signature(r.lease), true
}

// Driven returns the runs that a process drives.
func (s *Store) Driven(ctx context.Context) (map[string]bool, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT id, driver FROM runs WHERE driver IS NOT NULL")
	if err != nil {
		return nil, explain(s.file, err)
	}
	defer rows.Close()
	driven, lives := map[string]bool{}, map[string]bool{}
	for rows.Next() {
		var id, name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, explain(s.file, err)
		}
		if _, known := lives[name]; !known {
			lives[name] = s.Lives(name)
		}
		driven[id] = lives[name]
	}
	return driven, explain(s.file, rows.Err())
}

// free finds a run that no process drives. The error is a *driver.HeldError if one does. before is
// the process that died while it drove the run; zero if none did. own is the name of this store: a
// run that it failed to release is free.
func (s *Store) free(tx *sql.Tx, run, own string) (number int64, before driver.Holder, err error) {
	var name sql.NullString
	err = tx.QueryRow("SELECT number, driver FROM runs WHERE id = ?", run).Scan(&number, &name)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, before, &driver.UnknownRunError{ID: run}
	}
	_, writing := s.writing.Load(run)
	if err != nil || !name.Valid || name.String == own && !writing {
		return number, before, err
	}
	holder := s.signature(name.String)
	if s.Lives(name.String) {
		return 0, before, &driver.HeldError{Run: run, Holder: holder}
	}
	return number, holder, nil
}

// take makes this store the driver of a run.
func (w *Writer) take(tx *sql.Tx, name string) (err error) {
	if w.number, w.before, err = w.store.free(tx, w.run, name); err != nil {
		return err
	}
	if _, err := w.store.statements.exec(nil, tx, "UPDATE runs SET driver = ?, version = "+nextVersion+" WHERE number = ?", name, w.number); err != nil {
		return err
	}
	w.lease = name
	w.store.writing.Store(w.run, w)
	return tx.QueryRow("SELECT coalesce(max(seq), 0) + 1 FROM events WHERE run = ?", w.number).Scan(&w.next)
}

// release releases the run, unless the last batch did. If that fails, this store may still
// take the run again; others may when it is closed.
func (w *Writer) release() error {
	defer w.store.writing.CompareAndDelete(w.run, w) // not before: the run would be free for a moment
	name := w.lease
	if name == "" {
		return nil
	}
	w.lease = ""
	return w.store.transact(func(tx *sql.Tx) error {
		_, err := w.store.statements.exec(nil, tx, "UPDATE runs SET driver = NULL, version = "+nextVersion+" WHERE number = ? AND driver = ?", w.number, name)
		return err
	})
}

// patiently retries for a moment while another process drives a run.
func patiently(ctx context.Context, try func() error) error {
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err := try()
		if !errors.As(err, new(*driver.HeldError)) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
