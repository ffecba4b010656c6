package local_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

const longOutput = 512 << 10

// heap tracks the largest heap size at the sampled moments.
type heap struct {
	mu    sync.Mutex
	start uint64
	most  uint64
}

func newHeap() *heap {
	h := &heap{}
	h.look()
	h.start = h.most
	return h
}

func (h *heap) look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	runtime.GC()
	runtime.GC() // free what pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.most = max(h.most, m.HeapAlloc)
}

// bounded fails the test if many long outputs were in memory at once.
func (h *heap) bounded(t *testing.T, when string) {
	t.Helper()
	h.look()
	if used := int64(h.most) - int64(h.start); used > 20*longOutput {
		t.Errorf("%s: %d MB are in use", when, used>>20)
	}
}

// rounds returns a loop that passes long outputs on in every way: as the incoming value
// of a step, by reference, and through a choice, a call, a for_each and a combine.
func rounds(n int) *workflow.Bundle {
	text := func(s string) workflow.Template { return workflow.Template{Text: s} }
	given := []workflow.Binding{{Name: "given", Value: "${nodes.make.output}"}}
	body := workflow.Graph{
		Nodes: []workflow.Node{
			{ID: "make", Step: &workflow.Task{Agent: "x", Prompt: text("make")}, Output: workflow.Output{Var: "made"}},
			{ID: "choose", Step: &workflow.Choice{}},
			{ID: "reach", Step: &workflow.Task{Agent: "x", Prompt: text("take what came")}},
			{ID: "refer", Step: &workflow.Task{Agent: "x", Prompt: text("take ${vars.made}")}},
			{ID: "read", Step: &workflow.Task{Agent: "x", Prompt: text("make JSON")}, Output: workflow.Output{Mode: workflow.JSON}},
			{ID: "call", Step: &workflow.Call{Workflow: "child", Inputs: given}},
			{ID: "all", Step: &workflow.Combine{Strategy: workflow.Concatenate, Inputs: []workflow.Expr{{Text: "nodes.make.output"}, {Text: "nodes.call.output"}}}},
			{ID: "each", Step: &workflow.Each{Items: workflow.Expr{Text: "inputs.items"}, Body: chain(task("each", "make ${item}")).Root.Body}},
			{ID: "end", Step: &workflow.Task{Agent: "x", Prompt: text("end")}},
		},
	}
	for i, node := range body.Nodes[1:] {
		body.Edges = append(body.Edges, workflow.Edge{From: body.Nodes[i].ID, To: node.ID})
	}
	body.Edges = append(body.Edges,
		workflow.Edge{From: "end", To: workflow.End, On: workflow.OnWhen, When: workflow.Expr{Text: fmt.Sprintf("iteration == %d", n)}},
		workflow.Edge{From: "end", To: workflow.Again, On: workflow.OnElse})
	b := chain(workflow.Node{ID: "loop", Step: &workflow.Loop{Body: body, Max: n}})
	b.Called = map[string]*workflow.Workflow{"child": chain(task("inner", "make of ${inputs.given}")).Root}
	b.Called["child"].Name = "child"
	return b
}

// giving returns an agent that returns long outputs and samples the heap at every
// attempt.
func giving(h *heap, at func(address string)) agentFunc {
	return func(ctx context.Context, task *engine.StartTask, _ agent.Log) driver.Outcome {
		h.look()
		at(task.Address)
		switch {
		case ctx.Err() != nil:
			return driver.Outcome{}
		case task.Node == "end":
			return driver.Outcome{Output: "done"}
		case task.Node == "read":
			return driver.Outcome{Output: `{"text": "` + outputOf(task.Address) + `"}`}
		}
		return driver.Outcome{Output: outputOf(task.Address)}
	}
}

// outputOf returns the output of a step, different for each.
func outputOf(address string) string {
	return address + strings.Repeat(".", longOutput-len(address))
}

