package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// FullError means that a disk is full.
type FullError struct {
	Dir       string // on that disk
	Elsewhere bool   // it is not full of workspaces: they are on another one, or were just removed
	Err       error
}

func (e *FullError) Error() string {
	if e.Elsewhere {
		return fmt.Sprintf("the disk of %s is full: free some space there, and try again: %v", e.Dir, e.Err)
	}
	return fmt.Sprintf("the disk of %s is full: free some space there, for example with hocket workspace rm --all, and try again: %v", e.Dir, e.Err)
}

func (e *FullError) Unwrap() error { return e.Err }

// RemovedError means that somebody has removed the store, or its objects.
type RemovedError struct {
	Dir string
	Err error
}

func (e *RemovedError) Error() string {
	return fmt.Sprintf("%s, where Hocket records what the steps make, was removed: retry the run or, if that is not possible, start it again; what is in the directories of its steps is still there: %v", e.Dir, e.Err)
}

func (e *RemovedError) Unwrap() error { return e.Err }

// DamagedError means that somebody has changed the store so that git cannot use it, or would use another place.
type DamagedError struct {
	Dir string
	Err error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s, where Hocket records what the steps make, was changed, perhaps by a step: %v: move it elsewhere, and retry the run or, if that is not possible, start it again; what is in the directories of its steps is still there", e.Dir, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// ReplacedError means that a step has removed its directory, or replaced it.
type ReplacedError struct{ Err error }

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("the step has removed or replaced its directory: have it leave that in place, and retry the run: %v", e.Err)
}

func (e *ReplacedError) Unwrap() error { return e.Err }

// RefusedError means that git does not record something, because of what it is or of its name.
type RefusedError struct{ Path, why string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("git does not record %s: %s", Shown(e.Path), e.why)
}

// refused returns an error for a line that git add prints, nil if it means something else.
func refused(line string) error {
	if name, ok := between(line, "error: invalid path '", "'"); ok {
		if strings.EqualFold(path.Base(name), ".gitmodules") {
			return &RefusedError{name, "it is a symbolic link, and has to be a file: replace or remove it"}
		}
		return &RefusedError{name, "some systems take a part of this name for .git: rename it, remove it, or ignore it"}
	}
	if name, ok := between(line, "error: ", ": can only add regular files, symbolic links or git-directories"); ok {
		return &RefusedError{name, "it is neither a file nor a link nor a directory, for example a pipe: remove it"}
	}
	if name, ok := between(line, `error: open("`, `"): Permission denied`); ok {
		return &RefusedError{name, "it cannot be read: change its owner or its permissions, or ignore it"}
	}
	return nil
}

func between(text, start, end string) (string, bool) {
	text, ok := strings.CutPrefix(text, start)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(text, end)
}

// reason returns an error that says what to do, if an error is due to permissions, or to the disk that a directory is on.
func reason(err error, dir string) error {
	switch {
	case errors.As(err, new(*FullError)), errors.As(err, new(*UnwritableError)), errors.As(err, new(*DeniedError)):
		return err
	case errors.Is(err, syscall.ENOSPC):
		return &FullError{Dir: dir, Err: err}
	}
	return denied(err)
}

// reason returns an error that says what to do, if an error is due to the disk or to what somebody has done to the store.
func (s *Store) reason(err error) error {
	if err != nil && s.isRemoved() {
		return &RemovedError{s.objects(), err}
	}
	return reason(err, s.dir)
}

// isRemoved reports whether somebody has removed the objects of the store, or put something else there.
func (s *Store) isRemoved() bool {
	err := isDirectory(s.objects())
	return err != nil && !errors.Is(err, fs.ErrPermission)
}

// removalReason is reason for what removes workspaces, which need not be advised then.
func (s *Store) removalReason(err error) error {
	err = s.reason(err)
	var full *FullError
	if errors.As(err, &full) {
		full.Elsewhere = true
	}
	return err
}

// full returns an error that names the directory whose disk is full, if an error is due to that: the given one, unless it names one already.
func (s *Store) full(err error, dir string) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	var full *FullError
	if !errors.As(err, &full) {
		full = &FullError{Dir: dir, Err: err}
		err = full
	}
	full.Elsewhere = !onSameDisk(full.Dir, s.dir)
	return err
}

// onSameDisk reports whether two directories are on the same disk. It does so, too, if that is not known.
func onSameDisk(a, b string) bool {
	const device = 4
	one, known := statOf(a)
	other, knownToo := statOf(b)
	return !known || !knownToo || one[device] == other[device]
}

// landReason is reason for a landing, which has better errors for what it may not write in the checkout.
func (s *Store) landReason(err error) error {
	if err != nil && s.isRemoved() {
		return &RemovedError{s.objects(), err}
	}
	return s.full(err, s.dir)
}
