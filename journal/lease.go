package journal

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/internal/filelock"
)

// lease is the right to drive one run: a lock of the operating system on a file.
// The kernel lets go of it when the process ends, even by SIGKILL, so a run can
// be taken up at once. What the file says is for people only.
type lease struct {
	*filelock.Lock
	before driver.Holder // that died with the lease; zero: nobody did
}

// patience is how long take waits for a lock to go away: looking at a lock means
// to hold it for a moment, and that is no reason to refuse a run.
const patience = 200 * time.Millisecond

func (s *Store) leasePath(run string) string {
	return filepath.Join(s.leases(), LeaseName(run))
}

// take locks a run. The error is a *driver.HeldError when another process has it.
func (s *Store) take(run string) (*lease, error) {
	path := s.leasePath(run)
	l, err := takeLease(path)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, &driver.HeldError{Run: run, Holder: signature(path)}
	}
	return l, explain(path, err)
}

func takeLease(path string) (*lease, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.Wait(path, patience)
	if err != nil {
		return nil, err
	}
	l := &lease{lock, signature(path)} // whoever gives a lease up removes the file
	if err := l.sign(); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// sign writes who holds the lease, for the message that others get.
func (l *lease) sign() error {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	text, err := json.Marshal(driver.Holder{PID: os.Getpid(), Host: host, Since: time.Now().Round(time.Second).UTC()})
	if err == nil {
		err = l.File.Truncate(0)
	}
	if err == nil {
		_, err = l.File.WriteAt(append(text, '\n'), 0)
	}
	return err
}

// signature reads what a holder wrote. It may not have written anything yet.
func signature(path string) driver.Holder {
	var h driver.Holder
	f, err := os.Open(path)
	if err != nil {
		return h
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil || json.Unmarshal(text, &h) != nil {
		return driver.Holder{}
	}
	return h
}

// Driver says which process drives a run, if one does.
func (s *Store) Driver(run string) (driver.Holder, bool) {
	path := s.leasePath(run)
	if !held(path) {
		return driver.Holder{}, false
	}
	return signature(path), true
}

// held says whether a process holds the lock on a file.
func held(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close() // unlocks it, if nobody had it
	return filelock.Try(f) != nil
}
