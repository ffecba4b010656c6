package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// A log that can no longer be written reports it when it is closed.
func TestLogThatCannotBeWritten(t *testing.T) {
	s := smallLimits(t, t.TempDir())
	log := createRun(t, s, "run-1").Log("work", 1)
	log.Write([]byte(numbered(0, 3))) // the last line is in a separate file
	file := log.file.Name()
	log.file.Close()
	log.file, _ = os.Open(file) // it can be closed, but not written
	log.Write([]byte(numbered(3, 4)))
	log.file.Close()
	log.file, _ = os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	log.Write([]byte(numbered(4, 5)))
	if err := log.Close(""); !errors.Is(err, syscall.EBADF) {
		t.Errorf("the loss is reported as %v", err)
	}
	if got := streamText(t, s, attempt("work"), driver.Output, 0); got != numbered(0, 3) {
		t.Errorf("after the loss there is %q", got)
	}
}

// The output continues in another file only if the one before and the record are stored.
func TestNextFileThatCannotBeWritten(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, s *Store, w *Writer, log *Log)
		want   error
	}{
		"the file before": {func(_ *testing.T, _ *Store, _ *Writer, log *Log) { log.file.Close() }, os.ErrClosed},
		"the record":      {func(_ *testing.T, _ *Store, w *Writer, _ *Log) { w.Close() }, os.ErrClosed},
		"the file": {func(t *testing.T, s *Store, _ *Writer, _ *Log) {
			if err := os.Mkdir(s.partPath(attempt("work"), 40), 0o700); err != nil {
				t.Fatal(err)
			}
		}, syscall.EISDIR},
	} {
		s := smallLimits(t, t.TempDir())
		w := createRun(t, s, "run-1")
		log := w.Log("work", 1)
		log.Write([]byte(numbered(0, 4)))
		c.damage(t, s, w, log)
		log.Write([]byte(numbered(4, 5)))
		if err := log.Close(""); !errors.Is(err, c.want) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if name == "the file" {
			continue // the directory in its place cannot be read
		}
		if got := streamText(t, s, attempt("work"), driver.Output, 0); got != numbered(0, 4) {
			t.Errorf("%s: there is %q", name, got)
		}
	}
}

func TestFileThatCannotBeClosed(t *testing.T) {
	s := smallLimits(t, t.TempDir())
	log := createRun(t, s, "run-1").Log("work", 1)
	log.Write([]byte(numbered(0, 3)))
	log.file.Close()
	if err := log.Close(""); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
	again := createRun(t, s, "run-2").Log("work", 1)
	again.Write([]byte(numbered(0, 3)))
	if err := errors.Join(again.Close(""), again.Close("")); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// If what an attempt wrote before cannot be read, nothing is added to it.
func TestRepeatedAttemptThatCannotBeRead(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	w.Log("work", 1).Write([]byte("x"))
	file := filepath.Join(s.runFiles("run-1"), "streams.1")
	if err := errors.Join(os.Rename(file, file+".old"), os.Mkdir(file, 0o700)); err != nil {
		t.Fatal(err)
	}
	log := w.Log("work", 1)
	if err := log.Keep(driver.Transcript, []byte("y")); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("Keep gives %v", err)
	}
	log.Write([]byte("y"))
	if err := log.Close(""); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("Close gives %v", err)
	}
	if _, err := s.Sizes(attempt("work")); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("Sizes gives %v", err)
	}
	if err := errors.Join(os.Remove(file), os.Rename(file+".old", file)); err != nil {
		t.Fatal(err)
	}
	if got := streamText(t, s, attempt("work"), driver.Output, 0); got != "x" {
		t.Errorf("there is %q", got)
	}
}

