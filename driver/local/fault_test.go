package local_test

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// example fills a directory with a run that waits for an answer, one that has ended, and one that was
// interrupted.
func example(t *testing.T, dir string) {
	t.Helper()
	long := strings.Repeat("o", 2*driver.LongOutput+2*journal.MaxInline)
	prints := agentFunc(func(_ context.Context, _ *engine.StartTask, log agent.Log) driver.Outcome {
		log([]byte("printed\n"))
		return driver.Outcome{Output: long, Usage: engine.Usage{TokensIn: 3}}
	})
	d, err := local.Open(dir, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for run, b := range map[string]*workflow.Bundle{"demo-1": chain(task("a", "x"), gate("review")), "demo-2": chain(task("a", "x"))} {
		s := spec(b)
		s.Run = run
		_, err := d.Start(t.Context(), s)
		if err == nil {
			_, err = d.Drive(t.Context(), run, driver.Work{Agents: prints})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s := spec(chain(task("a", "x")))
	s.Run = "lost-1"
	_, err = d.Start(t.Context(), s)
	ctx, stop := context.WithCancel(t.Context())
	_, interrupted := d.Drive(ctx, s.Run, driver.Work{Agents: agentFunc(func(ctx context.Context, _ *engine.StartTask, _ agent.Log) driver.Outcome {
		stop()
		<-ctx.Done()
		return driver.Outcome{}
	})})
	if err := errors.Join(err, d.Close()); err != nil || !errors.As(interrupted, new(*driver.InterruptedError)) {
		t.Fatal(err, interrupted)
	}
}

// collected returns what a sequence yields, or its error.
func collected[T any](all iter.Seq2[T, error]) (any, error) {
	var list []T
	for one, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// calls are the methods of a driver. The first few need no run.
func calls(ctx context.Context) (general, ofRun map[string]func(d *local.Driver) (any, error)) {
	a := driver.AttemptID{Run: "demo-1", Address: "a", Attempt: 1}
	again := spec(chain(task("a", "x")))
	again.Run = "demo-3"
	silent := agentFunc(func(context.Context, *engine.StartTask, agent.Log) driver.Outcome { return driver.Outcome{} })
	general = map[string]func(d *local.Driver) (any, error){
		"Runs":      func(d *local.Driver) (any, error) { return d.Runs(ctx, driver.Filter{}) },
		"Questions": func(d *local.Driver) (any, error) { return d.Questions(ctx, driver.QuestionFilter{}) },
		"Collect":   func(d *local.Driver) (any, error) { return d.Collect(ctx, driver.Retention{Age: 1}, nil, false) },
		"Surplus": func(d *local.Driver) (any, error) {
			return d.Collect(ctx, driver.Retention{Runs: 1, Size: 1}, nil, true)
		},
		"Compact": func(d *local.Driver) (any, error) { return nil, d.Compact(ctx) },
		"Check":   func(d *local.Driver) (any, error) { return d.Check(ctx) },
	}
	ofRun = map[string]func(d *local.Driver) (any, error){
		"Find":   func(d *local.Driver) (any, error) { return d.Find(ctx, "demo-1") },
		"Info":   func(d *local.Driver) (any, error) { return d.Info(ctx, "demo-1") },
		"Pin":    func(d *local.Driver) (any, error) { return d.Pin(ctx, "demo-1") },
		"Events": func(d *local.Driver) (any, error) { return collected(d.Events(ctx, "demo-1", 0, false)) },
		"Output": func(d *local.Driver) (any, error) { return d.Output(ctx, "demo-1", 3) },
		"Read":   func(d *local.Driver) (any, error) { return collected(d.Read(ctx, a, driver.Output, 0, false)) },
		"Kept":   func(d *local.Driver) (any, error) { return d.Kept(ctx, a) },
		"Drive": func(d *local.Driver) (any, error) {
			res, err := d.Drive(ctx, "demo-1", driver.Work{Agents: silent})
			return res.Status, err
		},
		"Act": func(d *local.Driver) (any, error) {
			return d.Act(ctx, "demo-1", &engine.Answered{ID: "review", Value: "approve"})
		},
		"Fork": func(d *local.Driver) (any, error) {
			return d.Fork(ctx, driver.ForkSpec{From: "demo-2", Address: "a", Run: "demo-4"})
		},
		"Delete": func(d *local.Driver) (any, error) { return nil, d.Delete(ctx, "demo-2") },
		"Fork of a lost one": func(d *local.Driver) (any, error) {
			return d.Fork(ctx, driver.ForkSpec{From: "lost-1", Address: "a", Run: "demo-5"})
		},
		"Drive of a lost one": func(d *local.Driver) (any, error) {
			res, err := d.Drive(ctx, "lost-1", driver.Work{Agents: silent})
			return res.Status, err
		},
	}
	return general, ofRun
}

// Whatever is wrong, a call returns an error, or what it returns otherwise.
func TestNoErrorIsLost(t *testing.T) {
	template := t.TempDir()
	example(t, template)
	damages := map[string]func(t *testing.T, dir string, d *local.Driver){
		"nothing": func(*testing.T, string, *local.Driver) {},
		"closed": func(t *testing.T, _ string, d *local.Driver) {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"not a database": func(t *testing.T, dir string, _ *local.Driver) {
			if err := os.WriteFile(filepath.Join(dir, "journal.db"), []byte(strings.Repeat("notes\n", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}
	change := func(text string) {
		damages[text] = func(t *testing.T, dir string, _ *local.Driver) {
			db, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
			if err == nil {
				_, err = db.Exec(text)
			}
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, table := range []string{"runs", "events", "pins", "blobs", "inbox", "asked", "attempts", "snapshots"} {
		change("DROP TABLE " + table)
	}
	for _, written := range []string{"INSERT ON runs", "UPDATE ON runs", "DELETE ON runs", "INSERT ON events", "INSERT ON asked", "DELETE ON asked"} {
		change("CREATE TRIGGER refused BEFORE " + written + " BEGIN SELECT RAISE(ABORT, 'refused'); END")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	results := map[string]string{}
	try := func(t *testing.T, name, damage string, call func(d *local.Driver) (any, error)) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		d, err := local.Open(dir, local.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := d.Close(); err != nil && damage == "closed" {
				t.Errorf("%s: closed again: %v", name, err)
			}
		}()
		damages[damage](t, dir, d)
		value, err := call(d)
		got := workflow.FormatJSON(value)
		switch want, known := results[name]; {
		case !known && err != nil:
			t.Errorf("%s: %v", name, err)
		case !known:
			results[name] = got
		case err == nil && got != want:
			t.Errorf("%s, with %s: %.300s, want %.300s", name, damage, got, want)
		case err == nil && (damage == "closed" || damage == "not a database"):
			t.Errorf("%s, with %s: no error", name, damage)
		}
	}
	for _, damage := range append([]string{"nothing"}, slices.Collect(maps.Keys(damages))...) {
		general, ofRun := calls(t.Context())
		for name, call := range general {
			try(t, name, damage, call)
		}
		for name, call := range ofRun {
			try(t, name, damage, call)
		}
	}
	general, ofRun := calls(gone)
	for name, call := range general {
		try(t, name, "nothing", call)
	}
	for name, call := range ofRun {
		try(t, name, "nothing", call)
	}
}

// Without a journal, no run is known, and none is created.
func TestNoJournal(t *testing.T) {
	general, ofRun := calls(t.Context())
	dir := t.TempDir()
	for name, call := range general {
		if value, err := call(openDriver(t, dir)); err != nil {
			t.Errorf("%s: %v, %v", name, value, err)
		}
	}
	for name, call := range ofRun {
		if value, err := call(openDriver(t, dir)); !errors.As(err, new(*driver.UnknownRunError)) {
			t.Errorf("%s: %v, %v", name, value, err)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("there are %v, %v", files, err)
	}
}

// Whoever stops following a run, an attempt or the project leaves nothing behind that looks at it.
func TestNothingLooksAfterwards(t *testing.T) {
	dir := t.TempDir()
	example(t, dir)
	d := openDriver(t, dir)
	a := driver.AttemptID{Run: "demo-1", Address: "a", Attempt: 1}
	for range d.Events(t.Context(), "demo-1", 0, true) {
		break
	}
	for range d.Read(t.Context(), a, driver.Output, 0, true) {
		break
	}
	for range d.Watch(t.Context(), 0) {
		break
	}
	stacks := make([]byte, 1<<20)
	if stacks = stacks[:runtime.Stack(stacks, true)]; strings.Contains(string(stacks), "(*pulse).beat") {
		t.Errorf("someone looks:\n%s", stacks)
	}
}
