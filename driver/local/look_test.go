package local

import (
	"database/sql"
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
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// fixedClock is a clock that shows a time.
type fixedClock struct {
	systemClock
	now     time.Time
	elapsed time.Duration
}

func (c *fixedClock) Now() time.Time         { return c.now }
func (c *fixedClock) Elapsed() time.Duration { return c.elapsed }

// opened returns a driver with some runs that wait for an answer, and a pulse that looks only when a
// test does.
func opened(t *testing.T, runs ...string) (*Driver, *pulse, *journal.Store) {
	t.Helper()
	d, err := Open(t.TempDir(), Options{Clock: &fixedClock{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	ask := workflow.Node{ID: "ok", Step: &workflow.Human{Question: workflow.Template{Text: "ok?"}}}
	bundle := &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: workflow.Graph{Nodes: []workflow.Node{ask}}}}
	for _, run := range runs {
		if _, err := d.Start(t.Context(), driver.Spec{Run: run, Pin: &driver.Pin{Bundle: bundle}}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Drive(t.Context(), run, driver.Work{}); err != nil {
			t.Fatal(err)
		}
	}
	other, err := journal.Open(d.dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return d, newPulse(time.Hour, func() looker {
		return looker{journal: func() (*journal.Store, error) { return nil, nil }, clock: &fixedClock{now: time.Unix(0, 0)}}
	}), other
}

// damage changes a journal directly.
func damage(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
	if err == nil {
		_, err = db.Exec(statement)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A look wakes those who listen to what has changed, and no others.
func TestLook(t *testing.T) {
	d, p, other := opened(t, "one", "two")
	clock := d.o.Clock.(*fixedClock)
	watcher, one, two := p.listen(change, ""), p.listen(mail, "one"), p.listen(mail, "two")
	defer watcher.close()
	defer one.close()
	defer two.close()
	l := d.look()
	defer l.close()
	looks := func(what, want string) {
		t.Helper()
		l.look(p)
		var woken []string
		for name, listener := range map[string]*listener{"watcher": watcher, "one": one, "two": two} {
			if len(listener.wake) > 0 {
				woken = append(woken, name)
			}
			drain(listener)
		}
		if slices.Sort(woken); strings.Join(woken, " ") != want {
			t.Errorf("%s: %q are woken, want %q", what, woken, want)
		}
	}
	looks("first", "watcher")
	looks("again", "")
	clock.elapsed += time.Hour
	clock.now = clock.now.Add(time.Hour + time.Second/10)
	looks("the clock drifts", "")
	clock.now = clock.now.Add(time.Millisecond)
	looks("the clock was set", "one two")
	looks("again", "")
	clock.elapsed += time.Second
	looks("the clock was set back", "one two")
	if _, err := other.Send(t.Context(), "two", &engine.CancelAsked{}, clock.now); err != nil {
		t.Fatal(err)
	}
	looks("a message", "two watcher")
	looks("again", "")
	three := p.listen(mail, "three")
	looks("a new listener", "two") // which has not read it
	three.close()
	before := p.leases.Load()
	w, err := other.Writer(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	looks("a run is driven", "two watcher")
	if n := p.leases.Load(); n != before+1 {
		t.Errorf("it counts %d changes of who drives, want one", n-before)
	}
	looks("again", "")
	if n := p.leases.Load(); n != before+1 {
		t.Errorf("without a change it counts %d", n-before)
	}
	if err := errors.Join(w.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	looks("it ends", "two watcher")
	if p.leases.Load() == before+1 {
		t.Error("the end of a process is not counted")
	}
	damage(t, d.dir, "DROP TABLE inbox")
	looks("damaged", "one two watcher")
}

// After a while without a change, a pulse slows down until there is one.
func TestLull(t *testing.T) {
	d, p, other := opened(t, "one")
	watcher := p.listen(change, "")
	defer watcher.close()
	l := d.look()
	defer l.close()
	slows := func() {
		t.Helper()
		l.look(p) // sees the change
		for n := range lull {
			if p.pace(&l) != p.every {
				t.Fatalf("it slows down after %d looks without a change", n)
			}
			l.look(p)
		}
		if p.pace(&l) == p.every {
			t.Error("it does not slow down")
		}
	}
	slows()
	if _, err := other.Send(t.Context(), "one", &engine.CancelAsked{}, d.o.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	slows()
	w, err := other.Writer(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	slows()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A process that was killed changes no file: it is noticed by its lock.
func TestLookAtKilledProcesses(t *testing.T) {
	d, p, _ := opened(t, "one")
	watcher := p.listen(change, "")
	l := d.look()
	defer l.close()
	l.look(p)
	drain(watcher)
	var all []string
	for i := range 2 * tries {
		name := fmt.Sprint("process-", i)
		all = append(all, name)
		if err := os.WriteFile(filepath.Join(d.dir, "leases", name+".lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := p.leases.Load()
	l.last.Leases = time.Time{}
	l.look(p)
	if drain(watcher); len(l.leases) != 1 {
		t.Errorf("%d processes live, want this one", len(l.leases))
	}
	l.leases = all[:1]
	if watcher.close(); p.heard(change) {
		t.Fatal("someone listens")
	}
	l.look(p) // nobody wants to know
	if n := p.leases.Load(); n != before+1 {
		t.Errorf("%d changes, want one", n-before)
	}
	own := l.store.Leases()
	l.list()
	if len(l.leases) != 1 || !own[l.leases[0]] {
		t.Fatalf("%q live", l.leases)
	}
	alive := l.leases[0]
	if l.killed() {
		t.Error("a living process is gone")
	}
	// Some are checked at a time, and all of them in turn.
	l.leases = append(slices.Repeat([]string{alive}, 2*tries), all[1])
	l.next = 0
	found := []bool{l.killed(), l.killed(), l.killed()}
	if !slices.Equal(found, []bool{false, true, false}) {
		t.Errorf("a killed process is found at %v", found)
	}
	l.leases = nil
	if l.killed() {
		t.Error("there is no process, and one is gone")
	}
}

// A watcher learns of each run once, and of what another process changed.
func TestWatchLooks(t *testing.T) {
	d, _, other := opened(t, "one", "two", "over")
	if _, err := d.Act(t.Context(), "over", &engine.CancelAsked{}); err != nil {
		t.Fatal(err)
	}
	w := &watch{d: d, version: -1, runs: map[string]watched{}}
	looks := func(what, want string) {
		t.Helper()
		changes, err := w.look(t.Context())
		var all []string
		for _, c := range changes {
			all = append(all, fmt.Sprintf("%s %s %s %t", c.Run, c.Kind, c.Info.Status, c.Info.Driven))
		}
		slices.Sort(all)
		if got := strings.Join(all, ", "); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", what, got, err, want)
		}
	}
	looks("first", "one appeared waiting false, over appeared cancelled false, two appeared waiting false")
	looks("again", "")
	writer, err := other.Writer(t.Context(), "two")
	if err != nil {
		t.Fatal(err)
	}
	looks("taken", "two moved waiting true")
	d.pulse.leases.Add(1)
	looks("someone else began to drive", "")
	w.runs["two"] = watched{driven: false}
	w.runs["over"] = watched{over: true, driven: true}
	w.runs["gone"] = watched{driven: true}
	looks("nobody was killed", "")
	d.pulse.leases.Add(1)
	looks("killed", "two moved waiting true")
	if !w.runs["two"].driven {
		t.Error("it does not remember who drives")
	}
	delete(w.runs, "gone")
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	looks("released", "two moved waiting false")
	if err := d.Delete(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	looks("deleted", "two deleted  false")
	if _, known := w.runs["two"]; known {
		t.Error("it remembers a deleted run")
	}
	w.runs["one"] = watched{driven: true}
	d.pulse.leases.Add(1)
	damage(t, d.dir, "ALTER TABLE runs DROP COLUMN owner")
	if changes, err := w.look(t.Context()); err == nil {
		t.Errorf("%+v", changes)
	}
	version := w.version
	w.version = -1
	if changes, err := w.look(t.Context()); err == nil {
		t.Errorf("the list cannot be read: %+v", changes)
	}
	w.version = version
	d.pulse.leases.Add(1)
	damage(t, d.dir, "ALTER TABLE runs RENAME COLUMN driver TO nobody")
	if changes, err := w.look(t.Context()); err == nil {
		t.Errorf("who drives is unknown: %+v", changes)
	}
}

// Reading the questions of one run does not read the others: there may be thousands that wait.
func TestQuestionsOfOneRun(t *testing.T) {
	cost := func(runs ...string) float64 {
		d, _, _ := opened(t, runs...)
		return testing.AllocsPerRun(20, func() {
			if found, err := d.Questions(t.Context(), driver.QuestionFilter{Run: "one"}); err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
		})
	}
	alone := cost("one")
	if many := cost("one", "two", "three", "four", "five", "six", "seven", "eight"); many > 1.5*alone {
		t.Errorf("among eight runs, it takes %.0f allocations; alone %.0f", many, alone)
	}
}