// Text that could not be stored leaves no gap in its stream.
func TestKeepAfterAFailure(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	log := w.Log("work", 1)
	keep := func(text string) error { return log.Keep(driver.Transcript, []byte(text)) }
	if err := keep("one "); err != nil {
		t.Fatal(err)
	}
	w.logs.file.Close()
	if err := keep("lost "); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
	if err := keep("two"); err != nil {
		t.Fatal(err)
	}
	if got := streamText(t, s, attempt("work"), driver.Transcript, 0); got != "one two" {
		t.Errorf("the transcript is %q", got)
	}
	logs := filepath.Join(s.Dir(), "logs")
	if err := errors.Join(w.logs.file.Close(), os.RemoveAll(logs), os.WriteFile(logs, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := keep("lost "); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
	if err := keep("three"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("the error is %v", err)
	}
}

func TestLogContinuesAfterACrash(t *testing.T) {
	s := smallLimits(t, t.TempDir())
	createRun(t, s, "run-1").Close()
	const lines = 7 // output goes to the shared file first, and to its own files later
	for n := range 3 {
		w, err := s.Writer(t.Context(), "run-1")
		if err != nil {
			t.Fatal(err)
		}
		log := w.Log("work", 1)
		for i := range lines {
			log.Write([]byte(numbered(n*lines+i, n*lines+i+1)))
		}
		w.Close() // the log is not closed, as in a crash
	}
	if got, want := streamText(t, s, attempt("work"), driver.Output, 0), numbered(0, 4)+"[70]"+numbered(11, 21); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// After an attempt hits a quota, the same process repeats it under the same number.
func TestLogContinuesAfterAQuota(t *testing.T) {
	s := smallLimits(t, t.TempDir())
	w := createRun(t, s, "run-1")
	for n := range 3 {
		log := w.Log("work", 1)
		log.Write([]byte(numbered(n, n+1)))
		if err := log.Keep(driver.Transcript, []byte(numbered(n, n+1))); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(""); err != nil {
			t.Fatal(err)
		}
	}
	for _, stream := range []driver.Stream{driver.Output, driver.Transcript} {
		if got, want := streamText(t, s, attempt("work"), stream, 0), numbered(0, 3); got != want {
			t.Errorf("%s: %q, want %q", stream, got, want)
		}
	}
}

// A killed process may leave half a record, and a power failure may leave anything.
func TestLogAfterDamage(t *testing.T) {
	for name, damage := range map[string]func(f []byte) []byte{
		"half a text":   func(f []byte) []byte { return f[:len(f)-3] },
		"half a header": func(f []byte) []byte { return append(f, f[:10]...) },
		"zeros":         func(f []byte) []byte { return append(f, make([]byte, 500)...) },
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			w := createRun(t, s, "run-1")
			w.Log("before", 1).Write([]byte("this was printed before"))
			w.Log("work", 1).Write([]byte("this is cut"))
			w.Close()
			file := filepath.Join(s.runFiles("run-1"), "streams.1")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if w, err = s.Writer(t.Context(), "run-1"); err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			w.Log("after", 1).Write([]byte("after"))
			for address, want := range map[string]string{"before": "this was printed before", "after": "after"} {
				got := ""
				for p, err := range s.Stream(t.Context(), attempt(address), driver.Output, 0) {
					var damaged *driver.DamagedLogError
					if err != nil && (name != "zeros" || !errors.As(err, &damaged) || damaged.File != file) {
						t.Errorf("%s: %v", address, err)
					}
					got += string(p.Text)
				}
				if got != want {
					t.Errorf("%s: %q, want %q", address, got, want)
				}
			}
		})
	}
}

func TestFlippedByteInALog(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	w.Log("work", 1).Write([]byte("printed"))
	file := filepath.Join(s.runFiles("run-1"), "streams.1")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		damaged := bytes.Clone(text)
		damaged[i] ^= 1
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		delete(s.indexes, "run-1")
		var failed error
		for p, err := range s.Stream(t.Context(), attempt("work"), driver.Output, 0) {
			if failed = err; err == nil {
				t.Errorf("with byte %d changed the log is %q", i, p.Text)
			}
		}
		if !errors.As(failed, new(*driver.DamagedLogError)) {
			t.Errorf("with byte %d changed the error is %v", i, failed)
		}
	}
}

// Damage makes only the damaged text unreadable.
func TestDamagedTextInALog(t *testing.T) {
	s := openStore(t, t.TempDir())
	log := createRun(t, s, "run-1").Log("work", 1)
	for _, text := range []string{"one ", "two ", "three"} {
		log.Write([]byte(text))
	}
	file := filepath.Join(s.runFiles("run-1"), "streams.1")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte("two "), []byte("2wo "), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	got := ""
	for p, failed := range s.Stream(t.Context(), attempt("work"), driver.Output, 0) {
		got += string(p.Text)
		err = failed
	}
	if got != "one three" || !errors.As(err, new(*driver.DamagedLogError)) {
		t.Errorf("%q, %v", got, err)
	}
}

// A long output stays in its own files until the record that locates it is complete.
func TestHalfARecordOfALongResult(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	result := numbered(0, 10_000)
	printed := result + "[done]"
	log := w.Log("work", 1)
	log.Write([]byte(printed))
	if err := log.Close(result); err != nil {
		t.Fatal(err)
	}
	dir, before := s.runFiles("run-1"), t.TempDir()
	if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, w, engine.Envelope{Time: start, Event: &engine.TaskEnded{Address: "work", Attempt: 1, Output: result}})
	if err := log.Recorded(result); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "streams.1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(before, "streams.1"), text[:len(text)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(before))); err != nil {
		t.Fatal(err)
	}
	s.forget("run-1")
	if got := streamText(t, s, attempt("work"), driver.Output, 0); got != printed {
		t.Errorf("%d bytes are left of %d", len(got), len(printed))
	}
}

