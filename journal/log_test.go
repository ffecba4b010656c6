package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// smallLimits opens a store that keeps the first 40 bytes and at least the last 90 of an
// output.
func smallLimits(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{limits: logLimits{shared: 20, head: 40, tail: 90}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// attempt returns the id of the first attempt at a step of run-1.
func attempt(address string) driver.AttemptID {
	return driver.AttemptID{Run: "run-1", Address: address, Attempt: 1}
}

// streamText returns the text of a stream, with a mark where text was left out.
func streamText(t *testing.T, s *Store, a driver.AttemptID, stream driver.Stream, from int64) string {
	t.Helper()
	text := ""
	for p, err := range s.Stream(t.Context(), a, stream, from) {
		if err != nil {
			t.Fatal(err)
		}
		if p.At > from {
			text += fmt.Sprintf("[%d]", p.At-from)
		}
		text += string(p.Text)
		from = p.At + int64(len(p.Text))
	}
	return text
}

// numbered returns numbered lines of ten bytes each.
func numbered(from, to int) string {
	var text []byte
	for i := from; i < to; i++ {
		text = fmt.Appendf(text, "line %04d\n", i)
	}
	return string(text)
}

func TestLogs(t *testing.T) {
	s := smallLimits(t, t.TempDir())
	w := createRun(t, s, "run-1")
	other := smallLimits(t, s.Dir()) // another process
	for _, c := range []struct {
		name  string
		lines int
		want  string
	}{
		{"silent", 0, ""},
		{"short", 2, numbered(0, 2)},
		{"Two files, and a name that no file has: /", 4, numbered(0, 4)},
		{"many files", 13, numbered(0, 13)},
		{"more than is kept", 100, numbered(0, 4) + "[860]" + numbered(90, 100)},
	} {
		log := w.Log(c.name, 1)
		for i := range c.lines {
			log.Write([]byte(numbered(i, i+1)))
		}
		a := attempt(c.name)
		for _, reader := range []*Store{s, other} {
			if got := streamText(t, reader, a, driver.Output, 0); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
			sizes, err := reader.Sizes(a)
			if err != nil || sizes[driver.Output] != int64(c.lines*10) {
				t.Errorf("%s: %v, %v", c.name, sizes, err)
			}
		}
		if err := log.Close(""); err != nil {
			t.Error(err)
		}
		log.Write([]byte("too late"))
	}
	if got, want := streamText(t, other, attempt("more than is kept"), driver.Output, 915), "0091\n"+numbered(92, 100); got != want {
		t.Errorf("from byte 915: %q, want %q", got, want)
	}
	if files, err := os.ReadDir(s.runFiles("run-1")); err != nil || len(files) > 25 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

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

// An attempt that wrote before and after the file was begun anew is continued after both.
func TestRepeatedAttemptAfterAnotherFile(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	log := w.Log("work", 1)
	log.Write([]byte("one "))
	w.logs.file.Close()
	w.logs.file = nil // as after half a record
	log.Write([]byte("two "))
	w.Log("work", 1).Write([]byte("three"))
	if got := streamText(t, s, attempt("work"), driver.Output, 0); got != "one two three" {
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

// A log that was closed before anything was printed stays empty.
func TestLogThatIsClosed(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Log("work", 1).Keep(driver.Transcript, []byte("x")); !errors.Is(err, os.ErrClosed) || !gone(s.runFiles("run-1")) {
		t.Errorf("the error is %v", err)
	}
}

// Output has the same limits, however it is written.
func TestKeepOutput(t *testing.T) {
	s := smallLimits(t, t.TempDir())
	log := createRun(t, s, "run-1").Log("work", 1)
	if err := log.Keep(driver.Output, []byte(numbered(0, 2)+"!")); err != nil {
		t.Fatal(err)
	}
	if got := streamText(t, s, attempt("work"), driver.Output, 0); got != numbered(0, 2)+"!" || gone(s.partPath(attempt("work"), 20)) {
		t.Errorf("the output is %q", got)
	}
}

// An attempt that is repeated may print its whole result only then.
func TestLongResultOfARepeatedAttempt(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	text := numbered(0, 20_000)
	missing := w.Log("missing", 1)
	missing.Write([]byte(text))
	if err := errors.Join(missing.Close(text), os.Remove(s.partPath(attempt("missing"), MaxInline))); err != nil {
		t.Fatal(err)
	}
	if err := missing.Recorded(text); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
	w.Log("work", 1).Write([]byte(text[:100]))
	log := w.Log("work", 1)
	log.Write([]byte(text[100:]))
	if err := log.Close(text); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, w, engine.Envelope{Time: start, Event: &engine.TaskEnded{Address: "work", Attempt: 1, Output: text}})
	for range 2 { // the second time there is nothing to do
		if err := log.Recorded(text); err != nil {
			t.Error(err)
		}
	}
	if got := streamText(t, s, attempt("work"), driver.Output, 0); got != text || !gone(s.partPath(attempt("work"), MaxInline)) {
		t.Errorf("%d of %d bytes are left", len(got), len(text))
	}
	if _, err := s.write.Exec("DELETE FROM blobs"); err != nil {
		t.Fatal(err)
	}
	if _, err := collect(s.Stream(t.Context(), attempt("work"), driver.Output, 0)); !IsProblem(err, Corrupt) {
		t.Errorf("without the value the error is %v", err)
	}
}

// The files of an output stay until a record says where the value is, and in a log that is damaged.
func TestLongResultThatStays(t *testing.T) {
	text := numbered(0, 20_000)
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	w.Log("other", 1).Write([]byte("x"))
	log := w.Log("work", 1)
	log.Write([]byte(text))
	if err := errors.Join(log.Close(text), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := log.Recorded(text); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
	if got := streamText(t, s, attempt("work"), driver.Output, 0); got != text {
		t.Errorf("%d of %d bytes are left", len(got), len(text))
	}
	f, err := os.OpenFile(filepath.Join(s.runFiles("run-1"), "streams.1"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(make([]byte, 100))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if w, err = s.Writer(t.Context(), "run-1"); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	id := attempt("again")
	log = w.Log(id.Address, 1)
	log.Write([]byte(text))
	if err := errors.Join(log.Close(text), log.Recorded(text)); err != nil || gone(s.partPath(id, MaxInline)) {
		t.Errorf("the output was moved, %v", err)
	}
}

// A reader gets no empty pieces, also where one piece ends, and may stop.
func TestPiecesOfAStream(t *testing.T) {
	s := smallLimits(t, t.TempDir())
	log := createRun(t, s, "run-1").Log("work", 1)
	log.Write([]byte(numbered(0, 1)))
	log.Write([]byte(numbered(1, 13)))
	if err := log.Keep(driver.Prompt, []byte("Scan.")); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, 10, 20, 40, 50, 130} {
		at := from
		for p, err := range s.Stream(t.Context(), attempt("work"), driver.Output, from) {
			if err != nil || p.At != at || len(p.Text) == 0 {
				t.Errorf("from %d: at %d %q, %v, want %d", from, p.At, p.Text, err, at)
			}
			at += int64(len(p.Text))
		}
		if at != 130 {
			t.Errorf("from %d: the end is %d", from, at)
		}
		for range s.Stream(t.Context(), attempt("work"), driver.Output, from) {
			break // Go panics if the iterator goes on
		}
	}
	want := map[driver.Stream]int64{driver.Output: 130, driver.Prompt: 5}
	if sizes, err := s.Sizes(attempt("work")); err != nil || !maps.Equal(sizes, want) {
		t.Errorf("the sizes are %v, %v", sizes, err)
	}
	if err := os.Remove(s.partPath(attempt("work"), 120)); err != nil {
		t.Fatal(err)
	}
	if sizes, err := s.Sizes(attempt("work")); err != nil || sizes[driver.Output] != 120 {
		t.Errorf("without the last file the sizes are %v, %v", sizes, err)
	}
}

// A run may have only one kind of file of an older version, and it may be short.
func TestOneFileOfAnOlderVersion(t *testing.T) {
	for stream, ending := range endings {
		s := openStore(t, t.TempDir())
		w := createRun(t, s, "run-1")
		a := attempt("scan")
		if err := errors.Join(os.MkdirAll(s.runFiles("run-1"), 0o700), os.WriteFile(s.beside(a, ending), []byte("1"), 0o600)); err != nil {
			t.Fatal(err)
		}
		for other := range endings {
			want := ""
			if other == stream {
				want = "1"
			}
			if got := streamText(t, s, a, other, 0); got != want {
				t.Errorf("with the %s alone, the %s is %q", stream, other, got)
			}
		}
		if stream == driver.Prompt {
			continue // it would be replaced
		}
		if err := w.Log("scan", 1).Keep(stream, []byte("2")); err != nil {
			t.Fatal(err)
		}
		if got := streamText(t, s, a, stream, 0); got != "12" {
			t.Errorf("continued, the %s is %q", stream, got)
		}
	}
}

// If a run is deleted and created again, its log contains nothing from the old run.
func TestLogOfARunThatWasDeleted(t *testing.T) {
	s := openStore(t, t.TempDir())
	for _, text := range []string{"the first run printed this", "second"} {
		w := createRun(t, s, "run-1")
		w.Log("work", 1).Write([]byte(text))
		if got := streamText(t, s, attempt("work"), driver.Output, 0); got != text {
			t.Errorf("the log is %q, want %q", got, text)
		}
		w.Close()
		if _, err := s.Delete(t.Context(), "run-1"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLogLimits(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	log := w.Log("loud", 1)
	piece := bytes.Repeat([]byte("0123456789abcde\n"), 1<<14) // 256 KiB
	const pieces = 520
	for range pieces {
		log.Write(piece)
	}
	if err := log.Close(""); err != nil {
		t.Fatal(err)
	}
	var kept, gap, next int64
	for p, err := range s.Stream(t.Context(), attempt("loud"), driver.Output, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if p.At > next {
			gap = next
		}
		kept, next = kept+int64(len(p.Text)), p.At+int64(len(p.Text))
	}
	if gap != 10<<20 || next != pieces<<18 || kept != 110<<20 {
		t.Errorf("%d bytes were kept up to %d, with a gap at %d", kept, next, gap)
	}
}

func TestStreamsOfAnAttempt(t *testing.T) {
	s := openStore(t, t.TempDir())
	log := createRun(t, s, "run-1").Log("work", 1)
	for _, text := range []string{"first prompt", "second"} {
		if err := log.Keep(driver.Prompt, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := log.Keep(driver.Transcript, []byte("{}\n")); err != nil {
			t.Fatal(err)
		}
	}
	for stream, want := range map[driver.Stream]string{driver.Prompt: "second", driver.Transcript: "{}\n{}\n", driver.Output: ""} {
		if got := streamText(t, s, attempt("work"), stream, 0); got != want {
			t.Errorf("%s: %q, want %q", stream, got, want)
		}
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

// An older version kept each stream in its own file.
func TestLogsOfAnOlderVersion(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "run-1").Close()
	if err := os.MkdirAll(s.runFiles("run-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"scan[3].1.log": "one\n", "scan[3].1.prompt": "Scan.", "scan[3].1.transcript": "{}\n"} {
		if err := os.WriteFile(filepath.Join(s.runFiles("run-1"), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := attempt("scan[3]")
	for stream, want := range map[driver.Stream]string{driver.Output: "one\n", driver.Prompt: "Scan.", driver.Transcript: "{}\n"} {
		if got := streamText(t, s, a, stream, 0); got != want {
			t.Errorf("%s: %q, want %q", stream, got, want)
		}
	}
	w, err := s.Writer(t.Context(), "run-1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	log := w.Log("scan[3]", 1)
	log.Write([]byte("two\n"))
	if err := log.Keep(driver.Prompt, []byte("Again.")); err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[driver.Stream]string{driver.Output: "one\ntwo\n", driver.Prompt: "Again."} {
		if got := streamText(t, s, a, stream, 0); got != want {
			t.Errorf("continued, %s: %q, want %q", stream, got, want)
		}
	}
	if got := streamText(t, s, a, driver.Output, 5); got != "wo\n" {
		t.Errorf("from byte 5: %q", got)
	}
}

// A long result that was also printed is stored once.
func TestLongResultIsStoredOnce(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	for name, c := range map[string]struct {
		printed, result string
		once            bool
	}{
		"printed":     {numbered(0, 20_000), numbered(0, 20_000), true},
		"with a line": {numbered(0, 19_999) + "\n[done]\n", numbered(0, 19_999), true},
		"other":       {"no: " + numbered(0, 20_000), numbered(0, 20_000), false},
		"cut off":     {numbered(0, 19_999), numbered(0, 20_000), false},
		"other end":   {numbered(0, 19_999) + "no", numbered(0, 19_999) + "ja", false},
		"little else": {numbered(0, 20_000) + strings.Repeat("x", MaxInline), numbered(0, 20_000), true},
		"much else":   {numbered(0, 20_000) + strings.Repeat("x", MaxInline+1), numbered(0, 20_000), false},
		"short":       {strings.Repeat("x", MaxInline) + "[done]", strings.Repeat("x", MaxInline), false},
	} {
		log := w.Log(name, 1)
		log.Write([]byte(c.printed))
		if err := log.Close(c.result); err != nil {
			t.Fatal(err)
		}
		appendEvents(t, w, engine.Envelope{Time: start, Event: &engine.TaskEnded{Address: name, Attempt: 1, Output: c.result}})
		if err := log.Recorded(c.result); err != nil {
			t.Fatal(err)
		}
		for _, from := range []int64{0, MaxInline + 1, int64(len(c.printed)) - 5} {
			if got := streamText(t, s, attempt(name), driver.Output, from); got != c.printed[from:] {
				t.Errorf("%s: from %d %d bytes, want %d", name, from, len(got), len(c.printed[from:]))
			}
		}
		if once := gone(s.partPath(attempt(name), MaxInline)); once != c.once {
			t.Errorf("%s: stored once is %v", name, once)
		}
	}
}

// A reader that has begun is not disturbed when the output moves into the journal.
func TestOutputMovesWhileItIsRead(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	text := numbered(0, 30_000)
	log := w.Log("work", 1)
	log.Write([]byte(text))
	if err := log.Close(text); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, w, engine.Envelope{Time: start, Event: &engine.TaskEnded{Address: "work", Attempt: 1, Output: text}})
	got := ""
	for p, err := range s.Stream(t.Context(), attempt("work"), driver.Output, 0) {
		if err != nil || p.At != int64(len(got)) {
			t.Fatalf("after byte %d: byte %d, %v", len(got), p.At, err)
		}
		if got == "" {
			if err := log.Recorded(text); err != nil {
				t.Fatal(err)
			}
		}
		got += string(p.Text)
	}
	if got != text {
		t.Errorf("%d bytes were read, want %d", len(got), len(text))
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

// A silent attempt leaves nothing.
func TestSilentAttempt(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "run-1")
	log := w.Log("silent", 1)
	log.Write(nil)
	if err := log.Close(""); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.runFiles("run-1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there are files: %v", err)
	}
	w.Log("loud", 1).Write([]byte("x"))
	for address, want := range map[string]map[driver.Stream]int64{"silent": {}, "loud": {driver.Output: 1}} {
		if sizes, err := s.Sizes(attempt(address)); err != nil || !maps.Equal(sizes, want) {
			t.Errorf("%s has %v, %v", address, sizes, err)
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

func TestFileNames(t *testing.T) {
	cases := []struct{ name, want string }{
		{"full-review-3k7q2m9a", "full-review-3k7q2m9a"},
		{"scan[3]", "scan[3]"},
		{"serve-customers#2/order-taker", "serve-customers%232%2Forder-taker"},
		{"..", "%2E."},
		{"a..b", "a..b"},
		{"", "~e3b0c442"},
		{"Build", "Build~bdd254b6"},
		{"nul.txt", "nul.txt~7f3cbdd5"},
		{"com1", "com1~957a49c3"},
		{"command", "command"},
		{strings.Repeat("x", maxName), strings.Repeat("x", maxName)},
		{strings.Repeat("x", maxName+1), strings.Repeat("x", maxName) + "~c675a2e6"},
	}
	for _, c := range cases {
		if got := fileNameOf(c.name); got != c.want {
			t.Errorf("fileNameOf(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestReservedNames(t *testing.T) {
	for name, want := range map[string]bool{
		"con": true, "prn": true, "aux": true, "nul": true, "con.log": true, "com0": true, "com1": true, "com9": true, "lpt0": true, "lpt9.a": true,
		"com": false, "com10": false, "com/": false, "com:": false, "lpta": false, "icom1": false, "null": false, "": false,
	} {
		if reserved(name) != want {
			t.Errorf("%q is reserved: %v", name, !want)
		}
	}
}

// A run that cannot be looked up is not unknown.
func TestFindGivesUp(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Find(ctx, "demo-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// Two names never share a file, even on file systems that ignore case.
func TestFileNamesDiffer(t *testing.T) {
	safe := regexp.MustCompile(`^[A-Za-z0-9\[\]_%~-][A-Za-z0-9\[\]_.%~-]*$`)
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-cA-C./#%~\[é-]{0,5}`).Draw(t, "name")
		got := fileNameOf(name)
		if !safe.MatchString(got) {
			t.Fatalf("fileNameOf(%q) = %q is not safe", name, got)
		}
		if other, ok := seen[strings.ToLower(got)]; ok && other != name {
			t.Fatalf("%q and %q are both %q", name, other, got)
		}
		seen[strings.ToLower(got)] = name
	})
}

// What an earlier process left in a file of the output is not part of it.
func TestFileOfTheOutputThatExists(t *testing.T) {
	s := smallLimits(t, t.TempDir())
	w := createRun(t, s, "run-1")
	log := w.Log("work", 1)
	log.Write([]byte(numbered(0, 1)))
	if err := os.WriteFile(s.partPath(attempt("work"), 20), []byte(strings.Repeat("left ", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	log.Write([]byte(numbered(1, 3)))
	if got := streamText(t, s, attempt("work"), driver.Output, 0); got != numbered(0, 3) {
		t.Errorf("%q", got)
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
