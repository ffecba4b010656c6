package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/internal/database"
)

// Problem is what is wrong with a journal.
type Problem = database.Problem

// Error explains to a person what is wrong with a journal.
type Error = database.Error

// The problems that a person can do something about.
const (
	Full        = database.Full
	ReadOnly    = database.ReadOnly
	Unreadable  = database.Unreadable
	Corrupt     = database.Corrupt
	NotDatabase = database.NotDatabase
	Newer       = database.Newer
	Busy        = database.Busy
	Broken      = database.Broken
)

// IsProblem reports whether err is an [Error] with one of the problems.
func IsProblem(err error, problems ...Problem) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(problems, e.Problem)
}

// damaged returns the error for a record that cannot be read.
func (s *Store) damaged(detail string, err error) error {
	return &Error{Kind: kind, File: s.file, Problem: Corrupt, Detail: detail, Err: err}
}

// explain converts an error of the database or the system to our type, if a person can act
// on it.
func explain(file string, err error) error {
	var typed interface{ explained() }
	var held *driver.HeldError
	var unknown *driver.UnknownRunError
	var exists *driver.ExistsError
	var key *driver.KeyError
	if errors.As(err, &typed) || errors.As(err, &held) || errors.As(err, &unknown) || errors.As(err, &exists) || errors.As(err, &key) {
		return err
	}
	return kind.Explain(file, err)
}

// ConflictError reports that another process has written to a run that this one drives. The
// lease makes this impossible on one machine; on a network disk without locks it is the
// last line of defense.
type ConflictError struct {
	Run string
	Seq int
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("journal: event %d of run %s already exists: another process drives this run", e.Seq, e.Run)
}

func (*ConflictError) explained() {}
func (*UsedKeyError) explained()  {}
