package trigger

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
)

// broken has the journal refuse new runs until the returned function is called.
func (f *fixture) broken() (repaired func()) {
	f.Helper()
	db, err := sql.Open("sqlite", filepath.Join(f.p.State(), "journal.db")) // the driver of the host
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	do := func(text string) {
		f.Helper()
		if _, err := db.ExecContext(f.Context(), text); err != nil {
			f.Fatal(err)
		}
	}
	do("CREATE TRIGGER broken BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'try again later'); END")
	return func() { do("DROP TRIGGER broken") }
}

// A firing that could not be recorded is not lost: a time and a file come again, the end of a run is kept, and the sender
// of a request learns that it has to repeat it.
func TestTransientErrors(t *testing.T) {
	t.Setenv("HOOK_SECRET", "a-long-secret")
	f := newFixture(t, map[string]string{
		".hocket/config.yml":           "secrets: {HOOK: {env: HOOK_SECRET}}\n",
		".hocket/workflows/first.yml":  "name: first\nsteps: [{id: a, agent: shell, config: {command: 'true'}}]\n",
		".hocket/triggers/after.yml":   "workflow: report\nafter: first\ninputs: {topic: after}\n",
		".hocket/triggers/files.yml":   "workflow: report\nfiles: \"inbox/*.csv\"\ninputs: {topic: \"${path}\"}\n",
		".hocket/triggers/nightly.yml": nightly,
		".hocket/triggers/push.yml":    hook,
	})
	w, err := f.p.Load("first")
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.p.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.at("2026-11-17T12:00:00Z")
	f.s.scan(t.Context())
	f.write("inbox/a.csv", "a")
	end := f.drive(r.ID())
	end.Changed = f.now.Add(time.Minute)

	repaired := f.broken()
	f.at("2026-11-18T02:00:00Z")
	f.later(3 * time.Second)
	if later := f.s.ended(t.Context(), []hocket.Info{end}); len(later) != 1 {
		t.Error("the end of a run is forgotten")
	}
	if done, err := f.post("a-long-secret", `{"topic": "pushed"}`); err == nil {
		t.Errorf("the request was recorded: %+v", done)
	}
	repaired()

	f.later(3 * time.Second)
	f.ended(f.s, end)
	done, err := f.post("a-long-secret", `{"topic": "pushed"}`)
	if err != nil || done.Run == "" {
		t.Errorf("%+v, %v", done, err)
	}
	f.want("<nil>", "inbox/a.csv", "2026-11-18T03:00:00+01:00", "after", "pushed")
}