// Wherever a crash cuts off the last record, the records before it can be read.
func TestRecordCutOffAnywhere(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	file := filepath.Join(s.runFiles("run-1"), "streams.1")
	w.Log("first", 1).Write([]byte("one"))
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.Log("second", 1).Write([]byte("two"))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(before); n <= len(whole); n++ {
		if err := os.WriteFile(file, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s.forget("run-1")
		want := ""
		if n == len(whole) {
			want = "two"
		}
		if first, second := streamText(t, s, attempt("first"), driver.Output, 0), streamText(t, s, attempt("second"), driver.Output, 0); first != "one" || second != want {
			t.Errorf("of %d bytes, %d remain: %q, %q", len(whole), n, first, second)
		}
	}
}

// A log that disappears is not an empty one, and nothing is written to one that was closed.
func TestLogThatIsGone(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	log := w.Log("work", 1)
	log.Write([]byte("text"))
	if got := streamText(t, s, attempt("work"), driver.Output, 0); got != "text" {
		t.Errorf("the log is %q", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := log.Keep(driver.Prompt, []byte("too late")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if err := os.Remove(filepath.Join(s.runFiles("run-1"), "streams.1")); err != nil {
		t.Fatal(err)
	}
	if got, err := collect(s.Stream(t.Context(), attempt("work"), driver.Output, 0)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is %q, %v", got, err)
	}
}

func TestLogFailureStopsNothing(t *testing.T) {
	s := openStore(t, t.TempDir())
	if err := os.WriteFile(filepath.Join(s.Dir(), "logs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := createRun(t, s, "run-1").Log("work", 1)
	log.Write([]byte("x"))
	if err := log.Close(""); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("Close gives %v", err)
	}
}

// Files that cannot be read are reported: by readers, and when the output moves into the journal.
func TestOutputThatCannotBeRead(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	text := numbered(0, 100_000)
	log := w.Log("work", 1)
	log.Write([]byte(text))
	if err := log.Close(text); err != nil {
		t.Fatal(err)
	}
	other := smallLimits(t, s.Dir()) // another process
	for _, file := range []string{s.partPath(attempt("work"), MaxInline), filepath.Join(s.runFiles("run-1"), "streams.1")} {
		if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
			t.Fatal(err)
		}
		if err := log.Recorded(text); err == nil {
			t.Errorf("%s: Recorded reports nothing", file)
		}
	}
	for _, err := range other.Stream(t.Context(), attempt("work"), driver.Output, 0) {
		if err != nil {
			return
		}
	}
	t.Error("a reader reports nothing")
}

// A file that cannot be opened is not a missing one.
func TestLogThatCannotBeOpened(t *testing.T) {
	s := openStore(t, t.TempDir())
	dir := s.runFiles("run-1")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Symlink("streams.1", filepath.Join(dir, "streams.1"))); err != nil {
		t.Skip(err)
	}
	if _, err := s.Sizes(attempt("work")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("the error is %v", err)
	}
}

// Nothing follows an error of the system.
func TestReaderEndsWithTheError(t *testing.T) {
	s := smallLimits(t, t.TempDir())
	createRun(t, s, "run-1").Log("work", 1).Write([]byte(numbered(0, 6)))
	if file := s.partPath(attempt("work"), 40); errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) != nil {
		t.Fatal("the file cannot be replaced")
	}
	got, last := "", error(nil)
	for p, err := range s.Stream(t.Context(), attempt("work"), driver.Output, 0) {
		got, last = got+string(p.Text), err
	}
	if got != numbered(0, 4) || !errors.Is(last, syscall.EISDIR) {
		t.Errorf("%q, then %v", got, last)
	}
}

func TestFileThatWasOmitted(t *testing.T) {
	for text, err := range fileTexts(filepath.Join(t.TempDir(), "none"), 0) {
		t.Errorf("%q, %v", text, err)
	}
}

// A file that was cut off after it was indexed is reported.
func TestOutputThatWasCutOff(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	w.Log("work", 1).Write([]byte(numbered(0, 10)))
	if got := streamText(t, s, attempt("work"), driver.Output, 0); got != numbered(0, 10) {
		t.Fatalf("%q", got)
	}
	if err := os.Truncate(filepath.Join(s.runFiles("run-1"), "streams.1"), 50); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Stream(t.Context(), attempt("work"), driver.Output, 0) {
		if err != nil {
			return
		}
	}
	t.Error("nothing is reported")
}

// If it is not known how far an attempt had come, nothing is added to its streams.
func TestKeepAfterDamage(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	file := filepath.Join(s.runFiles("run-1"), "streams.1")
	if err := os.MkdirAll(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.Log("work", 1).Keep(driver.Transcript, []byte("x")); err == nil {
		t.Error("no error")
	}
	if !gone(filepath.Join(s.runFiles("run-1"), "streams.2")) {
		t.Error("it was written elsewhere")
	}
}
