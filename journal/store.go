package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/internal/database"
	"github.com/hocket-dev/hocket/workflow"
)

// Options configure how a journal is opened. The zero value is the default.
type Options struct {
	// Relaxed means that a power failure may lose the last moments (synchronous=NORMAL). A
	// crash of the process still loses nothing.
	Relaxed bool

	limits logLimits // zero: the usual ones
	vfs    string    // SQLite's VFS; "": the default
}

// Store is an open journal. It is safe for concurrent use.
type Store struct {
	dir     string
	file    string
	limits  logLimits
	write   *sql.DB // one connection; nil if the journal is read-only
	read    *reader
	opened  os.FileInfo // of the file; nil if the journal is read-only
	reason  error       // why the journal is read-only
	scratch string      // a copy to remove at the end, see readonly.go; "": none
	commits commits
	lastPin atomic.Pointer[lastPin]
	since   time.Time    // when it was opened
	looked  atomic.Int64 // age at which the file was last known to exist

	statements statements
	spending   spending

	writing sync.Map // the runs that have a *Writer

	mu      sync.Mutex
	lease   *lease            // nil until the store drives a run
	indexes map[string]*index // of the logs of runs that were read
}

const fileName = "journal.db"

// Open opens the journal in a directory, and creates both if they do not exist. An older
// journal is migrated.
func Open(dir string, o Options) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	s := &Store{dir: abs, file: filepath.Join(abs, fileName), since: time.Now(), limits: cmp.Or(o.limits, defaultLimits)}
	if err := s.connect(o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) connect(o Options) (err error) {
	write, read, err := kind.Open(s.file, database.Options{Relaxed: o.Relaxed, VFS: o.vfs})
	s.write, s.read = write, &reader{DB: read}
	if err != nil {
		return err
	}
	s.opened, err = os.Stat(s.file)
	return explain(s.file, err)
}

// there returns an error if the file no longer exists. SQLite would continue to write to
// it, and everything would be lost when the process ends.
func (s *Store) there() error {
	if s.opened == nil {
		return nil
	}
	if now, err := os.Stat(s.file); err == nil && os.SameFile(now, s.opened) {
		return nil
	}
	return &database.Error{Kind: kind, File: s.file, Problem: database.Gone}
}

// isTime reports whether to check, after events of steps, that the file still exists. It does not
// check after each event, because that would be slow compared to a short step.
func (s *Store) isTime() bool {
	const every = 10 * time.Millisecond
	now, last := time.Since(s.since), s.looked.Load()
	return now-time.Duration(last) >= every && s.looked.CompareAndSwap(last, int64(now))
}

// Dir returns the directory of the journal.
func (s *Store) Dir() string { return s.dir }

// Writable returns an error if events cannot be recorded, which says why.
func (s *Store) Writable() error { return s.reason }

// Close closes the journal. Writers must have been closed before.
func (s *Store) Close() error {
	err := database.Close(s.read.DB, s.write)
	if s.lease != nil {
		err = errors.Join(err, s.lease.Release())
		s.lease = nil
	}
	return explain(s.file, errors.Join(err, os.RemoveAll(s.scratch)))
}

// Check reads the whole database and reports damage.
func (s *Store) Check(ctx context.Context) error {
	var verdict string
	if err := s.read.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return explain(s.file, err)
	}
	if verdict != "ok" {
		return s.damaged(verdict, nil)
	}
	return s.checkRecords(ctx)
}

// checkRecords reads everything that has a hash or a checksum: long strings, definitions
// and events.
func (s *Store) checkRecords(ctx context.Context) error {
	hashes, err := texts(ctx, s.read, "SELECT hex(hash) FROM blobs")
	if err != nil {
		return explain(s.file, err)
	}
	for _, hash := range hashes {
		if _, err := s.blob(ctx, hash); err != nil {
			return s.damaged("", err)
		}
	}
	runs, err := s.List(ctx, driver.Filter{})
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := s.checkRun(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) checkRun(ctx context.Context, r Run) error {
	if r.damage != "" {
		return s.damaged(fmt.Sprintf("the %s of run %s cannot be read", r.damage, r.ID), nil)
	}
	pin, err := s.readPin(ctx, r.ID, r.pin)
	if err != nil {
		return err
	}
	if root := pin.Bundle.Root; root.Name != r.Workflow || workflow.Digest(root) != r.Digest {
		return s.damaged(fmt.Sprintf("the definition of run %s is not the one that it has", r.ID), nil)
	}
	last := 0
	for e, err := range s.Events(ctx, r.ID, 0) {
		if err != nil {
			return err
		}
		last = e.Seq
	}
	if last < r.noted {
		return s.damaged(fmt.Sprintf("run %s has lost its events after event %d", r.ID, last), nil)
	}
	return nil
}

func micros(t time.Time) int64     { return t.UnixMicro() }
func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }
