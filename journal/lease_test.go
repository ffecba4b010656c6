package journal

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/workflow"
)

func TestOneDriverAtATime(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	a, b := openStore(t, dir), openStore(t, dir)
	w := createRun(t, a, "demo-1")

	var held *driver.HeldError
	if _, err := b.Writer(ctx, "demo-1"); !errors.As(err, &held) || held.PID != os.Getpid() || held.Since.IsZero() {
		t.Fatalf("a second driver gets %v", err)
	}
	if h, ok, err := b.Driver(ctx, "demo-1"); !ok || h.PID != os.Getpid() {
		t.Errorf("Driver = %+v, %v, %v", h, ok, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := b.Driver(ctx, "demo-1"); ok || err != nil {
		t.Error("a run that was given up is still driven", err)
	}
	w2, err := b.Writer(ctx, "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := w2.Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir + "/leases"); err != nil || len(left) != 0 {
		t.Errorf("lock files left behind: %v, %v", left, err)
	}
}

// A watcher that sees the file of a lease before it is locked takes the process for dead. The directory changes once more
// when the lock is held, so that it looks again.
func TestLeaseIsSeenWhenLocked(t *testing.T) {
	s := openStore(t, t.TempDir())
	name, err := s.name()
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.Stat(s.leasePath(name)) // after it was locked
	if err != nil {
		t.Fatal(err)
	}
	changed, err := os.Stat(s.leases())
	if err != nil {
		t.Fatal(err)
	}
	if !changed.ModTime().After(written.ModTime()) {
		t.Errorf("the directory changed at %v, and the lock was held at %v", changed.ModTime(), written.ModTime())
	}
}

// Taking, inspecting and releasing a lease concurrently never admits two holders.
func TestLeaseRace(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := openStore(t, dir)
	createRun(t, s, "demo-1").Close()
	inside := make(chan struct{}, 1)
	done := make(chan int)
	tries := 150
	if testing.Short() {
		tries = 30
	}
	for range 6 {
		go func() {
			won := 0
			for range tries {
				w, err := s.Writer(ctx, "demo-1")
				if err != nil {
					var held *driver.HeldError
					if !errors.As(err, &held) {
						t.Error(err)
					}
					continue
				}
				select {
				case inside <- struct{}{}:
				default:
					t.Error("two drivers at once")
				}
				won++
				if _, driven, err := s.Driver(ctx, "demo-1"); !driven || err != nil {
					t.Error("nobody drives the run", err)
				}
				<-inside
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
			done <- won
		}()
	}
	total := 0
	for range 6 {
		total += <-done
	}
	if total < tries {
		t.Errorf("only %d leases were given in %d attempts", total, 6*tries)
	}
}

// The kernel releases the lease of a killed process.
func TestLeaseOfAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	createRun(t, s, "demo-1").Close()
	c := startChild(t, "hold", dir, "demo-1")
	c.expect(t, "held")

	var held *driver.HeldError
	_, err := s.Writer(context.Background(), "demo-1")
	if !errors.As(err, &held) || held.PID != c.cmd.Process.Pid {
		t.Fatalf("while a child drives: %v", err)
	}
	if host, _ := os.Hostname(); !strings.Contains(err.Error(), host) {
		t.Errorf("the message does not name the host: %v", err)
	}
	c.kill(t)
	w, err := s.Writer(context.Background(), "demo-1")
	if err != nil {
		t.Fatalf("after SIGKILL: %v", err)
	}
	if w.Before().PID != c.cmd.Process.Pid {
		t.Errorf("the child is not known as the one before: %+v", w.Before())
	}
	w.Close()
}

// The last batch of a run releases its lease, in the same transaction.
func TestLastBatchGivesUp(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	if err := w.Append(Batch{Summary: &Summary{Status: engine.Running}}); err != nil {
		t.Fatal(err)
	}
	if _, driven, err := s.Driver(t.Context(), "demo-1"); !driven || err != nil {
		t.Error("another batch released the run", err)
	}
	if err := w.Append(Batch{Summary: &Summary{Status: engine.Success}, Last: true}); err != nil {
		t.Fatal(err)
	}
	if _, driven, err := s.Driver(t.Context(), "demo-1"); driven || err != nil {
		t.Error("the run is still driven", err)
	}
	next, err := s.Writer(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil { // the lease is already released
		t.Error(err)
	}
	if _, driven, err := s.Driver(t.Context(), "demo-1"); !driven || err != nil {
		t.Error("the first writer gave up what the second one holds", err)
	}
	next.Close()
}

// A run whose release failed can be taken again by the same process.
func TestReleaseThatFails(t *testing.T) {
	dir := t.TempDir()
	s, other := openStore(t, dir), openStore(t, dir)
	w := createRun(t, s, "demo-1")
	exec := func(text string) {
		t.Helper()
		if _, err := other.write.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TRIGGER refuse BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'refused'); END")
	if err := w.Close(); err == nil {
		t.Fatal("the run was given up")
	}
	exec("DROP TRIGGER refuse")
	if _, err := other.Writer(t.Context(), "demo-1"); !errors.As(err, new(*driver.HeldError)) {
		t.Errorf("another store gets %v", err)
	}
	next, err := s.Writer(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// Any number of readers may inspect a process's lock at once. A lock that cannot be
// inspected counts as held.
func TestLookingAtLeases(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	createRun(t, s, "demo-1").Close()
	c := startChild(t, "hold", dir, "demo-1")
	c.expect(t, "held")
	c.kill(t)
	dead := ""
	for name := range s.Leases() {
		if name != s.lease.name {
			dead = name
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				if s.Lives(dead) {
					t.Error("who looks is taken for the process that was killed")
					return
				}
			}
		})
	}
	all.Wait()
	if !s.Lives(s.lease.name) || s.Lives("nobody") {
		t.Error("who lives is not known")
	}
	if err := os.Symlink("loop"+leaseEnding, s.leasePath("loop")); err != nil {
		t.Skip(err)
	}
	if !s.Lives("loop") {
		t.Error("a lock that cannot be opened counts as free")
	}
}

// The lease file of a killed process is kept while a run needs it, and removed
// afterwards.
func TestLeasesOfKilledProcesses(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	createRun(t, s, "demo-1").Close()
	c := startChild(t, "hold", dir, "demo-1")
	c.expect(t, "held")
	c.kill(t)
	other := openStore(t, dir)
	if _, err := other.name(); err != nil || len(s.Leases()) != 3 {
		t.Fatalf("there are %v, %v", s.Leases(), err)
	}
	w, err := other.Writer(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	last := openStore(t, dir)
	if _, err := last.name(); err != nil || len(s.Leases()) != 3 {
		t.Errorf("there are %v, %v", s.Leases(), err)
	}
}

// The store waits for a run that another process is about to release.
func TestPatience(t *testing.T) {
	for range 100 { // a machine may be so slow that the time is up before the second try
		tries := 0
		err := patiently(t.Context(), func() error {
			if tries++; tries < 3 {
				return &driver.HeldError{Run: "demo-1"}
			}
			return nil
		})
		if err == nil && tries == 3 {
			return
		}
	}
	t.Error("no one waits")
}

// Without a lease, nothing is deleted.
func TestDeleteWithoutLease(t *testing.T) {
	s := openStore(t, t.TempDir())
	if err := createRun(t, s, "demo-1").Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	leases := filepath.Join(s.Dir(), "leases")
	if err := errors.Join(os.RemoveAll(leases), os.WriteFile(leases, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	other := openStore(t, s.Dir())
	if deleted, err := other.Delete(t.Context(), "demo-1"); err == nil {
		t.Errorf("%v", deleted)
	}
	find(t, other, "demo-1")
}

func TestFindInReadOnlyJournal(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	reader, err := OpenReadOnly(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	find(t, reader, "demo-1")
}

// leaveLease makes the files and rows that a killed process leaves that drove a run.
func leaveLease(t *testing.T, s *Store, name, run string) {
	t.Helper()
	change(t, s, "UPDATE runs SET driver = ? WHERE id = ?", name, run)
	text := workflow.FormatJSON(driver.Holder{PID: 1 << 30, Host: name})
	if err := errors.Join(os.MkdirAll(s.leases(), 0o700), os.WriteFile(s.leasePath(name), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// Looking at the lock of a killed process leaves it free.
func TestLookingLeavesNoLock(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1").Close()
	leaveLease(t, s, "dead", "demo-1")
	if s.Lives("dead") {
		t.Error("who was killed lives")
	}
	lock, err := filelock.Take(s.leasePath("dead"))
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

// If it is not known which leases are needed, all of them stay.
func TestLeasesThatMayBeNeeded(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1").Close()
	other := openStore(t, s.Dir())
	leaveLease(t, other, "dead", "demo-1")
	*injectInto(t, other) = faults{in: 1}
	if _, err := other.name(); err != nil {
		t.Fatal(err)
	}
	if !s.Leases()["dead"] {
		t.Error("a lease that a run needs was removed")
	}
}

// A writer that was closed does not release what another one has taken.
func TestCloseTwice(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := s.Writer(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	w.Close()
	if _, driven, err := s.Driver(t.Context(), "demo-1"); !driven || err != nil {
		t.Errorf("driven: %v, %v", driven, err)
	}
}

// A caller that gives up learns why it waited.
func TestPatienceEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := patiently(ctx, func() error { return &driver.HeldError{Run: "demo-1"} }); !errors.As(err, new(*driver.HeldError)) {
		t.Errorf("the error is %v", err)
	}
}

// Where no lease can be written, no run is created.
func TestCreateWithoutLease(t *testing.T) {
	s := openStore(t, t.TempDir())
	if err := os.WriteFile(s.leases(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(keyed("demo-1", "", "")); err == nil || !strings.Contains(err.Error(), s.leases()) {
		t.Errorf("the error is %v", err)
	}
}

// A journal that is read while another process drives its runs shows new records, and refuses changes.
func TestReadBesideADriver(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	reader, err := openShared(s.file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	reader.file, reader.dir, reader.reason = s.file, s.Dir(), asReadOnly(s.file, errFault)
	for i := range 3 {
		appendEvents(t, w, ended(i+1, "x"))
		if n := len(readEvents(t, reader, "demo-1")); n != i+2 {
			t.Errorf("%d events are shown, want %d", n, i+2)
		}
	}
	find(t, reader, "demo-1")
	for name, call := range map[string]func() error{
		"Create":  func() error { _, err := reader.Create(keyed("demo-2", "", "")); return err },
		"Writer":  func() error { _, err := reader.Writer(t.Context(), "demo-1"); return err },
		"Delete":  func() error { _, err := reader.Delete(t.Context(), "demo-1"); return err },
		"Compact": func() error { return reader.Compact(t.Context()) },
		"Note":    func() error { return reader.Note(attemptOf("demo-1"), "", "") },
	} {
		if err := call(); !IsProblem(err, ReadOnly) || !errors.Is(err, errFault) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	full := &Error{Kind: kind, Problem: Full}
	if err := asReadOnly(s.file, full); err != error(full) {
		t.Errorf("a full disk becomes %v", err)
	}
}

// A file that nothing changes is read as it is, unless events are missing in it.
func TestReadAFileAsItIs(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	if _, err := openStill(s.file); err == nil {
		t.Error("events in the -wal file are not shown")
	}
	if _, err := openWith(filepath.Join(s.Dir(), "none", fileName), "mode", "ro"); err == nil {
		t.Error("a file that does not exist was opened")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openShared(s.file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("beside no one, the error is %v", err)
	}
	if files, err := filepath.Glob(s.file + "*"); err != nil || len(files) != 1 {
		t.Errorf("there are %q, %v", files, err)
	}
	for range 2 {
		reader, err := openStill(s.file)
		if err != nil {
			t.Fatal(err)
		}
		find(t, reader, "demo-1")
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(s.file+"-wal", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A copy that cannot be made or read is an error, and is removed.
func TestCopyThatFails(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(t.TempDir(), "notes")
	if err := errors.Join(os.WriteFile(notes, []byte(strings.Repeat("notes", 1000)), 0o600), os.Mkdir(s.file+"-wal", 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(s.Dir(), "none"), notes, s.file} {
		if other, err := openCopy(file); err == nil {
			t.Error(file, "was copied", other.Close())
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	t.Setenv("TMPDIR", notes)
	if err := os.Remove(s.file + "-wal"); err != nil {
		t.Fatal(err)
	}
	if other, err := openCopy(s.file); err == nil {
		t.Error("it was copied to a directory that does not exist", other.Close())
	}
	if err := copyFile(notes, s.file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file was overwritten: %v", err)
	}
	copied := filepath.Join(s.Dir(), "copy")
	if err := copyFile(copied, notes); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}

// A run that was released can be taken by another store, also if a batch came before.
func TestReleaseAfterABatch(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	if err := errors.Join(w.Append(Batch{Summary: &Summary{Status: engine.Running}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	next, err := openStore(t, s.Dir()).Writer(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	next.Close()
}
