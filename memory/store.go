package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Store is the memories of one project. It is safe for concurrent use.
type Store struct {
	file  string
	write *sql.DB // one connection
	read  *sql.DB
}

const (
	fileName    = "memory.db"
	busyTimeout = 30 * time.Second
	maxReaders  = 4
)

// Open opens the memories in a state directory, and makes both where they do not
// exist. Older ones are brought up to date.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	s := &Store{file: filepath.Join(abs, fileName)}
	if err := create(s.file); err != nil {
		return nil, explain(s.file, err)
	}
	if err := s.connect(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenExisting is like [Open], but makes nothing: where there are no memories the
// error is an fs.ErrNotExist.
func OpenExisting(dir string) (*Store, error) {
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		return nil, explain(filepath.Join(dir, fileName), err)
	}
	return Open(dir)
}

// create makes the directory and an empty file, before SQLite would make it with
// the mode of the umask. Its -wal and -shm get the same mode.
func create(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // never opened here: closing it would drop SQLite's locks
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func (s *Store) connect() error {
	var err error
	s.write, err = sql.Open("sqlite", dsn(s.file, "_pragma", "journal_mode(WAL)", "_pragma", "synchronous(FULL)", "_txlock", "immediate"))
	if err != nil {
		return explain(s.file, err)
	}
	s.write.SetMaxOpenConns(1)
	s.read, err = sql.Open("sqlite", dsn(s.file, "_query_only", "1"))
	if err != nil {
		return explain(s.file, err)
	}
	s.read.SetMaxOpenConns(maxReaders)
	s.read.SetMaxIdleConns(maxReaders)
	if err := s.greet(); err != nil {
		return explain(s.file, err)
	}
	return migrate(context.Background(), s.write, s.file)
}

// greet makes the first connection. While another process turns a new database to
// WAL, SQLite refuses at once instead of waiting.
func (s *Store) greet() error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := s.write.Ping()
		var lite *sqlite.Error
		if !errors.As(err, &lite) || lite.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
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
		q.Add(options[i], options[i+1])
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// Close closes the memories.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return explain(s.file, errors.Join(errs...))
}

// transact runs change in one transaction.
func (s *Store) transact(ctx context.Context, change func(tx *sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return explain(s.file, err)
	}
	defer func() { _ = tx.Rollback() }() // says only that it is over already
	if err := change(tx); err != nil {
		return explain(s.file, err)
	}
	return explain(s.file, tx.Commit())
}

// Error is a failure of the file that a person has to act on.
type Error struct {
	File    string
	Problem string
	Advice  string
	Err     error // what the database or the system said; may be nil
}

func (e *Error) Error() string {
	text := fmt.Sprintf("memories %s: %s", e.File, e.Problem)
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text
}

// Hint says what to do.
func (e *Error) Hint() string { return e.Advice }

func (e *Error) Unwrap() error { return e.Err }

const writable = "make the directory and the files in it writable, or name another one with --state"

// problems are what SQLite and the system say that a person can act on.
var problems = []struct {
	codes           []int
	err             error
	problem, advice string
}{
	{[]int{sqlite3.SQLITE_FULL}, nil, "the disk is full", "free some space; what was kept is intact"},
	{[]int{sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}, fs.ErrPermission, "it cannot be written", writable},
	{[]int{sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH}, fs.ErrNotExist, "it cannot be opened", "check that the directory exists and that you may read it, or name another one with --state"},
	{[]int{sqlite3.SQLITE_CORRUPT}, nil, "the file is damaged", "restore a copy, or move it away and start anew"},
	{[]int{sqlite3.SQLITE_NOTADB}, nil, "the file is no database", "move it away, or name another directory with --state"},
	{[]int{sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}, nil, "other processes keep it locked", "try again when they are done"},
}

// explain gives an error of the database or the system our type, where it is one
// that a person can act on.
func explain(file string, err error) error {
	var mine *Error
	var unknown *UnknownError
	if err == nil || errors.As(err, &mine) || errors.As(err, &unknown) {
		return err
	}
	code := 0
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		code = lite.Code() & 0xff
	}
	for _, p := range problems {
		if slices.Contains(p.codes, code) || p.err != nil && errors.Is(err, p.err) {
			return &Error{file, p.problem, p.advice, err}
		}
	}
	return fmt.Errorf("memories %s: %w", file, err)
}
