// Package filelock keeps processes from doing the same thing at once, with operating system
// locks on files. The kernel releases a lock when its holder ends, even by SIGKILL. The
// package is a leaf: it imports no other package of Hocket.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked means that another process, or another part of this one, holds the lock.
var ErrLocked = errors.New("locked")

// Lock is a lock that is held.
type Lock struct {
	File   *os.File // its content is only for people
	path   string
	shared bool
}

// Take locks the file at a path, which it creates if necessary; the error is ErrLocked if
// the lock is held. A holder removes its file before it releases the lock, so the lock
// counts only if the path still refers to the locked file:
//
//  1. A holds the lock on file 1, B opens file 1 and waits.
//  2. A removes file 1 and unlocks. C makes file 2 and locks it.
//  3. B gets the lock on file 1, which no path leads to. B must try again.
func Take(path string) (*Lock, error) { return take(path, false) }

// Share locks the file at a path like Take, together with others who share the lock; the error is ErrLocked
// if somebody has it alone.
func Share(path string) (*Lock, error) { return take(path, true) }

func take(path string, shared bool) (*Lock, error) {
	try := Try
	if shared {
		try = Look
	}
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := try(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(mine, there) {
			return &Lock{f, path, shared}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// Wait takes a lock that others hold only for moments. It gives up after a time.
func Wait(path string, patience time.Duration) (*Lock, error) {
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		l, err := Take(path)
		if !errors.Is(err, ErrLocked) {
			return l, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s is %w by another process for %s", path, ErrLocked, patience)
		}
		time.Sleep(pause)
	}
}

// Release releases the lock. Removing the file may fail on systems where open files cannot
// be removed; an empty lock file does no harm.
func (l *Lock) Release() error {
	if !l.shared || l.isLast() {
		os.Remove(l.path)
	}
	return l.File.Close()
}

// isLast reports whether nobody shares the lock any more, and has it alone then. While it changes from one to the other, somebody
// else may have had it alone, and removed the file.
func (l *Lock) isLast() bool {
	if Try(l.File) != nil {
		return false
	}
	mine, err := l.File.Stat()
	there, wrong := os.Stat(l.path)
	return err == nil && wrong == nil && os.SameFile(mine, there)
}
