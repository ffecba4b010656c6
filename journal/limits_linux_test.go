package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// systemRoles are the child process roles that are specific to this system.
var systemRoles = map[string]func(args []string) error{"small": smallRole, "nobody": nobodyRole, "unwritable": unwritableRole, "leaseless": leaselessRole, "stray": strayRole}

// smallRole appends until the system refuses to let a file grow, then reads.
func smallRole(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	const limit = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	s, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	w, err := s.Create(NewRun{ID: "demo-1", Pin: testPin("demo"), Events: []engine.Envelope{started("demo-1")}})
	if err != nil {
		return err
	}
	var failed error
	for failed == nil {
		failed = w.Append(Batch{Events: []engine.Envelope{ended(w.Recorded(), strings.Repeat("x", 50_000))}})
	}
	n := 0
	for _, err := range s.Events(context.Background(), "demo-1", 0) {
		if err != nil {
			return err
		}
		n++
	}
	fmt.Println(IsProblem(failed, Full, Broken), n == w.Recorded(), n > 5)
	return errors.Join(w.Close(), s.Close())
}

// A write that fails halfway leaves the recorded events intact.
func TestFileThatMayNotGrow(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "small", dir)
	c.expect(t, "true true true")
	c.cmd.Wait()
	s := openStore(t, dir)
	if n := len(readEvents(t, s, "demo-1")); n < 5 {
		t.Errorf("%d events are left", n)
	}
	if err := s.Check(context.Background()); err != nil {
		t.Error(err)
	}
}

// nobodyRole reads a journal that it has no permission to write.
func nobodyRole(args []string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	_, err := Open(args[0], Options{})
	fmt.Println(IsProblem(err, ReadOnly, Unreadable))
	s, err := OpenReadOnly(args[0])
	if err != nil {
		return err
	}
	n := 0
	for _, err := range s.Events(context.Background(), "demo-1", 0) {
		if err != nil {
			return err
		}
		n++
	}
	fmt.Println(n)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	runs, err := s.List(context.Background(), driver.Filter{})
	fmt.Println(len(runs), err)
	later, err := collect(s.Events(context.Background(), "demo-1", n))
	fmt.Println(len(later.([]engine.Envelope)), err)
	questions, err := s.Open(context.Background(), driver.QuestionFilter{Run: "demo-1"})
	fmt.Println(len(questions), err)
	_, err = s.Writer(context.Background(), "demo-1")
	fmt.Println(IsProblem(err, ReadOnly), IsProblem(s.Writable(), ReadOnly))
	_, err = s.Send(context.Background(), "demo-1", &engine.CancelAsked{}, time.Now())
	fmt.Println(IsProblem(err, ReadOnly))
	return s.Close()
}

func TestReadOnlyDirectory(t *testing.T) {
	cases := []struct {
		name string
		make func(t *testing.T, dir string) *Writer // nil: no process drives the run
		want int
	}{
		{"closed cleanly", func(t *testing.T, dir string) *Writer {
			s := openStore(t, dir)
			appendEvents(t, createRun(t, s, "demo-1"), ended(1, "x"))
			s.Close()
			return nil
		}, 2},
		{"beside a driver", func(t *testing.T, dir string) *Writer {
			w := createRun(t, openStore(t, dir), "demo-1")
			appendEvents(t, w, ended(1, "x"))
			return w
		}, 2},
		{"left by a crash", func(t *testing.T, dir string) *Writer { // the -wal holds everything, no -shm
			live := t.TempDir()
			appendEvents(t, createRun(t, openStore(t, live), "demo-1"), ended(1, "x"))
			for _, name := range []string{fileName, fileName + "-wal"} {
				copyTo(t, filepath.Join(dir, name), filepath.Join(live, name))
			}
			return nil
		}, 2},
		{"left by a crash later", func(t *testing.T, dir string) *Writer { // the -wal holds only the last event
			live := t.TempDir()
			s := openStore(t, live)
			w := createRun(t, s, "demo-1")
			if _, err := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
				t.Fatal(err)
			}
			appendEvents(t, w, ended(1, "x"))
			for _, name := range []string{fileName, fileName + "-wal"} {
				copyTo(t, filepath.Join(dir, name), filepath.Join(live, name))
			}
			return nil
		}, 2},
		{"oldest schema", func(t *testing.T, dir string) *Writer {
			old := foreign(t, strings.ReplaceAll(firstVersion(t), "old-1", "demo-1"))
			copyTo(t, filepath.Join(dir, fileName), filepath.Join(old, fileName))
			return nil
		}, 3},
		{"older schema", func(t *testing.T, dir string) *Writer {
			old := foreign(t, strings.ReplaceAll(secondVersion(t), "old-1", "demo-1"))
			copyTo(t, filepath.Join(dir, fileName), filepath.Join(old, fileName))
			return nil
		}, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := openTempDir(t)
			w := c.make(t, dir)
			readOnly(t, dir)
			child := startChild(t, "nobody", dir)
			child.expect(t, "true")
			child.expect(t, fmt.Sprint(c.want))
			later := "0 <nil>"
			if w != nil {
				appendEvents(t, w, ended(2, "y"))
				later = "1 <nil>"
			}
			child.stdin.Close()
			for _, line := range []string{"1 <nil>", later, "0 <nil>", "true true", "true"} {
				child.expect(t, line)
			}
		})
	}
}

// openTempDir returns a directory that other users can reach.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "journal-") //nolint:usetesting // other users cannot reach t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func readOnly(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !f.IsDir() {
			if err := os.Chmod(filepath.Join(dir, f.Name()), 0o444); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
}

