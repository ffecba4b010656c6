package local_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// Runs are removed in the order in which they ended, never one that has just ended, and a
// run that another process holds is not reported as removed.
func TestCollectByEnd(t *testing.T) {
	s := openStore(t)
	begin := time.Now().UTC()
	for _, r := range []struct {
		id    string
		ended time.Duration
	}{{"long", 4}, {"held", 1}, {"first", 2}, {"second", 3}} {
		w, err := s.Create(journal.NewRun{ID: r.id, Pin: &driver.Pin{Bundle: chain(task("a", ""))}, Created: begin,
			Events:  []engine.Envelope{{Time: begin, Clock: 1, Event: &engine.Started{Run: r.id, Version: engine.Version}}},
			Summary: &journal.Summary{Status: engine.Success, At: begin.Add(r.ended * time.Second)}})
		if err != nil {
			t.Fatal(err)
		}
		if r.id != "held" {
			w.Close()
			continue
		}
		defer w.Close()
	}
	for _, c := range []struct {
		runs    int
		removes string
	}{{2, "first "}, {1, "second "}} {
		err := with(s, work{}, func(d *local.Driver) error {
			removed, err := d.Collect(t.Context(), driver.Retention{Runs: c.runs}, nil, false)
			ids := ""
			for _, r := range removed {
				ids += r.ID + " "
			}
			if ids != c.removes {
				t.Errorf("with %d runs, %sare removed, want %s", c.runs, ids, c.removes)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Deleting a run does not rewrite a whole journal from an older version, because other
// processes would have to wait for that.
func TestOnlyCompactRewritesAJournal(t *testing.T) {
	s := openStore(t)
	spec := driver.Spec{Run: "demo-1", Pin: &driver.Pin{Bundle: chain(task("a", ""))}}
	if err := with(s, work{}, func(d *local.Driver) error { _, err := d.Start(t.Context(), spec); return err }); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(s.Dir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxIdleConns(0) // an open connection does not see the mode change
	if _, err := db.Exec("PRAGMA auto_vacuum = NONE; VACUUM"); err != nil {
		t.Fatal(err)
	}
	for want, change := range []func(d *local.Driver) error{
		func(d *local.Driver) error { return d.Delete(t.Context(), "demo-1") },
		func(d *local.Driver) error { return d.Compact(t.Context()) },
	} {
		if err := with(s, work{}, change); err != nil {
			t.Fatal(err)
		}
		var mode int
		if err := db.QueryRow("PRAGMA auto_vacuum").Scan(&mode); err != nil || mode != 2*want {
			t.Errorf("auto_vacuum is %d, %v, want %d", mode, err, 2*want)
		}
	}
}
