package journal

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Holder is a process that drives a run.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// lease is the right to drive one run: a lock of the operating system on a file.
// The kernel lets go of it when the process ends, even by SIGKILL, so a run can
// be taken up at once. What the file says is for people only.
type lease struct {
	file *os.File
	path string
}

// patience is how long take waits for a lock to go away: looking at a lock means
// to hold it for a moment, and that is no reason to refuse a run.
const patience = 200 * time.Millisecond

// errLocked says that another process, or another part of this one, holds the
// lock.
var errLocked = errors.New("locked")

func (s *Store) leasePath(run string) string {
	return filepath.Join(s.dir, "leases", fileNameOf(run)+".lock")
}

// take locks a run. The error is a *HeldError when another process has it.
func (s *Store) take(run string) (*lease, error) {
	path := s.leasePath(run)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, explain(path, err)
	}
	deadline := time.Now().Add(patience)
	for {
		l, err := grab(path)
		if err == nil {
			if err = l.sign(); err == nil {
				return l, nil
			}
			err = errors.Join(err, l.release())
		}
		if !errors.Is(err, errLocked) {
			return nil, explain(path, err)
		}
		if time.Now().After(deadline) {
			return nil, &HeldError{Run: run, Holder: signature(path)}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// grab locks the file at a path. A holder removes its file before it lets go, so
// the lock counts only if the path still leads to the locked file:
//
//  1. A holds the lock on file 1, B opens file 1 and waits.
//  2. A removes file 1 and unlocks. C makes file 2 and locks it.
//  3. B gets the lock on file 1, which no path leads to. B must try again.
func grab(path string) (*lease, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lockFile(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(mine, there) {
			return &lease{f, path}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// sign writes who holds the lease, for the message that others get.
func (l *lease) sign() error {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	text, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Since: time.Now().Round(time.Second).UTC()})
	if err == nil {
		err = l.file.Truncate(0)
	}
	if err == nil {
		_, err = l.file.WriteAt(append(text, '\n'), 0)
	}
	return err
}

// signature reads what a holder wrote. It may not have written anything yet.
func signature(path string) Holder {
	var h Holder
	f, err := os.Open(path)
	if err != nil {
		return h
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}
	}
	return h
}

// release gives the run up. Removing the file may fail where open files cannot
// be removed; an empty lock file does no harm.
func (l *lease) release() error {
	os.Remove(l.path)
	return l.file.Close()
}

// Driver says which process drives a run, if one does.
func (s *Store) Driver(run string) (Holder, bool) {
	path := s.leasePath(run)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Holder{}, false
	}
	defer f.Close()
	if lockFile(f) == nil {
		return Holder{}, false // nobody did; closing the file unlocks it
	}
	return signature(path), true
}