func copyTo(t *testing.T, to, from string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// After a partial record, the next record goes to another file.
func TestHalfARecordIsLeftAlone(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	w.Log("before", 1).Write([]byte("x"))
	from, to, err := os.Pipe() // a file that accepts only part of a write
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = from.Read(make([]byte, 1))
		from.Close()
	}()
	w.logs.file.Close()
	w.logs.file = to
	if err := w.logs.append(header{kind: inOutput, id: attempt("work")}, make([]byte, 1<<20)); err == nil {
		t.Fatal("the pipe has taken everything")
	}
	log := w.Log("after", 1)
	log.Write([]byte("y"))
	if err := log.Close(""); err != nil {
		t.Fatal(err)
	}
	if got := streamText(t, s, attempt("after"), driver.Output, 0); got != "y" {
		t.Errorf("%q", got)
	}
}

// unwritableRole opens a journal with a file that is read-only, in a writable directory.
func unwritableRole(args []string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	_, err := Open(args[0], Options{})
	fmt.Println(IsProblem(err, ReadOnly))
	return nil
}

func TestUnwritableFile(t *testing.T) {
	for _, unwritable := range []string{fileName, fileName + "-wal", fileName + "-shm"} {
		dir, live := openTempDir(t), t.TempDir()
		createRun(t, openStore(t, live), "demo-1")
		for _, name := range []string{fileName, fileName + "-wal", fileName + "-shm"} {
			copyTo(t, filepath.Join(dir, name), filepath.Join(live, name))
			if err := os.Chmod(filepath.Join(dir, name), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(filepath.Join(dir, unwritable), 0o444)); err != nil {
			t.Fatal(err)
		}
		startChild(t, "unwritable", dir).expect(t, "true")
	}
}

// leaselessRole tries to drive a run where it cannot write a lease.
func leaselessRole(args []string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	s, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	_, err = s.Writer(context.Background(), "demo-1")
	fmt.Println(err != nil)
	return s.Close()
}

func TestUnwritableLeases(t *testing.T) {
	dir, live := openTempDir(t), t.TempDir()
	s := openStore(t, live)
	createRun(t, s, "demo-1")
	s.Close()
	copyTo(t, filepath.Join(dir, fileName), filepath.Join(live, fileName))
	err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(filepath.Join(dir, fileName), 0o666), os.Mkdir(filepath.Join(dir, "leases"), 0o555))
	if err != nil {
		t.Fatal(err)
	}
	startChild(t, "leaseless", dir).expect(t, "true")
}

func TestCopyLeavesNoFileOpen(t *testing.T) {
	s := openStore(t, t.TempDir())
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	before := open()
	if err := copyFile(filepath.Join(t.TempDir(), "copy"), filepath.Join(s.Dir(), fileName)); err != nil {
		t.Fatal(err)
	}
	if after := open(); after > before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

// openFiles returns how many files this process has open below a directory.
func openFiles(t *testing.T, dir string) (open []string) {
	t.Helper()
	const all = "/proc/self/fd"
	files, err := os.ReadDir(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name, err := os.Readlink(filepath.Join(all, f.Name())); err == nil && strings.HasPrefix(name, dir) {
			open = append(open, name)
		}
	}
	return open
}

// Logs leave no file open, whoever wrote or read them.
func TestLogsLeaveNoFileOpen(t *testing.T) {
	debug.SetGCPercent(-1) // it would close them
	defer debug.SetGCPercent(100)
	s := smallLimits(t, t.TempDir())
	w := createRun(t, s, "run-1")
	for range 2 {
		log := w.Log("work", 1)
		for i := range 20 {
			log.Write([]byte(numbered(i, i+1)))
		}
		streamText(t, s, attempt("work"), driver.Output, 0)
		if err := log.Close(""); err != nil {
			t.Fatal(err)
		}
	}
	logs := filepath.Join(s.Dir(), "logs")
	if open := openFiles(t, logs); len(open) != 1 {
		t.Errorf("beside the shared file, open are %q", open)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if open := openFiles(t, logs); len(open) > 0 {
		t.Errorf("open are %q", open)
	}
	s.Lives(s.lease.name)
	if open := openFiles(t, s.leases()); len(open) != 1 {
		t.Errorf("of leases, open are %q", open)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if open := openFiles(t, s.Dir()); len(open) > 0 {
		t.Errorf("of the journal, open are %q", open)
	}
}

// A copy is closed with its store.
func TestCopyIsClosed(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	other, err := openCopy(s.file)
	if err != nil {
		t.Fatal(err)
	}
	find(t, other, "demo-1")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if open := openFiles(t, os.TempDir()); len(open) > 0 {
		t.Errorf("open are %q", open)
	}
}

// strayRole compacts a journal with files that it may not remove.
func strayRole(args []string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	s, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	fmt.Println(errors.Is(s.Compact(context.Background()), os.ErrPermission))
	return s.Close()
}

func TestStrayFilesThatStay(t *testing.T) {
	dir, live := openTempDir(t), t.TempDir()
	s := openStore(t, live)
	s.Close()
	copyTo(t, filepath.Join(dir, fileName), filepath.Join(live, fileName))
	logs := filepath.Join(dir, "logs")
	err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(filepath.Join(dir, fileName), 0o666), os.MkdirAll(filepath.Join(logs, "stray"), 0o755), os.Chmod(logs, 0o555))
	if err != nil {
		t.Fatal(err)
	}
	startChild(t, "stray", dir).expect(t, "true")
	if err := os.Chmod(logs, 0o755); err != nil {
		t.Fatal(err)
	}
}
