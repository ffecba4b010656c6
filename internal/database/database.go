// Package database opens Hocket's SQLite files. Journal and memory import it, each
// with a [Kind] of its own.
//
// # Guarantees
//
//  1. A file and its directory are private to the user.
//  2. Several processes may open, create and migrate one file at once.
//  3. A file of another program, or of a newer version, is rejected and not changed.
//  4. A problem that a person can solve is an [Error], which says how.
package database

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/wholefile"
)

// Kind is a kind of database.
type Kind struct {
	Name  string // for people
	Magic int    // marks its files as ours, in their header
	// Steps lead from an empty database to the newest schema. Step i leads from version i
	// to i+1; the version is the database's user_version. A released step is never changed:
	// add a new one.
	Steps  []string
	Advice map[Problem]string // additions to the usual advice
}

// Options configure how a database is opened. The zero value is the default.
type Options struct {
	// Relaxed means that a power failure may lose the last moments (synchronous=NORMAL). A
	// crash of the process still loses nothing.
	Relaxed bool
	// Secure overwrites deleted data, so that the file no longer contains it.
	Secure bool
	VFS    string // SQLite's VFS; "": the default
}

const (
	busyTimeout = 30 * time.Second
	greetPause  = 5 * time.Millisecond
	maxReaders  = 4
)

// Open opens a file, which is created if it does not exist and migrated if it is older: one
// connection that writes, and some that only read.
func (k *Kind) Open(file string, o Options) (write, read *sql.DB, err error) {
	defer func() {
		if err != nil {
			err = k.Explain(file, errors.Join(err, Close(write, read)))
			write, read = nil, nil
		}
	}()
	if err := create(file); err != nil {
		return nil, nil, err
	}
	synchronous := "FULL"
	if o.Relaxed {
		synchronous = "NORMAL"
	}
	secure := ""
	if o.Secure {
		secure = "secure_delete(1)"
	}
	write, err = sql.Open("sqlite", Source(file, "vfs", o.VFS, "_pragma", "auto_vacuum(2)", "_pragma", "journal_mode(WAL)", "_pragma", "synchronous("+synchronous+")",
		"_pragma", secure, "_pragma", "fullfsync(1)", "_pragma", "checkpoint_fullfsync(1)", "_pragma", "journal_size_limit(67108864)", "_txlock", "immediate"))
	if err != nil {
		return nil, nil, err
	}
	write.SetMaxOpenConns(1)
	if read, err = OpenReader(Source(file, "vfs", o.VFS, "_query_only", "1")); err != nil {
		return write, nil, err
	}
	if err := greet(write); err != nil {
		return write, read, err
	}
	return write, read, k.migrate(context.Background(), write, file)
}

// OpenReader opens a source for reading only.
func OpenReader(source string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", source)
	if err == nil {
		db.SetMaxOpenConns(maxReaders)
		db.SetMaxIdleConns(maxReaders)
	}
	return db, err
}

// Close closes the open connections of a database.
func Close(all ...*sql.DB) error {
	var errs []error
	for _, db := range all {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// create creates the directory and an empty file, before SQLite would create it with the
// mode of the umask. Its -wal and -shm get the same mode.
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
	return wholefile.SyncDir(dir)
}

// greet makes the first connection. While another process switches a new database to WAL,
// SQLite fails at once instead of waiting.
func greet(db *sql.DB) error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := db.Ping()
		if problem, _ := problemOf(err); problem != Busy || time.Now().After(deadline) {
			return err
		}
		time.Sleep(greetPause)
	}
}

// Source returns the name of a database for SQLite: its file, and pairs of options. An
// option with an empty value is omitted.
func Source(file string, options ...string) string {
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
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// Transact runs change in one transaction.
func Transact(ctx context.Context, db *sql.DB, change func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // only reports that it has already ended
	if err := change(tx); err != nil {
		return err
	}
	return tx.Commit()
}
