package journal

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Options say how a journal is opened. The zero value is the default.
type Options struct {
	// Relaxed leaves the last moments to a power failure (synchronous=NORMAL):
	// a crash of the process still loses nothing.
	Relaxed bool
	// MaxLog is how many bytes of an attempt's output are kept; zero: 10 MiB.
	MaxLog int64

	vfs string // SQLite's way to the files; "": the system's own
}

// Store is an open journal. It is safe for concurrent use.
type Store struct {
	dir     string
	file    string
	maxLog  int64
	write   *sql.DB // one connection; nil when the journal is only read
	read    *sql.DB
	reason  error  // why the journal is only read
	scratch string // a copy to remove at the end, see readonly.go
	inserts inserts
}

const (
	fileName    = "journal.db"
	busyTimeout = 30 * time.Second
	maxReaders  = 4
	defaultLog  = 10 << 20
)

// Open opens the journal in a directory, and makes both where they do not exist.
// An older journal is brought up to date.
func Open(dir string, o Options) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	s := &Store{dir: abs, file: filepath.Join(abs, fileName), maxLog: o.MaxLog}
	if s.maxLog == 0 {
		s.maxLog = defaultLog
	}
	if err := create(s.file); err != nil {
		return nil, explain(s.file, err)
	}
	if err := s.connect(o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// create makes the directory and an empty file for the database, before SQLite
// would make it with the mode of the umask. Its -wal and -shm get the same mode.
func create(file string) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // never opened here: closing it would drop SQLite's locks
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a new name in a directory durable, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	for _, cannot := range []error{errors.ErrUnsupported, fs.ErrPermission, syscall.EINVAL} {
		if errors.Is(err, cannot) {
			return nil
		}
	}
	return err
}

func (s *Store) connect(o Options) error {
	synchronous := "FULL"
	if o.Relaxed {
		synchronous = "NORMAL"
	}
	var err error
	s.write, err = sql.Open("sqlite", dsn(s.file, "vfs", o.vfs, "_pragma", "journal_mode(WAL)", "_pragma", "synchronous("+synchronous+")",
		"_pragma", "fullfsync(1)", "_pragma", "checkpoint_fullfsync(1)", "_pragma", "journal_size_limit(67108864)", "_txlock", "immediate"))
	if err != nil {
		return explain(s.file, err)
	}
	s.write.SetMaxOpenConns(1)
	s.read, err = sql.Open("sqlite", dsn(s.file, "vfs", o.vfs, "_query_only", "1"))
	if err != nil {
		return explain(s.file, err)
	}
	s.read.SetMaxOpenConns(maxReaders)
	s.read.SetMaxIdleConns(maxReaders)
	if err := s.greet(); err != nil {
		return explain(s.file, err)
	}
	if err := migrate(context.Background(), s.write, s.file); err != nil {
		return err
	}
	// SQLite opens a file that it may not write for reading, and says so only
	// when something is to be written.
	return s.transact(func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM runs WHERE false")
		return err
	})
}

// greet makes the first connection. While another process turns a new database
// to WAL, SQLite refuses at once instead of waiting.
func (s *Store) greet() error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := s.write.Ping()
		if !IsProblem(explain(s.file, err), Busy) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// dsn is the name of a database for the driver: its file, and pairs of options.
func dsn(file string, options ...string) string {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/x on Windows
	}
	q := url.Values{"_busy_timeout": {"30000"}}
	for i := 0; i < len(options); i += 2 {
		if options[i+1] != "" {
			q.Add(options[i], options[i+1])
		}
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}

// Dir is the directory of the journal.
func (s *Store) Dir() string { return s.dir }

// Writable says whether events can be recorded. The error says why not.
func (s *Store) Writable() error { return s.reason }

// Close closes the journal. Writers must have been closed before.
func (s *Store) Close() error {
	var errs []error
	s.inserts.close()
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.scratch != "" {
		errs = append(errs, os.RemoveAll(s.scratch))
	}
	return explain(s.file, errors.Join(errs...))
}

// Check reads the whole database and says whether it is sound.
func (s *Store) Check(ctx context.Context) error {
	var verdict string
	if err := s.read.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return explain(s.file, err)
	}
	if verdict != "ok" {
		return &Error{File: s.file, Problem: Corrupt, Detail: verdict}
	}
	return nil
}

// transact runs change in one transaction.
func (s *Store) transact(change func(tx *sql.Tx) error) error {
	if s.write == nil {
		return s.reason
	}
	tx, err := s.write.Begin()
	if err != nil {
		return explain(s.file, err)
	}
	defer func() { _ = tx.Rollback() }() // says only that it is over already
	if err := change(tx); err != nil {
		return explain(s.file, err)
	}
	return explain(s.file, tx.Commit())
}

func micros(t time.Time) int64     { return t.UnixMicro() }
func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }
