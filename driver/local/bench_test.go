package local_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// noop is an agent that does nothing, as fast as possible.
type noop struct{}

func (noop) Run(context.Context, string, *engine.StartTask, driver.Attempt) driver.Outcome {
	return driver.Outcome{Output: "ok"}
}

func chainOf(n int) *workflow.Bundle {
	var g workflow.Graph
	for i := range n {
		g.Nodes = append(g.Nodes, workflow.Node{ID: fmt.Sprintf("n%d", i), Step: &workflow.Task{Agent: "x"}})
		if i > 0 {
			g.Edges = append(g.Edges, workflow.Edge{From: fmt.Sprintf("n%d", i-1), To: fmt.Sprintf("n%d", i)})
		}
	}
	return &workflow.Bundle{Root: &workflow.Workflow{Name: "chain", Body: g}}
}

func fanOf() *workflow.Bundle {
	each := &workflow.Each{
		Items: workflow.Expr{Text: "inputs.items"},
		Body:  workflow.Graph{Nodes: []workflow.Node{{ID: "work", Step: &workflow.Task{Agent: "x"}}}},
	}
	return &workflow.Bundle{Root: &workflow.Workflow{Name: "fan", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "work", Step: each}}}}}
}

func items(n int) map[string]any {
	list := make([]any, n)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	return map[string]any{"items": list}
}

func benchDriver(b *testing.B) *local.Driver {
	b.Helper()
	return benchDriverIn(b, b.TempDir())
}

func benchDriverIn(b *testing.B, dir string) *local.Driver {
	b.Helper()
	d, err := local.Open(dir, local.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	return d
}

// begin starts a run and drives it in this process.
func begin(d *local.Driver, spec driver.Spec) (engine.Result, error) {
	spec.Owner.Claimed = true
	made, err := d.Start(context.Background(), spec)
	if err != nil {
		return engine.Result{}, err
	}
	return d.Drive(context.Background(), made.Run, driver.Work{Agents: noop{}})
}

// drive runs a workflow once and returns the time it took.
func drive(b *testing.B, d *local.Driver, bundle *workflow.Bundle, inputs map[string]any, parallel int) time.Duration {
	b.Helper()
	began := time.Now()
	res, err := begin(d, driver.Spec{Pin: &driver.Pin{Bundle: bundle}, Inputs: inputs, Limits: workflow.Limits{Parallel: parallel, Runtime: time.Hour}})
	took := time.Since(began)
	if err != nil || res.Status != engine.Success {
		b.Fatalf("%s %v %s", res.Status, err, res.Error)
	}
	return took
}

// bare does one durable insert per step and nothing else, which is the minimum for any
// durable engine.
func bare(b *testing.B, steps int) time.Duration {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE steps (id INTEGER PRIMARY KEY, data TEXT NOT NULL)"); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare("INSERT INTO steps (data) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	event, err := engine.Encode(engine.Envelope{Time: time.Now().UTC(), Clock: time.Minute, Event: &engine.TaskEnded{Address: "n500", Attempt: 1, Output: "ok"}})
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	for range steps {
		if _, err := insert.Exec(string(event)); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}

// BenchmarkSequential compares a chain of no-op tasks, one commit each, with a bare
// program that does one durable insert per step. They alternate, so that a busy disk
// slows both.
func BenchmarkSequential(b *testing.B) {
	const steps = 1000
	d, bundle := benchDriver(b), chainOf(steps)
	var ours, bares time.Duration
	for b.Loop() {
		bares += bare(b, steps/2)
		ours += drive(b, d, bundle, nil, 10)
		bares += bare(b, steps/2)
	}
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(steps*b.N) }
	b.ReportMetric(per(ours), "µs/step")
	b.ReportMetric(per(bares), "bare-µs/step")
	b.ReportMetric(bares.Seconds()/ours.Seconds(), "of-bare-rate")
}

// BenchmarkParallel runs 10,000 no-op tasks, 100 at a time, and compares them with a
// chain in the same run.
func BenchmarkParallel(b *testing.B) {
	const tasks = 10_000
	d, fan, chain := benchDriver(b), fanOf(), chainOf(1000)
	var wide, narrow time.Duration
	for b.Loop() {
		narrow += drive(b, d, chain, nil, 10)
		wide += drive(b, d, fan, items(tasks), 100)
	}
	rate := func(n int, d time.Duration) float64 { return float64(n*b.N) / d.Seconds() }
	b.ReportMetric(rate(tasks, wide), "tasks/s")
	b.ReportMetric(rate(tasks, wide)/rate(1000, narrow), "x-sequential")
}

// BenchmarkRecovery resumes a run of 100,000 events that waits for a person, and stops it
// again: it opens the run, and either restores its snapshot or reads, decodes and replays
// its events. It does so with Go's default garbage collector settings and with those of
// cmd/hocket, and reports the medians.
func BenchmarkRecovery(b *testing.B) {
	const events = 100_000
	dir, bundle := b.TempDir(), fanOf()
	d := benchDriverIn(b, dir)
	body := &bundle.Root.Body
	body.Nodes = append(body.Nodes, gate("ok", "yes"))
	body.Edges = append(body.Edges, workflow.Edge{From: "work", To: "ok"})
	spec := driver.Spec{Run: "long-1", Pin: &driver.Pin{Bundle: bundle}, Inputs: items(events - 1), Limits: workflow.Limits{Parallel: 100}}
	res, err := begin(d, spec)
	if err != nil || res.Status != engine.Waiting {
		b.Fatal(res.Status, err)
	}
	for _, percent := range []int{100, 400} {
		b.Run(fmt.Sprintf("GOGC=%d", percent), func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(percent))
			resume := func() float64 {
				res = engine.Result{}
				runtime.GC()
				began := time.Now()
				res, err = d.Drive(context.Background(), "long-1", driver.Work{Agents: noop{}})
				took := time.Since(began)
				if err != nil || res.Status != engine.Waiting || len(res.Steps) != events {
					b.Fatal(res.Status, err)
				}
				return took.Seconds()
			}
			var restored, replayed []float64
			for b.Loop() {
				restored = append(restored, resume())
				changeSnapshots(b, dir, "DELETE FROM snapshots")
				replayed = append(replayed, resume()) // which saves a new snapshot
			}
			slices.Sort(restored)
			slices.Sort(replayed)
			b.ReportMetric(restored[len(restored)/2], "s/restored")
			b.ReportMetric(replayed[len(replayed)/2], "s/replayed-and-kept")
		})
	}
}

// changeSnapshots modifies the table of snapshots directly, bypassing the journal.
func changeSnapshots(tb testing.TB, dir, statement string) {
	tb.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkMemory watches the heap while 10,000 tasks run.
func BenchmarkMemory(b *testing.B) {
	d, fan := benchDriver(b), fanOf()
	debug.FreeOSMemory() // drop what earlier benchmarks left
	var peak uint64
	for b.Loop() {
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					peak = max(peak, m.Sys-m.HeapReleased)
				}
			}
		}()
		drive(b, d, fan, items(10_000), 100)
		close(stop)
		<-done
	}
	b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
}

// BenchmarkRuns drives 1,000 runs of three no-op steps in one process, 50 at a time, and
// reports the steps per second.
func BenchmarkRuns(b *testing.B) {
	const runs, steps, parallel = 1000, 3, 50
	d, bundle := benchDriver(b), chainOf(steps)
	var took time.Duration
	for b.Loop() {
		began := time.Now()
		slots := make(chan struct{}, parallel)
		var all sync.WaitGroup
		for range runs {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				res, err := begin(d, driver.Spec{Pin: &driver.Pin{Bundle: bundle}, Limits: workflow.Limits{Parallel: 10}})
				if err != nil || res.Status != engine.Success {
					b.Errorf("%s %v %s", res.Status, err, res.Error)
				}
			})
		}
		all.Wait()
		took += time.Since(began)
	}
	b.ReportMetric(float64(runs*steps*b.N)/took.Seconds(), "steps/s")
}

// BenchmarkList lists the newest and all of 10,000 runs with 300 MB of outputs.
func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	s, err := journal.Open(dir, journal.Options{Relaxed: true})
	if err != nil {
		b.Fatal(err)
	}
	pin, now := &driver.Pin{Bundle: chainOf(1)}, time.Now().UTC()
	for i := range 10_000 {
		id := fmt.Sprintf("run-%d", i)
		events := []engine.Envelope{
			{Time: now, Clock: 1, Event: &engine.Started{Run: id, Version: engine.Version}},
			{Time: now, Clock: 2, Event: &engine.TaskEnded{Address: "n0", Attempt: 1, Output: fmt.Sprintf("%030000d", i)}},
		}
		w, err := s.Create(journal.NewRun{ID: id, Pin: pin, Created: now, Events: events, Summary: &journal.Summary{Status: engine.Success}})
		if err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for _, limit := range []int{20, 10_000} {
		b.Run(fmt.Sprintf("newest=%d", limit), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				d := benchDriverIn(b, dir)
				if runs, err := d.Runs(context.Background(), driver.Filter{Limit: limit}); err != nil || len(runs) != limit {
					b.Fatal(len(runs), err)
				}
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20), "MB/op")
		})
	}
}

// BenchmarkReplan gives a run with 1,000 finished steps a new plan with one more step, and drives it
// to its end. Nothing that is done is repeated.
func BenchmarkReplan(b *testing.B) {
	const steps = 1000
	for b.Loop() {
		b.StopTimer()
		d := benchDriver(b)
		made, err := d.Start(b.Context(), driver.Spec{Pin: &driver.Pin{Bundle: chainOf(steps)}, Limits: workflow.Limits{Steps: 2 * steps}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.Drive(b.Context(), made.Run, driver.Work{Agents: noop{}}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := d.Replan(b.Context(), made.Run, driver.Replan{Pin: &driver.Pin{Bundle: chainOf(steps + 1)}}); err != nil {
			b.Fatal(err)
		}
		res, err := d.Drive(b.Context(), made.Run, driver.Work{Agents: noop{}})
		if err != nil || res.Usage.Steps != steps+1 {
			b.Fatalf("%d steps, %v", res.Usage.Steps, err)
		}
	}
}
