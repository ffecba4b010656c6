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
	File *os.File // its content is only for people
	path string
}

// Take locks the file at a path, which it creates if necessary; the error is ErrLocked if
// the lock is held. A holder removes its file before it releases the lock, so the lock
// counts only if the path still refers to the locked file:
//
//  1. A holds the lock on file 1, B opens file 1 and waits.
//  2. A removes file 1 and unlocks. C makes file 2 and locks it.
//  3. B gets the lock on file 1, which no path leads to. B must try again.
func Take(path string) (*Lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := Try(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(mine, there) {
			return &Lock{f, path}, nil
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
	os.Remove(l.path)
	return l.File.Close()
}
