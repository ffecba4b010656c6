package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Problem is what is wrong with a journal.
type Problem string

// The problems that a person can do something about.
const (
	Full        Problem = "the disk is full"
	ReadOnly    Problem = "it cannot be written"
	Unreadable  Problem = "it cannot be opened"
	Corrupt     Problem = "the file is damaged"
	NotDatabase Problem = "the file is not a journal"
	Newer       Problem = "it was written by a newer version of hocket"
	Busy        Problem = "other processes keep it locked"
	Broken      Problem = "the disk failed"
)

// hints say what to do about each problem.
var hints = map[Problem]string{
	Full:        "free some space, then resume the run; what was recorded is intact",
	ReadOnly:    "make the directory and the files in it writable, or name another one with --state; what was recorded can still be shown",
	Unreadable:  "check that the directory exists and that you may read it, or name another one with --state",
	Corrupt:     "move it away together with its -wal file and start anew, or restore a copy; what can still be read can be shown",
	NotDatabase: "name another directory with --state, or move the file away",
	Newer:       "update hocket, or name another directory with --state",
	Busy:        "try again when they are done",
	Broken:      "check the disk; what was recorded before can still be shown",
}

// Error is a failure of the journal that a person has to act on.
type Error struct {
	File    string
	Problem Problem
	Detail  string // more about it; may be empty
	Err     error  // what the database or the system said; may be nil
}

// Hint says what to do.
func (e *Error) Hint() string { return hints[e.Problem] }

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "journal %s: %s", e.File, e.Problem)
	if e.Detail != "" {
		fmt.Fprintf(&b, " (%s)", e.Detail)
	} else if e.Err != nil {
		fmt.Fprintf(&b, " (%v)", e.Err)
	}
	return b.String() + "; " + e.Hint()
}

func (e *Error) Unwrap() error { return e.Err }

// IsProblem says whether err is an [Error] with one of the problems.
func IsProblem(err error, problems ...Problem) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(problems, e.Problem)
}

// codes are SQLite's result codes that mean one of our problems.
var codes = map[int]Problem{
	sqlite3.SQLITE_FULL:     Full,
	sqlite3.SQLITE_READONLY: ReadOnly,
	sqlite3.SQLITE_PERM:     ReadOnly,
	sqlite3.SQLITE_CANTOPEN: Unreadable,
	sqlite3.SQLITE_AUTH:     Unreadable,
	sqlite3.SQLITE_CORRUPT:  Corrupt,
	sqlite3.SQLITE_NOTADB:   NotDatabase,
	sqlite3.SQLITE_BUSY:     Busy,
	sqlite3.SQLITE_LOCKED:   Busy,
	sqlite3.SQLITE_PROTOCOL: Busy,
	sqlite3.SQLITE_IOERR:    Broken,
}

// systemErrors are the system's errors that mean one of our problems.
var systemErrors = []struct {
	err     error
	problem Problem
}{
	{syscall.ENOSPC, Full},
	{syscall.EROFS, ReadOnly},
	{fs.ErrPermission, ReadOnly},
	{syscall.ENOTDIR, Unreadable},
	{fs.ErrNotExist, Unreadable},
}

// explain gives an error of the database or the system our type, where it is one
// that a person can act on.
func explain(file string, err error) error {
	if err == nil {
		return nil
	}
	var typed interface{ explained() }
	if errors.As(err, &typed) {
		return err
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		if p, ok := codes[lite.Code()&0xff]; ok {
			return &Error{File: file, Problem: p, Err: err}
		}
	}
	for _, s := range systemErrors {
		if errors.Is(err, s.err) {
			return &Error{File: file, Problem: s.problem, Err: err}
		}
	}
	return fmt.Errorf("journal %s: %w", file, err)
}

// conflicts says whether err means that a key is taken.
func conflicts(err error) bool {
	var lite *sqlite.Error
	return errors.As(err, &lite) && lite.Code()&0xff == sqlite3.SQLITE_CONSTRAINT
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

func (*Error) explained()           {}
func (*ConflictError) explained()   {}
func (*HeldError) explained()       {}
func (*UnknownRunError) explained() {}
func (*ExistsError) explained()     {}
