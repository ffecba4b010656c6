package journal

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hocket-dev/hocket/internal/database"
)

// OpenReadOnly opens a journal for reading, and does all it can to succeed: it opens it
// like [Open] if that works, and otherwise reads the file as it is. It never creates a
// journal.
func OpenReadOnly(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	file := filepath.Join(abs, fileName)
	if _, err := os.Stat(file); err != nil {
		return nil, &Error{Kind: kind, File: file, Problem: Unreadable, Err: err}
	}
	s, err := Open(abs, Options{})
	if err == nil || !IsProblem(err, ReadOnly, Unreadable, Full, Broken) {
		return s, err
	}
	reason := err
	for _, open := range []func(file string) (*Store, error){openShared, openStill, openCopy} {
		s, err := open(file)
		if err == nil {
			s.dir, s.file, s.reason = abs, file, asReadOnly(file, reason)
			return s, nil
		}
	}
	return nil, reason
}

// asReadOnly is the error of every method that would write.
func asReadOnly(file string, cause error) error {
	if IsProblem(cause, Full) {
		return cause
	}
	return &Error{Kind: kind, File: file, Problem: ReadOnly, Err: cause}
}

// openShared reads alongside a process that has the journal open: its -shm file exists.
func openShared(file string) (*Store, error) {
	if _, err := os.Stat(file + "-shm"); err != nil {
		return nil, err
	}
	return openWith(file, "mode", "ro", "_query_only", "1")
}

// openStill reads a file that no process changes and that contains everything: the last process to
// close a journal merges its -wal file into it.
func openStill(file string) (*Store, error) {
	if wal, err := os.Stat(file + "-wal"); err == nil && wal.Size() > 0 {
		return nil, errors.New("the -wal file holds newer events")
	}
	return openWith(file, "mode", "ro", "immutable", "1", "_query_only", "1")
}

// openWith rejects a schema that is not the newest: it cannot be migrated in place, so a
// copy is needed.
func openWith(file string, options ...string) (*Store, error) {
	db, err := database.OpenReader(database.Source(file, options...))
	if err != nil {
		return nil, err
	}
	newest, err := kind.Newest(context.Background(), db, file)
	if err == nil && !newest {
		err = errors.New("the schema is older")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{read: &reader{DB: db}}, nil
}

// openCopy reads a private copy of the database and its -wal file, which SQLite may recover
// and migrate.
func openCopy(file string) (s *Store, err error) {
	dir, err := os.MkdirTemp("", "hocket-journal-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	for _, suffix := range []string{"", "-wal"} {
		err := copyFile(filepath.Join(dir, fileName)+suffix, file+suffix)
		if err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	s, err = Open(dir, Options{Relaxed: true})
	if err != nil {
		return nil, err
	}
	err = s.write.Close()
	s.write, s.scratch = nil, dir
	return s, err
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Exists reports whether a directory has a journal.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, fileName))
	return !errors.Is(err, fs.ErrNotExist)
}
