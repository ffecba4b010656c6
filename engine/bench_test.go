package engine_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// The benchmarks drive whole runs with a driver that answers at once, and report
// the time and the allocations of one step: one task from its start to its end.
// Compiling the workflow is not part of a step.

func BenchmarkChain1000(b *testing.B)   { benchmarkRun(b, chain(1000), 1000, nil) }
func BenchmarkChain100000(b *testing.B) { benchmarkRun(b, chain(100000), 100000, nil) }

func BenchmarkChainOfReferences(b *testing.B) {
	bundle := chain(1000)
	for i := range bundle.Root.Body.Nodes {
		n := &bundle.Root.Body.Nodes[i]
		n.Output.Var = fmt.Sprintf("v%d", i)
		if i > 0 {
			n.Step.(*workflow.Task).Prompt.Text = fmt.Sprintf("go on from ${vars.v%d}", i-1)
		}
	}
	benchmarkRun(b, bundle, 1000, nil)
}

func BenchmarkFanOut10000(b *testing.B) {
	w := &workflow.Workflow{Name: "wide"}
	for i := range 10000 {
		id := fmt.Sprintf("n%d", i)
		w.Body.Nodes = append(w.Body.Nodes, workflow.Node{ID: id, Step: &workflow.Task{Agent: "x"}})
		w.Body.Edges = append(w.Body.Edges, workflow.Edge{From: id, To: "join"})
	}
	w.Body.Nodes = append(w.Body.Nodes, workflow.Node{ID: "join", Step: &workflow.Task{Agent: "x"}})
	benchmarkRun(b, &workflow.Bundle{Root: w}, 10001, nil)
}

func BenchmarkEach10000(b *testing.B) {
	w := &workflow.Workflow{Name: "each", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "scan", Step: &workflow.Each{
		Items: workflow.Expr{Text: "inputs.items"},
		Body:  workflow.Graph{Nodes: []workflow.Node{{ID: "scan", Step: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: "${item}"}}}}},
	}}}}}
	items := make([]any, 10000)
	for i := range items {
		items[i] = "x"
	}
	benchmarkRun(b, &workflow.Bundle{Root: w}, 10000, map[string]any{"items": items})
}

func BenchmarkLoop10000(b *testing.B) {
	w := &workflow.Workflow{Name: "loop", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "loop", Step: &workflow.Loop{Max: 10000, Body: workflow.Graph{
		Nodes: []workflow.Node{{ID: "work", Step: &workflow.Task{Agent: "x"}}},
		Edges: []workflow.Edge{
			{From: "work", To: workflow.Again, On: workflow.OnWhen, When: workflow.Expr{Text: "iteration < 10000"}},
			{From: "work", To: workflow.End, On: workflow.OnElse},
		},
	}}}}}}
	benchmarkRun(b, &workflow.Bundle{Root: w}, 10000, nil)
}

func BenchmarkNesting5(b *testing.B) {
	bundle := &workflow.Bundle{Called: map[string]*workflow.Workflow{}}
	inner := chain(1000).Root
	inner.Name = "w5"
	bundle.Called["w5"] = inner
	for i := 4; i >= 1; i-- {
		w := &workflow.Workflow{Name: fmt.Sprintf("w%d", i), Body: workflow.Graph{Nodes: []workflow.Node{{ID: "call", Step: &workflow.Call{Workflow: fmt.Sprintf("w%d", i+1)}}}}}
		bundle.Called[w.Name] = w
		bundle.Root = w
	}
	benchmarkRun(b, bundle, 1000, nil)
}

