package local_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

func openDriver(t testing.TB, dir string) *local.Driver {
	t.Helper()
	return openWith(t, dir, local.Options{})
}

func openWith(t testing.TB, dir string, o local.Options) *local.Driver {
	t.Helper()
	d, err := local.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Reading a project without runs creates no files.
func TestReadingMakesNothing(t *testing.T) {
	dir := t.TempDir()
	d := openDriver(t, dir)
	ctx := context.Background()
	if runs, err := d.Runs(ctx, driver.Filter{}); len(runs) != 0 || err != nil {
		t.Errorf("runs %v, %v", runs, err)
	}
	if qs, err := d.Questions(ctx, driver.QuestionFilter{}); len(qs) != 0 || err != nil {
		t.Errorf("questions %v, %v", qs, err)
	}
	if n, err := d.Check(ctx); n != -1 || err != nil {
		t.Errorf("check: %d, %v", n, err)
	}
	_, find := d.Find(ctx, "x-1")
	_, act := d.Act(ctx, "x-1", &engine.CancelAsked{})
	for _, err := range []error{find, act, d.Delete(ctx, "x-1")} {
		var unknown *driver.UnknownRunError
		if !errors.As(err, &unknown) {
			t.Errorf("an unknown run gives %v", err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("left %v", files)
	}
}

// A journal that cannot be written can be read, and says why nothing is recorded.
func TestJournalThatIsOnlyRead(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(gate("ok", "yes")), work{Agents: echo})
	if err := errors.Join(s.Close(), os.Mkdir(filepath.Join(s.Dir(), "journal.db-shm"), 0o700)); err != nil {
		t.Fatal(err)
	}
	d, ctx := openDriver(t, s.Dir()), t.Context()
	if n, err := d.Check(ctx); n != 1 || err != nil {
		t.Errorf("check: %d, %v", n, err)
	}
	if runs, err := d.Runs(ctx, driver.Filter{}); err != nil || len(runs) != 1 {
		t.Fatalf("%+v, %v", runs, err)
	}
	_, begin := d.Start(ctx, spec(chain(gate("ok", "yes"))))
	_, drive := d.Drive(ctx, "demo-1", driver.Work{})
	_, act := d.Act(ctx, "demo-1", &engine.CancelAsked{})
	_, fork := d.Fork(ctx, driver.ForkSpec{From: "demo-1", Address: "ok"})
	for i, err := range []error{begin, drive, act, fork, d.Delete(ctx, "demo-1"), d.Compact(ctx)} {
		if !journal.IsProblem(err, journal.ReadOnly) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestStartDriveDelete(t *testing.T) {
	d := openDriver(t, t.TempDir())
	ctx := context.Background()
	pin := &driver.Pin{Bundle: chain(task("a", "x"))}
	made, err := d.Start(ctx, driver.Spec{Pin: pin, Limits: workflow.Limits{Parallel: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if i, err := d.Info(ctx, made.Run); err != nil || i.Driven || i.Status != engine.Running {
		t.Errorf("recorded: %+v, %v", i, err)
	}
	res, err := d.Drive(ctx, made.Run, driver.Work{Agents: agentWith(func(context.Context, driver.Attempt) driver.Outcome {
		return driver.Outcome{Output: "done"}
	})})
	if err != nil || res.Status != engine.Success {
		t.Errorf("%s, %v", res.Status, err)
	}
	if err := d.Delete(ctx, made.Run); err != nil {
		t.Error(err)
	}
	if runs, err := d.Runs(ctx, driver.Filter{}); len(runs) != 0 || err != nil {
		t.Errorf("runs %v, %v", runs, err)
	}
}

// TestJournalOfVersion3 opens a journal written when the list of runs only had a status.
// Missing values are computed once, by replaying the runs.
func TestJournalOfVersion3(t *testing.T) {
	script, err := os.ReadFile("../../testdata/journals/journal-3.sql")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(string(script)); err != nil {
		t.Fatal(err)
	}
	db.Close()
	ctx := context.Background()
	for range 2 {
		d := openDriver(t, dir)
		questions, err := d.Questions(ctx, driver.QuestionFilter{})
		if err != nil || len(questions) != 1 || questions[0].Run != "gated-s7yw63t2" || questions[0].ID != "ok" {
			t.Errorf("questions %+v, %v", questions, err)
		}
		runs, err := d.Runs(ctx, driver.Filter{})
		if err != nil || len(runs) != 3 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		for i, want := range []struct {
			status engine.Status
			open   int
			steps  int
		}{{engine.Waiting, 1, 1}, {engine.Success, 0, 2}, {engine.Running, 0, 2}} {
			if r := runs[i]; r.Status != want.status || r.Open != want.open || r.Usage.Steps != want.steps || r.Driven {
				t.Errorf("%s: %+v, want %+v", r.ID, r, want)
			}
		}
	}
	// Its deadline is a day after it was recorded, so the answer comes on that day.
	then := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	d := openWith(t, dir, local.Options{Clock: machine{func() time.Time { return then.Add(time.Since(began)) }}})
	if _, err := d.Act(ctx, "gated-s7yw63t2", &engine.Answered{ID: "ok", Value: "approve"}); err != nil {
		t.Fatal(err)
	}
	res, err := d.Drive(ctx, "gated-s7yw63t2", driver.Work{Agents: echo})
	if err != nil || res.Status != engine.Success {
		t.Errorf("%s, %v", res.Status, err)
	}
}

// A plan that a run cannot continue with leaves nothing in the journal.
func TestRefusedPlanIsNotKept(t *testing.T) {
	dir := t.TempDir()
	d := openDriver(t, dir)
	w := func(name string, inputs ...workflow.Param) *driver.Pin {
		nodes := []workflow.Node{{ID: "a", Step: &workflow.Human{Question: workflow.Template{Text: "Go?"}}}}
		return &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: name, Inputs: inputs, Body: workflow.Graph{Nodes: nodes}}}}
	}
	made, err := d.Start(t.Context(), driver.Spec{Run: "demo-1", Pin: w("demo")})
	if err != nil {
		t.Fatal(err)
	}
	pin := w("refused", workflow.Param{Name: "missing", Required: true})
	if _, err := d.Replan(t.Context(), made.Run, driver.Replan{Pin: pin}); !errors.As(err, new(*driver.RefusedError)) {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var kept int
	if err := db.QueryRow("SELECT (SELECT count(*) FROM pins) + (SELECT count(*) FROM plans)").Scan(&kept); err != nil || kept != 1 {
		t.Errorf("%d definitions are kept: %v", kept, err)
	}
}
