package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

func TestFullDisk(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	limit := func(pages string) {
		t.Helper()
		if _, err := s.write.Exec("PRAGMA max_page_count = " + pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("40")
	want := []engine.Envelope{started("demo-1")}
	var full error
	for full == nil {
		ev := ended(len(want), strings.Repeat("x", 3000))
		if full = w.Append(Batch{Events: []engine.Envelope{ev}}); full == nil {
			want = append(want, ev)
		}
	}
	if !IsProblem(full, Full) || !strings.Contains(full.Error(), s.file) || !strings.Contains(full.Error(), "free some space") || !strings.Contains(full.Error(), "resume the run") {
		t.Errorf("a full disk gives %v", full)
	}
	if err := w.Append(Batch{Events: []engine.Envelope{ended(99, strings.Repeat("y", 2*MaxInline))}}); !IsProblem(err, Full) {
		t.Errorf("a large value on a full disk gives %v", err)
	}
	wantEvents(t, s, "demo-1", want)

	// Once there is space again, the same writer continues without a gap.
	limit("100000")
	ev := ended(len(want), "more")
	appendEvents(t, w, ev)
	wantEvents(t, s, "demo-1", append(want, ev))
}

func TestNotADatabase(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, fileName)
	if err := os.WriteFile(file, []byte(strings.Repeat("these are notes\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, Options{})
	if !IsProblem(err, NotDatabase) || !strings.Contains(err.Error(), file) {
		t.Errorf("Open gives %v", err)
	}
	if _, err := OpenReadOnly(dir); !IsProblem(err, NotDatabase) {
		t.Errorf("OpenReadOnly gives %v", err)
	}
	if data, _ := os.ReadFile(file); !strings.HasPrefix(string(data), "these are notes") {
		t.Error("the file was changed")
	}
}

func TestDirectoryThatIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, Options{}); !IsProblem(err, Unreadable) {
		t.Errorf("Open gives %v", err)
	}
	if _, err := OpenReadOnly(filepath.Join(t.TempDir(), "nothing")); !IsProblem(err, Unreadable) {
		t.Errorf("OpenReadOnly of nothing gives %v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, fileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := OpenReadOnly(dir); s != nil || !IsProblem(err, Unreadable) {
		t.Errorf("OpenReadOnly of a directory gives %v", err)
	}
}

// A page of the file is overwritten; the events before it can still be read.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	w := createRun(t, s, "demo-1")
	const n = 4000
	var batch []engine.Envelope
	for i := range n {
		batch = append(batch, ended(i+1, strings.Repeat("x", 200)))
	}
	appendEvents(t, w, batch...)
	w.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, fileName)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	from := len(data) * 3 / 4 / 4096 * 4096
	for i := range 4096 {
		data[from+i] = 0xa5
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}

	s = openStore(t, dir)
	if err := s.Check(context.Background()); !IsProblem(err, Corrupt) {
		t.Errorf("Check gives %v", err)
	}
	read, last := 0, error(nil)
	for ev, err := range s.Events(context.Background(), "demo-1", 0) {
		if last = err; err == nil {
			read++
			if ev.Event == nil {
				t.Fatal("no event and no error")
			}
		}
	}
	if !IsProblem(last, Corrupt) || !strings.Contains(last.Error(), file) {
		t.Errorf("reading a damaged journal ends in %v", last)
	}
	if read < n/4 {
		t.Errorf("only %d of %d events could be read", read, n)
	}
}

// A damaged page never makes the list of runs shorter without an error.
func TestDamagedListOfRuns(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	const n = 120
	for i := range n {
		if err := createRun(t, s, fmt.Sprintf("demo-%d", i+1)).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, fileName)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for from := 4096; from < len(whole); from += 4096 {
		damaged := slices.Clone(whole)
		for i := range 4096 {
			damaged[from+i] = 0xa5
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, Options{})
		if err != nil {
			refused++
			continue
		}
		runs, err := s.List(t.Context(), driver.Filter{})
		s.Close()
		if err != nil {
			refused++
		} else if len(runs) != n {
			t.Errorf("page %d: %d of %d runs are listed, and no error", from/4096+1, len(runs), n)
		}
	}
	if refused < 2 {
		t.Errorf("damage was noticed in %d of %d pages", refused, len(whole)/4096)
	}
}

// Every byte of a record counts: if any changes, Check reports it, and no altered event
// is returned.
func TestChangedRecords(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	appendEvents(t, w, ended(1, "a"), ended(2, strings.Repeat("long", MaxInline)), ended(3, "c"))
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ change, undo string }{
		{`UPDATE events SET data = replace(data, '"c"', '"d"') WHERE seq = 4`, `UPDATE events SET data = replace(data, '"d"', '"c"') WHERE seq = 4`},
		{"UPDATE events SET data = data || ' ' WHERE seq = 1", "UPDATE events SET data = trim(data) WHERE seq = 1"},
		{"UPDATE events SET seq = 5 WHERE seq = 4", "UPDATE events SET seq = 4 WHERE seq = 5"},
		{"UPDATE events SET blobs = replace(blobs, 'at', 'aT') WHERE seq = 3", "UPDATE events SET blobs = replace(blobs, 'aT', 'at') WHERE seq = 3"},
		{"UPDATE blobs SET data = replace(data, 'long', 'lost')", "UPDATE blobs SET data = replace(data, 'lost', 'long')"},
		{"UPDATE pins SET data = replace(data, 'shell', 'shall')", "UPDATE pins SET data = replace(data, 'shall', 'shell')"},
		{"UPDATE runs SET workflow = 'demi'", "UPDATE runs SET workflow = 'demo'"},
		{"UPDATE runs SET digest = 'x' || digest", "UPDATE runs SET digest = substr(digest, 2)"},
		{"UPDATE runs SET noted = 9", "UPDATE runs SET noted = 1"},
	} {
		if _, err := s.write.Exec(c.change); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); !IsProblem(err, Corrupt) {
			t.Errorf("%s: %v", c.change, err)
		}
		if _, err := s.write.Exec(c.undo); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// Check also finds damage outside of records: here, a list of free pages that does not
// exist.
func TestCheckReadsTheWholeFile(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	createRun(t, s, "demo-1").Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Check(ctx); !errors.Is(err, context.Canceled) || IsProblem(err, Corrupt) {
		t.Errorf("a check that is stopped gives %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(dir, fileName), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt([]byte{0, 0, 0, 7}, 36) // how many pages are free
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if err := openStore(t, dir).Check(t.Context()); !IsProblem(err, Corrupt) || !strings.Contains(err.Error(), "Freelist") {
		t.Errorf("Check gives %v", err)
	}
}

// Check reports a zeroed page anywhere in the file.
func TestZeroedPages(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	w := createRun(t, s, "demo-1")
	for i := range 30 {
		appendEvents(t, w, ended(i+1, strings.Repeat("x", 9000))) // with overflow pages
	}
	w.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, fileName)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for at := page; at+page <= len(whole); at += page {
		data := bytes.Clone(whole)
		clear(data[at : at+page])
		if bytes.Equal(data, whole) {
			continue
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, Options{})
		if err == nil {
			err = errors.Join(s.Check(t.Context()), s.Close())
		}
		if err == nil {
			t.Errorf("page %d of %d is zero, and the journal is called intact", at/page+1, len(whole)/page)
		}
	}
}

func TestRunWithoutEvents(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1").Close()
	if _, err := s.write.Exec("DELETE FROM events"); err != nil {
		t.Fatal(err)
	}
	if _, err := collect(s.Events(t.Context(), "demo-1", 0)); !IsProblem(err, Corrupt) || !strings.Contains(err.Error(), "the run has no events") {
		t.Errorf("the run gives %v", err)
	}
	if err := s.Check(t.Context()); !IsProblem(err, Corrupt) {
		t.Errorf("Check gives %v", err)
	}
}

// An unreadable row in the list of runs does not hide the other rows.
func TestDamagedLine(t *testing.T) {
	for cell, want := range map[string]engine.Status{
		"owner": driver.Damaged, "created": driver.Damaged, "changed": driver.Damaged, "begun": driver.Damaged, "status": driver.Damaged,
		"usage": engine.Running, "due": engine.Running, "noted": engine.Running,
	} {
		s := openStore(t, t.TempDir())
		createRun(t, s, "demo-1").Close()
		createRun(t, s, "demo-2").Close()
		if _, err := s.write.Exec("UPDATE runs SET " + cell + " = 'x' WHERE id = 'demo-1'"); err != nil {
			t.Fatal(err)
		}
		runs, err := s.List(t.Context(), driver.Filter{})
		if err != nil || len(runs) != 2 || runs[0].Status != engine.Running || runs[1].Status != want || runs[1].Stale != (want != driver.Damaged || cell == "status") {
			t.Errorf("%s: the list is %+v, %v", cell, runs, err)
		}
		if err := s.Check(t.Context()); !IsProblem(err, Corrupt) || !strings.Contains(err.Error(), "the "+cell+" of run demo-1") {
			t.Errorf("%s: Check gives %v", cell, err)
		}
	}
}

func TestNegativeVersion(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	if _, err := s.write.Exec("PRAGMA user_version = -3"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !IsProblem(err, Corrupt) || !strings.Contains(err.Error(), "version -3") {
		t.Errorf("Open gives %v", err)
	}
}

func TestMissingEventIsNoticed(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	appendEvents(t, w, ended(1, "a"), ended(2, "b"), ended(3, "c"))
	if _, err := s.write.Exec("DELETE FROM events WHERE seq = 3"); err != nil {
		t.Fatal(err)
	}
	read, last := 0, error(nil)
	for _, err := range s.Events(context.Background(), "demo-1", 0) {
		if last = err; err == nil {
			read++
		}
	}
	if read != 2 || !IsProblem(last, Corrupt) || !strings.Contains(last.Error(), "event 3 is missing") {
		t.Errorf("%d events, then %v", read, last)
	}
}

// change changes a journal behind its back.
func change(t *testing.T, s *Store, text string, args ...any) {
	t.Helper()
	if _, err := s.write.Exec(text, args...); err != nil {
		t.Fatal(err)
	}
}

// Whatever of a record cannot be read: the error says that the journal is damaged, and what.
func TestWhatIsDamaged(t *testing.T) {
	ctx := t.Context()
	template := t.TempDir()
	writeExample(t, template)
	for _, c := range []struct {
		name, change string
		read         func(s *Store) error
		want         string
	}{
		{"usage", "UPDATE attempts SET usage = 'x', ended = (SELECT created FROM runs WHERE number = run) WHERE address = 'work[2]'", func(s *Store) error {
			_, err := s.Spent(ctx, time.Time{})
			return err
		}, "usage of work[2] in run demo-1"},
		{"question", "UPDATE asked SET data = 'x' WHERE id = 'two'", func(s *Store) error {
			_, err := s.Open(ctx, driver.QuestionFilter{Run: "demo-1"})
			return err
		}, "question two of run demo-1"},
		{"message", "UPDATE inbox SET event = 'x'", func(s *Store) error {
			w, err := s.Writer(ctx, "demo-1")
			if err != nil {
				return err
			}
			defer w.Close()
			_, err = w.Inbox(ctx)
			return err
		}, "message 2"},
		{"no definition", "DELETE FROM pins", func(s *Store) error {
			_, err := s.Pin(ctx, "demo-1")
			return err
		}, "the definition of run demo-1 is missing"},
		{"definition", "UPDATE runs SET pin = '" + hashOf([]byte("x")) + "'; INSERT INTO pins VALUES ('" + hashOf([]byte("x")) + "', 'x')", func(s *Store) error {
			_, err := s.Pin(ctx, "demo-1")
			return err
		}, "definition of run demo-1"},
		{"output", "UPDATE events SET blobs = blobs || ' ' WHERE seq = 3", func(s *Store) error {
			_, err := s.Output(ctx, "demo-1", 3)
			return err
		}, "event 3 of run demo-1: journal"},
		{"output of an older version", "UPDATE events SET data = 'x', blobs = NULL, sum = NULL WHERE seq = 3", func(s *Store) error {
			_, err := s.Output(ctx, "demo-1", 3)
			return err
		}, "event 3 of run demo-1: engine: not an event"},
		{"long input of an older version", "UPDATE events SET sum = NULL, blobs = '[]x' WHERE seq = 1", func(s *Store) error {
			_, err := collect(s.Events(ctx, "demo-1", 0))
			return err
		}, "event 1: invalid character"},
		{"event of an older version", "UPDATE events SET data = 'x', sum = NULL WHERE seq = 2", func(s *Store) error {
			events := 0
			var last error
			for _, err := range s.Events(ctx, "demo-1", 0) {
				if last = err; err == nil {
					events++
				}
			}
			if events != 1 {
				t.Errorf("%d events were read before the damage", events)
			}
			return last
		}, "event 2 of run demo-1"},
		{"first of two events", "DELETE FROM events WHERE seq = 1 AND run = 2", func(s *Store) error {
			_, err := collect(s.Events(ctx, "demo-2", 0))
			return err
		}, "event 1 is missing"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, dir)
		change(t, s, c.change)
		for range 2 { // what failed is not cached
			if err := c.read(s); !IsProblem(err, Corrupt) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: the error is %v, want %q", c.name, err, c.want)
			}
		}
	}
}

// What each problem means for a user of the journal is part of the message.
func TestAdvice(t *testing.T) {
	for problem, want := range map[Problem]string{
		Full: "resume the run then", ReadOnly: "what was recorded can still be shown",
		Corrupt: "what can still be read can be shown", Broken: "what was recorded before can still be shown",
	} {
		if err := (&Error{Kind: kind, File: "journal.db", Problem: problem}); !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v", err)
		}
	}
}

// An error that is not about the file stays as it is.
func TestErrorsThatStay(t *testing.T) {
	for _, err := range []error{&driver.HeldError{Run: "r"}, &driver.UnknownRunError{ID: "r"}, &driver.ExistsError{Run: "r"}, &driver.KeyError{Key: "k", Run: "r"}} {
		if got := explain("file", err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	if got := explain("file", errFault); !errors.Is(got, errFault) || !strings.Contains(got.Error(), "file") {
		t.Errorf("the error is %v", got)
	}
}

// A directory that is gone has no absolute name.
func TestDirectoryThatIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "here")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.Remove(dir); err != nil {
		t.Skip(err)
	}
	for _, open := range []func() (*Store, error){
		func() (*Store, error) { return Open("state", Options{}) },
		func() (*Store, error) { return OpenReadOnly("state") },
	} {
		if s, err := open(); err == nil {
			t.Error("it was opened", s.Close())
		}
	}
}
