package local_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/driver/local"
)

func TestConformance(t *testing.T) {
	drivertest.Run(t, func(t testing.TB) drivertest.World { return world{t.TempDir()} })
}

// world keeps its runs in a directory.
type world struct{ dir string }

func (w world) Driver(t testing.TB, now func() time.Time) drivertest.Process {
	d, err := local.Open(w.dir, local.Options{Clock: machine{now}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return process{d}
}

func (world) Traits() drivertest.Traits {
	return drivertest.Traits{Exclusive: true, StopsWithCaller: true}
}

// Spoil makes all long outputs unreadable.
func (w world) Spoil(t testing.TB, _ string, _ int) (restore func()) {
	changeSnapshots(t, w.dir, "UPDATE blobs SET data = '!' || data")
	return func() { changeSnapshots(t, w.dir, "UPDATE blobs SET data = substr(data, 2)") }
}

// Away locks the journal.
func (w world) Away(t testing.TB) (back func()) {
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	held, err := db.Conn(t.Context())
	if err == nil {
		_, err = held.ExecContext(t.Context(), "PRAGMA busy_timeout = 10000; BEGIN EXCLUSIVE")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(held.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// machine is a clock whose wall clock may be changed.
type machine struct{ now func() time.Time }

func (m machine) Now() time.Time { return m.now() }

func (machine) Elapsed() time.Duration { return time.Since(began) }

func (machine) Timer(d time.Duration) (<-chan time.Time, func()) {
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}

// process is a driver with its own journal, as a separate process would have.
type process struct{ *local.Driver }

// Kill closes the journal under the driver, which can then record nothing more. To other
// processes, that looks the same as a process that has died.
func (p process) Kill() { p.Close() }