// benchmarkRun times a shape, alternating with a chain of 1,000 tasks. It reports the medians of
// the shape, and two factors, because the way in which a short run is timed matters: a single chain
// ends before the first garbage collection.
//
//   - x-chain: the shape and the chain over at least 10,000 steps at once, in
//     several runs where one is shorter, so that both pay for collecting garbage;
//   - x-lone-chain: one run of the shape against one run of the chain.
//
// A factor is the median over all turns, so that a busy minute, which slows both, does not affect
// it.
func benchmarkRun(b *testing.B, bundle *workflow.Bundle, steps int, inputs map[string]any) {
	b.Helper()
	short := shape{compiled: compiled(b, chain(1000)), steps: 1000}
	it := shape{compiled: compiled(b, bundle), steps: steps, inputs: inputs}
	var costs [3]samples
	var factors, loneFactors samples
	for b.Loop() {
		alone := it.time(b, 1)
		together := alone
		if steps < 10000 {
			together = it.time(b, 10000/steps)
		}
		factors = append(factors, together[0]/short.time(b, 10)[0])
		var lone samples // a single run takes a millisecond, so any other program would affect it
		for range 5 {
			lone = append(lone, short.time(b, 1)[0])
		}
		loneFactors = append(loneFactors, alone[0]/lone.median())
		for i := range costs {
			costs[i] = append(costs[i], together[i])
		}
	}
	for i, unit := range []string{"ns/step", "allocs/step", "B/step"} {
		b.ReportMetric(costs[i].median(), unit)
	}
	b.ReportMetric(factors.median(), "x-chain")
	b.ReportMetric(loneFactors.median(), "x-lone-chain")
	b.ReportMetric(0, "ns/op")
}

func compiled(b *testing.B, bundle *workflow.Bundle) *engine.Run {
	b.Helper()
	run, err := engine.New(bundle)
	if err != nil {
		b.Fatal(err)
	}
	return run
}

// shape is a workflow whose runs are timed.
type shape struct {
	compiled *engine.Run
	steps    int
	inputs   map[string]any
}

// time times a number of runs, one after the other, all of which stay in memory. It returns the
// nanoseconds, the allocations and the bytes per step.
func (s shape) time(b *testing.B, n int) [3]float64 {
	b.Helper()
	runs := make([]*engine.Run, n)
	for i := range runs {
		runs[i] = s.compiled.Fresh()
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	for _, run := range runs {
		if n := drive(b, run, s.inputs); n != s.steps {
			b.Fatalf("%d steps ran, want %d", n, s.steps)
		}
	}
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	per := 1 / float64(n*s.steps)
	return [3]float64{float64(elapsed.Nanoseconds()) * per, float64(after.Mallocs-before.Mallocs) * per, float64(after.TotalAlloc-before.TotalAlloc) * per}
}

type samples []float64

func (s samples) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[len(sorted)/2]
}

// drive answers every task at once and returns the number of tasks.
func drive(b *testing.B, run *engine.Run, inputs map[string]any) int {
	b.Helper()
	now := time.Unix(1e9, 0)
	commands, err := run.Step(engine.Envelope{Time: now, Event: &engine.Started{Run: "bench", Version: engine.Version, Inputs: inputs, Limits: workflow.Limits{Parallel: 100}}})
	if err != nil {
		b.Fatal(err)
	}
	var open []*engine.StartTask
	steps, finished := 0, false
	for {
		for _, c := range commands {
			if start, ok := c.(*engine.StartTask); ok {
				open = append(open, start)
			} else if end, ok := c.(*engine.Finish); ok {
				finished = end.Status == engine.Success
			}
		}
		if len(open) == 0 {
			break
		}
		c := open[len(open)-1]
		open = open[:len(open)-1]
		steps++
		now = now.Add(time.Microsecond)
		if commands, err = run.Step(engine.Envelope{Time: now, Event: &engine.TaskEnded{Address: c.Address, Attempt: c.Attempt, Output: "done"}}); err != nil {
			b.Fatal(err)
		}
	}
	if !finished {
		b.Fatalf("the run ended as %s: %s", run.Result().Status, run.Result().Error)
	}
	return steps
}

// chain is a workflow of n tasks one after the other.
func chain(n int) *workflow.Bundle {
	w := &workflow.Workflow{Name: "chain"}
	for i := range n {
		w.Body.Nodes = append(w.Body.Nodes, workflow.Node{ID: fmt.Sprintf("n%d", i), Step: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: "do it"}}})
		if i > 0 {
			w.Body.Edges = append(w.Body.Edges, workflow.Edge{From: fmt.Sprintf("n%d", i-1), To: fmt.Sprintf("n%d", i)})
		}
	}
	return &workflow.Bundle{Root: w}
}
