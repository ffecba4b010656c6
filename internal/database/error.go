package database

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Problem is what is wrong with a database.
type Problem string

// The problems that a person can solve.
const (
	Full        Problem = "the disk is full"
	ReadOnly    Problem = "it cannot be written"
	Unreadable  Problem = "it cannot be opened"
	Corrupt     Problem = "the file is damaged"
	NotDatabase Problem = "the file is not a hocket database"
	Newer       Problem = "it was written by a newer version of hocket"
	Busy        Problem = "other processes keep it locked"
	Broken      Problem = "the disk failed"
	Gone        Problem = "it was deleted or moved while it was in use"
)

// advice says what to do about each problem.
var advice = map[Problem]string{
	Full:        "free some space; what was recorded is intact",
	ReadOnly:    "make the directory and the files in it writable, or name another one with --state",
	Unreadable:  "check that the directory exists and that you may read it, or name another one with --state",
	Corrupt:     "move it away together with its -wal file and start again, or restore a copy",
	NotDatabase: "name another directory with --state, or move the file away",
	Newer:       "update hocket, or name another directory with --state",
	Busy:        "try again when they are done",
	Broken:      "check the disk",
	Gone:        "if it was moved, move it back and resume the run; if it was deleted, what it recorded is lost",
}

// Error is a failure of a database that a person has to act on.
type Error struct {
	Kind    *Kind
	File    string
	Problem Problem
	Detail  string // more about it; may be empty
	Err     error  // what SQLite or the system said; may be nil
}

// Hint says what to do.
func (e *Error) Hint() string {
	if more := e.Kind.Advice[e.Problem]; more != "" {
		return advice[e.Problem] + "; " + more
	}
	return advice[e.Problem]
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %s", e.Kind.Name, e.File, e.Problem)
	if e.Detail != "" {
		text += fmt.Sprintf(" (%s)", e.Detail)
	} else if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text + "; " + e.Hint()
}

func (e *Error) Unwrap() error { return e.Err }

// Explain converts an error of SQLite or the system to an [Error], if a person can act on
// it.
func (k *Kind) Explain(file string, err error) error {
	var done *Error
	if err == nil || errors.As(err, &done) {
		return err
	}
	if problem, ok := problemOf(err); ok {
		return &Error{Kind: k, File: file, Problem: problem, Err: err}
	}
	return fmt.Errorf("%s %s: %w", k.Name, file, err)
}

// codes maps SQLite's result codes to our problems.
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
	// SQLite has no space for the file that its processes share.
	sqlite3.SQLITE_IOERR_SHMSIZE: Full,
}

// systemErrors maps errors of the system to our problems.
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

func problemOf(err error) (Problem, bool) {
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		for _, code := range []int{lite.Code(), lite.Code() & 0xff} { // the exact one, and its class
			if problem, ok := codes[code]; ok {
				return problem, true
			}
		}
	}
	for _, s := range systemErrors {
		if errors.Is(err, s.err) {
			return s.problem, true
		}
	}
	return "", false
}

// IsTaken reports whether err means that a key is taken.
func IsTaken(err error) bool {
	var lite *sqlite.Error
	return errors.As(err, &lite) && lite.Code()&0xff == sqlite3.SQLITE_CONSTRAINT
}
