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
