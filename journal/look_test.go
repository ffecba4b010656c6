package journal

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/database"
	"github.com/hocket-dev/hocket/workflow"
)

// Other processes can query a journal while runs are being driven.
func TestLookAtRuns(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	if Exists(dir) {
		t.Error("an empty directory has a journal")
	}
	s := openStore(t, dir)
	one, two := createRun(t, s, "demo-1"), createRun(t, s, "demo-2")
	if !Exists(dir) || one.Run() != "demo-1" || s.Writable() != nil {
		t.Errorf("%v %s %v", Exists(dir), one.Run(), s.Writable())
	}

	run, err := s.Run(ctx, "demo-2")
	if err != nil || run.ID != "demo-2" {
		t.Errorf("got %+v, %v", run, err)
	}
	var unknown *driver.UnknownRunError
	if _, err := s.Run(ctx, "demo-3"); !errors.As(err, &unknown) || unknown.ID != "demo-3" {
		t.Errorf("got %v", err)
	}

	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	driven, err := s.Driven(ctx)
	if err != nil || !driven["demo-1"] || driven["demo-2"] {
		t.Errorf("driven are %v, %v", driven, err)
	}
	for id, want := range map[string]bool{"demo-1": true, "demo-2": false} {
		run, err := s.Run(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		holder, lives := s.HolderOf(run)
		if lives != want || lives && holder.PID != os.Getpid() {
			t.Errorf("%s is held by %+v, %v", id, holder, lives)
		}
	}

	if mail, err := s.Mail(ctx); err != nil || len(mail) > 0 {
		t.Errorf("there is mail for %v, %v", mail, err)
	}
	for range 2 {
		if _, err := s.Send(ctx, "demo-2", &engine.CancelAsked{}, start); err != nil {
			t.Fatal(err)
		}
	}
	if mail, err := s.Mail(ctx); err != nil || !slices.Equal(mail, []string{"demo-2"}) {
		t.Errorf("there is mail for %v, %v", mail, err)
	}
}

func TestEndOfAnAttempt(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	appendEvents(t, w, ended(1, "one"), ended(2, "two")) // the second and third event
	for _, c := range []struct {
		address        string
		attempt, after int
		want           bool
		last           int
	}{
		{"work[1]", 1, 0, true, 3}, {"work[1]", 1, 1, true, 3}, {"work[1]", 1, 2, false, 3}, {"work[2]", 1, 2, true, 3}, {"work[2]", 1, 3, false, 3},
		{"work[1]", 2, 0, false, 3}, {"work[1]", 0, 0, true, 3}, {"work[9]", 1, 0, false, 3},
	} {
		got, last, err := s.Ended(ctx, driver.AttemptID{Run: "demo-1", Address: c.address, Attempt: c.attempt}, c.after)
		if err != nil || got != c.want || last != c.last {
			t.Errorf("%+v: %v, %d, %v", c, got, last, err)
		}
	}
}

func TestSnapshotIsReplaced(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, t.TempDir())
	w, other := createRun(t, s, "demo-1"), createRun(t, s, "demo-2")
	for _, data := range []string{"", "one", "two"} {
		if data != "" {
			if err := w.Keep([]byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Snapshot(ctx, "demo-1"); err != nil || string(got) != data {
			t.Errorf("kept %q, got %q, %v", data, got, err)
		}
	}
	if got, err := s.Snapshot(ctx, other.Run()); err != nil || got != nil {
		t.Errorf("another run has %q, %v", got, err)
	}
}

// The size of a run covers its events, its long strings and its files.
func TestBytesOfARun(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	size := func() (recorded, all int64) {
		t.Helper()
		run, err := s.Run(ctx, "demo-1")
		if err != nil {
			t.Fatal(err)
		}
		recorded, err = s.Recorded(ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		if all, err = s.Bytes(ctx, run); err != nil {
			t.Fatal(err)
		}
		return recorded, all
	}
	small, all := size()
	if small == 0 || all != small {
		t.Errorf("a run without files takes %d of %d bytes", small, all)
	}
	id := driver.AttemptID{Run: "demo-1", Address: "work[1]", Attempt: 1}
	if err := os.MkdirAll(filepath.Join(s.Artifacts(id), "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, length := range map[string]int{"a": 10, "sub/b": 200} {
		if err := os.WriteFile(filepath.Join(s.Artifacts(id), name), make([]byte, length), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if recorded, with := size(); recorded != small || with != small+210 {
		t.Errorf("with 210 bytes of files it takes %d of %d", recorded, with)
	}
	appendEvents(t, w, ended(1, strings.Repeat("x", 100)))
	medium, _ := size()
	if medium < small+100 || medium > small+1000 {
		t.Errorf("a short output made %d of %d bytes", medium, small)
	}
	const long = 1 << 20
	other := make([]byte, long) // incompressible
	for i := range other {
		other[i] = "0123456789abcdef"[(i*i/7+i/3)%16]
	}
	appendEvents(t, w, ended(2, string(other)))
	if recorded, _ := size(); recorded <= medium+1000 {
		t.Errorf("a long output made %d of %d bytes", recorded, medium)
	}
	run, err := s.Run(ctx, "demo-1")
	if err := errors.Join(err, os.RemoveAll(filepath.Join(s.Dir(), "logs")), os.WriteFile(filepath.Join(s.Dir(), "logs"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bytes(ctx, run); err == nil {
		t.Error("files that cannot be read count as none")
	}
}

func TestErrorsOfAJournal(t *testing.T) {
	for want, err := range map[string]error{
		"journal: event 3 of run r already exists: another process drives this run": &ConflictError{Run: "r", Seq: 3},
		`the key "k" has already started run r`:                                     &UsedKeyError{Key: "k", Run: "r"},
		"message 7 was withdrawn":                                                   &WithdrawnError{ID: 7},
	} {
		if err.Error() != want || explain("file", err) != err {
			t.Errorf("got %v, explained as %v", err, explain("file", err))
		}
	}
}

// A journal whose file was deleted or replaced accepts no events and answers no queries.
func TestJournalThatIsGone(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	w := createRun(t, s, "demo-1")
	file := filepath.Join(dir, fileName)
	if err := os.Rename(file, file+".old"); err != nil {
		t.Skip("a file in use cannot be moved here")
	}
	for _, what := range []string{"missing", "another"} {
		if what == "another" {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Run(context.Background(), "demo-1"); !IsProblem(err, database.Gone) {
			t.Errorf("%s: it is read: %v", what, err)
		}
		if _, err := w.Inbox(context.Background()); !IsProblem(err, database.Gone) {
			t.Errorf("%s: messages are read: %v", what, err)
		}
		var err error
		for n := 1; err == nil; n++ { // soon, but not after every event
			err = w.Append(Batch{Events: list(ended(n, "x"))})
		}
		if !IsProblem(err, database.Gone) {
			t.Errorf("%s: events are written: %v", what, err)
		}
		if err := w.Append(Batch{Summary: &Summary{}}); !IsProblem(err, database.Gone) {
			t.Errorf("%s: it is written: %v", what, err)
		}
	}
	if err := os.Rename(file+".old", file); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), "demo-1"); err != nil {
		t.Error(err)
	}
}

// An event that cannot be written is an error and leaves no trace.
func TestEventThatCannotBeWritten(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	if err := w.Append(Batch{Events: []engine.Envelope{ended(1, "x"), endedWith("y", engine.Usage{CostUSD: math.NaN()})}}); err == nil {
		t.Error("it was recorded")
	}
	wantEvents(t, s, "demo-1", []engine.Envelope{started("demo-1")})
	if _, err := s.Send(t.Context(), "demo-1", &engine.TaskEnded{Usage: engine.Usage{CostUSD: math.NaN()}}, start); err == nil {
		t.Error("it was sent")
	}
	if mail, err := w.Inbox(t.Context()); err != nil || len(mail) > 0 {
		t.Errorf("the inbox has %v, %v", mail, err)
	}
	bad := NewRun{ID: "demo-2", Pin: testPin("demo"), Events: list(started("demo-2"), endedWith("y", engine.Usage{CostUSD: math.NaN()}))}
	if _, err := s.Create(bad); err == nil {
		t.Error("a run was created with it")
	}
	for _, pin := range []*driver.Pin{nil, {}, {Bundle: &workflow.Bundle{}}} {
		if _, err := s.Create(NewRun{ID: "demo-2", Pin: pin, Events: list(started("demo-2"))}); err == nil {
			t.Errorf("a run without a workflow was created: %+v", pin)
		}
	}
}

// A run that does not exist is reported as such, whatever was to be done with it.
func TestUnknownRun(t *testing.T) {
	ctx := t.Context()
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1").Close()
	for name, call := range map[string]func() error{
		"Run":    func() error { _, err := s.Run(ctx, "other"); return err },
		"Find":   func() error { _, err := s.Find(ctx, "other"); return err },
		"List":   func() error { _, err := s.List(ctx, driver.Filter{Before: "other"}); return err },
		"Pin":    func() error { _, err := s.Pin(ctx, "other"); return err },
		"Events": func() error { _, err := collect(s.Events(ctx, "other", 0)); return err },
		"Driver": func() error { _, _, err := s.Driver(ctx, "other"); return err },
		"Writer": func() error { _, err := s.Writer(ctx, "other"); return err },
		"Send":   func() error { _, err := s.Send(ctx, "other", &engine.CancelAsked{}, start); return err },
		"Delete": func() error { _, err := s.Delete(ctx, "other"); return err },
	} {
		var unknown *driver.UnknownRunError
		if err := call(); !errors.As(err, &unknown) || unknown.ID != "other" {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

// Every queued change is applied and acknowledged, however many there are.
func TestChangesThatWaitTogether(t *testing.T) {
	s := openStore(t, t.TempDir())
	for n := range 4 {
		var all []*pending
		made := 0
		for range n {
			all = append(all, &pending{done: make(chan error, 1), change: func(*sql.Tx) error { made++; return nil }, alone: func() error { made++; return nil }})
		}
		s.commitAll(all)
		answered := 0
		for _, p := range all {
			if len(p.done) == 1 && <-p.done == nil {
				answered++
			}
		}
		if made != n || answered != n {
			t.Errorf("of %d changes %d are made and %d answered", n, made, answered)
		}
	}
}
