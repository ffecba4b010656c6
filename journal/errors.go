package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/database"
)

// Problem is what is wrong with a journal.
type Problem = database.Problem

// Error says to a person what is wrong with a journal.
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

// IsProblem says whether err is an [Error] with one of the problems.
func IsProblem(err error, problems ...Problem) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(problems, e.Problem)
}

// damaged is the error of a record that cannot be read.
func (s *Store) damaged(detail string, err error) error {
	return &Error{Kind: kind, File: s.file, Problem: Corrupt, Detail: detail, Err: err}
}

// explain gives an error of the database or the system our type, where it is one
// that a person can act on.
func explain(file string, err error) error {
	var typed interface{ explained() }
	if errors.As(err, &typed) {
		return err
	}
	return kind.Explain(file, err)
}

// ConflictError says that another process has written to a run that this one
// drives. The lease makes it impossible on one machine; on a network disk
// without locks it is the last line.
type ConflictError struct {
	Run string
	Seq int
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("journal: event %d of run %s exists already: another process drives this run", e.Seq, e.Run)
}

// HeldError says that another process drives a run.
type HeldError struct {
	Run string
	Holder
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("run %s is driven by another process", e.Run)
	}
	return fmt.Sprintf("run %s is driven by process %d on %s since %s", e.Run, e.PID, e.Host, e.Since.Local().Format(time.DateTime))
}

// UnknownRunError says that no run has an id, or that several begin with it.
type UnknownRunError struct {
	ID         string
	Candidates []string // several runs begin with ID; none: no run does
}

func (e *UnknownRunError) Error() string {
	if len(e.Candidates) == 0 {
		return fmt.Sprintf("no run %s is recorded", e.ID)
	}
	return fmt.Sprintf("several runs begin with %s: %s", e.ID, strings.Join(e.Candidates, ", "))
}

// ExistsError says that a run's id is taken.
type ExistsError struct{ Run string }

func (e *ExistsError) Error() string { return fmt.Sprintf("run %s exists already", e.Run) }

func (*ConflictError) explained()   {}
func (*HeldError) explained()       {}
func (*UnknownRunError) explained() {}
func (*ExistsError) explained()     {}
