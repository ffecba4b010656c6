package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
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

// Taking, inspecting and releasing a lease concurrently never admits two holders.
func TestLeaseRace(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := openStore(t, dir)
	createRun(t, s, "demo-1").Close()
	inside := make(chan struct{}, 1)
	done := make(chan int)
	for range 6 {
		go func() {
			won := 0
			for range 150 {
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
	if total < 150 {
		t.Errorf("only %d leases were given in 900 attempts", total)
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

// A run that another process is about to release is waited for.
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
