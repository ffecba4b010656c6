package journal

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/database"
)

// foreign creates a database from SQL, as another program or version would.
func foreign(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	db, err := sql.Open("sqlite", database.Source(filepath.Join(dir, fileName)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
	return dir
}

func firstVersion(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("../testdata/journals/journal-1.sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

func secondVersion(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("../testdata/journals/journal-2.sql")
	if err != nil {
		t.Fatal(err)
	}
	return firstVersion(t) + string(script)
}

// TestThirdVersion reads a journal written when the list of runs only had a status.
// Values that it lacks are missing, and its runs are stale.
func TestThirdVersion(t *testing.T) {
	script, err := os.ReadFile("../testdata/journals/journal-3.sql")
	if err != nil {
		t.Fatal(err)
	}
	dir := foreign(t, string(script))
	s := openStore(t, dir)
	runs, err := s.List(context.Background(), driver.Filter{})
	if err != nil || len(runs) != 3 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for i, want := range []struct {
		id     string
		status engine.Status
		events int
	}{{"gated-s7yw63t2", engine.Waiting, 2}, {"gated-cnj019dq", engine.Success, 5}, {"once-0a7qty78", engine.Running, 2}} {
		r := runs[i]
		if r.ID != want.id || r.Status != want.status || !r.Stale || r.Open != 0 || !reflect.DeepEqual(r.Owner, driver.Owner{}) {
			t.Errorf("run %d: %+v", i, r)
		}
		if n := len(readEvents(t, s, r.ID)); n != want.events {
			t.Errorf("%s has %d events, want %d", r.ID, n, want.events)
		}
	}
}

func TestOlderJournalIsMigrated(t *testing.T) {
	t.Run("1", func(t *testing.T) { testMigrated(t, foreign(t, firstVersion(t)), "", 0) })
	t.Run("2", func(t *testing.T) { testMigrated(t, foreign(t, secondVersion(t)), "older-1", 1) })
}

// testMigrated reads and continues a journal whose run has the given origin and number of
// messages.
func testMigrated(t *testing.T, dir, origin string, messages int) {
	for range 2 { // the second time there is nothing to migrate
		s := openStore(t, dir)
		want := []engine.Envelope{started("old-1"), ended(1, strings.Repeat("y", 80_000)), ended(2, "x")}
		want[0].Event.(*engine.Started).Version = 1
		want[1].Clock, want[2].Clock = 0, 0 // that version recorded no clock
		wantEvents(t, s, "old-1", want)
		r, err := s.Find(context.Background(), "old-1")
		if err != nil || r.Status != engine.Waiting || r.Workflow != "old" || !r.Created.Equal(start) || r.Origin != origin {
			t.Errorf("old run: %+v, %v", r, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	s := openStore(t, dir)
	w, err := s.Writer(context.Background(), "old-1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	appendEvents(t, w, ended(3, "new"))
	if _, err := s.Send(context.Background(), "old-1", &engine.CancelAsked{}, time.Now()); err != nil {
		t.Error(err)
	}
	if ms, err := w.Inbox(context.Background()); err != nil || len(ms) != messages+1 {
		t.Errorf("inbox of a migrated journal: %d, %v", len(ms), err)
	}
}

func TestJournalsThatAreRefused(t *testing.T) {
	cases := []struct {
		name, script string
		problem      Problem
		says         string
	}{
		{"newer", "CREATE TABLE new (x); PRAGMA application_id = 1212369748; PRAGMA user_version = 99", Newer,
			"its schema has version 99, but this program supports version 12); update hocket"},
		{"other program", "CREATE TABLE songs (x)", NotDatabase, "it is the database of another program"},
		{"other program with id", "CREATE TABLE songs (x); PRAGMA application_id = 7; PRAGMA user_version = 1", NotDatabase, "another program"},
	}
	for _, c := range cases {
		dir := foreign(t, c.script)
		for name, open := range map[string]func() (*Store, error){
			"Open":         func() (*Store, error) { return Open(dir, Options{}) },
			"OpenReadOnly": func() (*Store, error) { return OpenReadOnly(dir) },
		} {
			_, err := open()
			if !IsProblem(err, c.problem) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s, %s: %v", c.name, name, err)
			}
		}
	}
}

// Any process may be the one that creates or migrates the journal.
func TestManyOpenAtOnce(t *testing.T) {
	for _, dir := range []string{t.TempDir(), foreign(t, firstVersion(t)), foreign(t, secondVersion(t))} {
		errs := make(chan error)
		for range 8 {
			go func() {
				s, err := Open(dir, Options{})
				if err == nil {
					err = s.Close()
				}
				errs <- err
			}()
		}
		for range 8 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
}
