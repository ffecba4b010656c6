package memory

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	"github.com/hocket-dev/hocket/internal/database"
)

// Store is the memories of one project. It is safe for concurrent use.
type Store struct {
	file  string
	write *sql.DB // one connection
	read  *sql.DB
}

const fileName = "memory.db"

// Open opens the memories in a state directory, creates both if necessary, and upgrades an
// older database.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	s := &Store{file: filepath.Join(abs, fileName)}
	if s.write, s.read, err = kind.Open(s.file, database.Options{Secure: true}); err != nil {
		return nil, err
	}
	if err := s.reindex(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenExisting is like [Open], but creates nothing: if there are no memories, the error is an
// fs.ErrNotExist.
func OpenExisting(dir string) (*Store, error) {
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		return nil, explain(filepath.Join(dir, fileName), err)
	}
	return Open(dir)
}

// Close closes the memories.
func (s *Store) Close() error { return explain(s.file, database.Close(s.read, s.write)) }

// transact runs change in one transaction.
func (s *Store) transact(ctx context.Context, change func(tx *sql.Tx) error) error {
	return explain(s.file, database.Transact(ctx, s.write, change))
}

// Error describes a problem with the file for a person.
type Error = database.Error

// explain converts an error of the database or the system to our type, if a person can act
// on it.
func explain(file string, err error) error {
	if errors.As(err, new(*UnknownError)) || errors.As(err, new(*KeyError)) {
		return err
	}
	return kind.Explain(file, err)
}