// However many long outputs a run has had, only a few are in memory at once: while it is
// driven, when it resumes, and when it is shown.
func TestMemoryIsBoundedByWhatIsAlive(t *testing.T) {
	const n = 10 // each has 8 long outputs
	s, h := openStore(t), newHeap()
	start := spec(rounds(n))
	start.Limits, start.Inputs = workflow.Limits{Parallel: 2}, map[string]any{"items": []any{"a", "b"}}
	ctx, stop := context.WithCancel(t.Context())
	_, err := startRun(ctx, s, start, work{Agents: giving(h, func(address string) {
		if strings.HasPrefix(address, "reach#8") {
			stop()
		}
	})})
	if !errors.As(err, new(*driver.InterruptedError)) {
		t.Fatalf("the run was not interrupted: %v", err)
	}
	h.bounded(t, "while it was driven")

	h = newHeap()
	err = with(s, work{}, func(d *local.Driver) error {
		res, err := d.Drive(t.Context(), "demo-1", driver.Work{Agents: giving(h, func(string) {})})
		if err != nil || res.Status != engine.Success {
			t.Fatalf("%s: %s, %v", res.Status, res.Error, err)
		}
		h.bounded(t, "when it was taken up")
		checkLong(t, h, res, n)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	h = newHeap()
	err = with(s, work{}, func(d *local.Driver) error {
		load := func(seq int) (string, error) { return d.Output(t.Context(), "demo-1", seq) }
		pin, err := d.Pin(t.Context(), "demo-1")
		if err != nil {
			return err
		}
		run, err := driver.Replay("demo-1", pin.Bundle, load, d.Events(t.Context(), "demo-1", 0, false), nil)
		if err != nil {
			return err
		}
		checkLong(t, h, run.Result(), n)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.bounded(t, "when it was shown")
}

// checkLong checks the long outputs of the steps one by one.
func checkLong(t *testing.T, h *heap, res engine.Result, rounds int) {
	t.Helper()
	long := 0
	for i, step := range res.Steps {
		value, err := step.Value()
		if err != nil {
			t.Fatal(err)
		}
		want := outputOf(step.Address)
		switch step.Node {
		case "end":
			continue
		case "read":
			value = value.(map[string]any)["text"]
		case "call":
			want = outputOf(step.Address + "/inner")
		case "all":
			iteration := strings.TrimPrefix(step.Address, "all")
			want = outputOf("make"+iteration) + "\n\n" + outputOf("call"+iteration+"/inner")
		}
		if value != want {
			t.Fatalf("%s gave %.100q", step.Address, workflow.FormatText(value))
		}
		if _, ok := step.Output.(*engine.Long); ok {
			long++
		}
		if i%10 == 0 {
			h.look()
		}
	}
	if want := 9 * rounds; long != want {
		t.Errorf("%d outputs were left out, want %d", long, want)
	}
	h.bounded(t, "with all results")
}

// An unreadable long output stops a run where it is needed, with an error that names its
// location. The run continues when the output is readable again.
func TestUnreadableOutput(t *testing.T) {
	for _, prompt := range []string{"of ${nodes.a.output}", "of what came"} {
		t.Run(prompt, func(t *testing.T) {
			s := openStore(t)
			b := chain(task("a", "x"), workflow.Node{ID: "b", Step: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: prompt}}})
			var got string
			ctx, stop := context.WithCancel(t.Context())
			agents := agentFunc(func(attempt context.Context, task *engine.StartTask, _ agent.Log) driver.Outcome {
				if task.Node == "a" {
					return driver.Outcome{Output: outputOf("a")}
				}
				if ctx.Err() == nil {
					stop()
					<-attempt.Done()
					return driver.Outcome{}
				}
				if got = strings.TrimPrefix(task.Prompt, "of "); len(task.Received) > 0 {
					got = task.Received[0].Output.(string)
				}
				return driver.Outcome{Output: "fine"}
			})
			if _, err := startRun(ctx, s, spec(b), work{Agents: agents}); !errors.As(err, new(*driver.InterruptedError)) {
				t.Fatalf("the run was not interrupted: %v", err)
			}
			changeSnapshots(t, s.Dir(), "UPDATE blobs SET data = '!' || substr(data, 2)")
			for range 2 {
				_, err := driveRun(t.Context(), s, "demo-1", work{Agents: agents})
				if !errors.As(err, new(*engine.LoadError)) || !journal.IsProblem(err, journal.Corrupt) {
					t.Fatalf("it gives %v", err)
				}
				for _, part := range []string{"run demo-1", `"a"`, "event 2"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q does not have %q", err, part)
					}
				}
			}
			if info, err := s.Find(t.Context(), "demo-1"); err != nil || info.Problem != "" || got != "" {
				t.Errorf("%+v, %v; b was given %.20q", info, err, got)
			}
			changeSnapshots(t, s.Dir(), "UPDATE blobs SET data = 'a' || substr(data, 2)")
			if res := resume(t, s, work{Agents: agents}); res.Status != engine.Success || got != outputOf("a") {
				t.Errorf("%s %s; b was given %.20q", res.Status, res.Error, got)
			}
		})
	}
}

// A fork whose next step needs an unreadable output can be retried later.
func TestForkOfUnreadableOutput(t *testing.T) {
	s := openStore(t)
	agents := agentFunc(func(_ context.Context, task *engine.StartTask, _ agent.Log) driver.Outcome {
		if task.Node == "a" {
			return driver.Outcome{Output: outputOf("a")}
		}
		return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "no"}}
	})
	b := chain(task("a", "x"), task("b", "y"), workflow.Node{ID: "c", Step: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: "of ${nodes.a.output}"}}})
	start(t, s, b, work{Agents: agents})
	changeSnapshots(t, s.Dir(), "UPDATE blobs SET data = '!' || data")
	output := "given"
	_, err := forkRun(t.Context(), s, driver.ForkSpec{From: "demo-1", Address: "b", Output: &output})
	if !errors.As(err, new(*engine.LoadError)) || errors.As(err, new(*driver.RefusedError)) {
		t.Errorf("it gives %v", err)
	}
}

// A fork refers to the long outputs of the run that it repeats: it reads none of them,
// and keeps them when that run is deleted.
func TestForkReadsNoLongOutputs(t *testing.T) {
	s := openStore(t)
	agents := giving(newHeap(), func(string) {})
	start(t, s, chain(task("a", "x"), task("b", "y"), gate("ok", "yes")), work{Agents: agents})
	changeSnapshots(t, s.Dir(), "UPDATE blobs SET data = '!' || data")
	run, err := forkRun(t.Context(), s, driver.ForkSpec{From: "demo-1", Address: "ok"})
	if err != nil {
		t.Fatal(err)
	}
	changeSnapshots(t, s.Dir(), "UPDATE blobs SET data = substr(data, 2)")
	err = with(s, work{}, func(d *local.Driver) error {
		if err := d.Delete(t.Context(), "demo-1"); err != nil {
			return err
		}
		res, err := d.Drive(t.Context(), run, driver.Work{Agents: agents})
		if err != nil {
			return err
		}
		for _, step := range res.Steps[:2] {
			if value, err := step.Value(); err != nil || value != outputOf(step.Address) {
				t.Errorf("%s gave %.20q, %v", step.Address, value, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
