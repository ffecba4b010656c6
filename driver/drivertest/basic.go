package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func sequence(t *scene, w World) {
	d := open(t, w, echo)
	s := starting(bundle(chain(task("a", "one ${inputs.x}"), task("b", "two ${nodes.a.output}"), task("c", "three ${nodes.b.output}"))))
	s.Inputs = map[string]any{"x": "zero"}
	want(t, start(t, d, s),
		`success "three two one zero"`,
		`a success "one zero"`,
		`b success "two one zero"`,
		`c success "three two one zero"`)
}

// order: when an attempt starts, the events that led to it are already recorded, with the
// same values.
func order(t *scene, w World) {
	b := bundle(chain(task("a", "one ${inputs.x}"), task("b", "two ${nodes.a.output}")))
	other := open(t, w, echo)
	d := open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
		evs, err := other.Events(ctx, runID)
		r, broken := engine.New(b)
		if err != nil || broken != nil {
			t.Error(err, broken)
			return Outcome{}
		}
		for _, e := range evs {
			if _, err := r.Step(e); err != nil {
				t.Error(err)
			}
		}
		caused := slices.ContainsFunc(r.Pending(), func(c engine.Command) bool {
			start, ok := c.(*engine.StartTask)
			return ok && start.Key(runID) == task.Key(runID) && start.Prompt == task.Prompt
		})
		if !caused {
			t.Errorf("%s begins after %d events, and these do not lead to it", task.Key(runID), len(evs))
		}
		return echo(ctx, task)
	})
	s := starting(b)
	s.Inputs = map[string]any{"x": []float64{1e21, 1}} // which a replay reads in another form
	if res := start(t, d, s); res.Status != engine.Success {
		t.Errorf("%s", outline(res))
	}
}

func fanOut(t *scene, w World) {
	const items, parallel = 20, 4
	var now, begun atomic.Int32
	full := make(chan struct{})
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		if n := now.Add(1); n > parallel {
			t.Errorf("%d attempts run at once, want %d at most", n, parallel)
		}
		defer now.Add(-1)
		if begun.Add(1) == parallel {
			close(full)
		}
		await(t, "as many attempts at once as the limit allows", full)
		return Outcome{Output: task.Prompt}
	})
	each := workflow.Node{ID: "scan", Step: &workflow.Each{Items: workflow.Expr{Text: "inputs.items"}, Body: chain(task("scan", "item ${item}"))}}
	s := starting(bundle(chain(each)))
	s.Limits.Parallel = parallel
	var list []any
	var outputs []string
	for i := range items {
		list = append(list, fmt.Sprint(i))
		outputs = append(outputs, fmt.Sprintf("%q", fmt.Sprintf("item %d", i)))
	}
	s.Inputs = map[string]any{"items": list}
	res := start(t, d, s)
	if got, want := workflow.FormatJSON(res.Output), "["+strings.Join(outputs, ",")+"]"; got != want {
		t.Errorf("output %s, want %s", got, want)
	}
	if n := count[*engine.TaskEnded](t, d); n != items {
		t.Errorf("%d results are recorded, want %d", n, items)
	}
}

func failures(t *scene, w World) {
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		switch task.Node {
		case "error":
			return Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "boom"}}
		case "permanent":
			return Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "never", Permanent: true}}
		case "timeout":
			return Outcome{Fault: &engine.Fault{Kind: engine.FaultTimeout, Message: "too slow"}}
		case "bytes":
			return Outcome{Output: "not \xff UTF-8", Usage: engine.Usage{CostUSD: math.NaN()}}
		default:
			return Outcome{Output: "not json"}
		}
	})
	nodes := []workflow.Node{task("error", ""), task("permanent", ""), task("timeout", ""), task("json", ""), task("bytes", "")}
	for i := range nodes {
		nodes[i].OnError = workflow.Continue
	}
	nodes[1].Retry = workflow.Retry{Attempts: 5}
	nodes[3].Output.Mode = workflow.JSON
	res := start(t, d, starting(bundle(chain(nodes...))))
	statuses := map[string]engine.Status{"error": engine.Failed, "permanent": engine.Failed, "timeout": engine.TimedOut, "json": engine.Failed, "bytes": engine.Success}
	for _, s := range res.Steps {
		if s.Status != statuses[s.Node] || s.Attempts != 1 {
			t.Errorf("%s: %s after %d attempts (%s)", s.Address, s.Status, s.Attempts, s.Error)
		}
	}
	if res.Status != engine.Partial || !res.Usage.CostUnknown {
		t.Errorf("the run is %s and has used %+v", res.Status, res.Usage)
	}
}

// panics: a panic in an agent is a failed attempt, and is retried.
func panics(t *scene, w World) {
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		switch task.Attempt {
		case 1:
			panic("a defect of an agent")
		case 2:
			runtime.Goexit()
		}
		return Outcome{Output: "fine"}
	})
	n := task("a", "")
	n.Retry.Attempts = 3
	want(t, start(t, d, starting(bundle(chain(n)))), `success "fine"`, `a success "fine"`)
}

func retries(t *scene, w World) {
	var seen calls
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		if task.Attempt < 3 {
			return Outcome{Output: "x", Fault: &engine.Fault{Kind: engine.FaultError, Message: fmt.Sprint("failure ", task.Attempt)}}
		}
		return Outcome{Output: "fine"}
	})
	n := task("a", "")
	n.Retry = workflow.Retry{Attempts: 3, Backoff: workflow.Linear, Delay: 20 * time.Millisecond}
	before := time.Now()
	res := start(t, d, starting(bundle(chain(n))))
	want(t, res, `success "fine"`, `a success "fine"`)
	if took := time.Since(before); took < 50*time.Millisecond { // 20 and 40, less a tenth
		t.Errorf("two delays took %s", took)
	}
	if res.Steps[0].Attempts != 3 {
		t.Errorf("%d attempts", res.Steps[0].Attempts)
	}
	for _, key := range seen.all() {
		if seen.count(key) != 1 {
			t.Errorf("key %s was used for several attempts", key)
		}
	}
}

func quota(t *scene, w World) {
	var n atomic.Int32
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		if n.Add(1) == 1 {
			return Outcome{Fault: &engine.Fault{Kind: engine.FaultQuota, Message: "not now", Until: time.Now().Add(50 * time.Millisecond)}}
		}
		return Outcome{Output: fmt.Sprint("attempt ", task.Attempt)}
	})
	want(t, start(t, d, starting(bundle(chain(task("a", ""))))), `success "attempt 1"`, `a success "attempt 1"`)
}

// untilDone works until its context is done.
func untilDone(ctx context.Context, _ *engine.StartTask) Outcome {
	<-ctx.Done()
	return Outcome{Fault: &engine.Fault{Kind: engine.FaultCancelled, Message: context.Cause(ctx).Error()}}
}

func attemptTimesOut(t *scene, w World) {
	d := open(t, w, untilDone)
	n := task("slow", "")
	n.Timeout = 30 * time.Millisecond
	res := start(t, d, starting(bundle(chain(n, task("after", "")))))
	if res.Status != engine.Failed || res.Steps[0].Status != engine.TimedOut {
		t.Errorf("%s", outline(res))
	}
}

func runTimesOut(t *scene, w World) {
	d := open(t, w, untilDone)
	s := starting(bundle(chain(task("slow", ""), task("after", ""))))
	s.Limits.Runtime = 50 * time.Millisecond
	if res := start(t, d, s); res.Status != engine.TimedOut {
		t.Errorf("%s", outline(res))
	}
}

func cancelWhileDriven(t *scene, w World) {
	began := make(chan struct{})
	d := open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
		close(began)
		return untilDone(ctx, task)
	})
	s := starting(bundle(chain(task("a", ""), task("b", ""))))
	call := goStart(t, d, s)
	await(t, "the attempt", began)
	other := open(t, w, echo)
	if err := other.Cancel(t.Context(), runID, "enough"); err != nil {
		t.Fatal(err)
	}
	res, err := call.wait(t)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, d, s.Bundle, res)
	want(t, res, `cancelled null (cancelled: enough)`, `a cancelled null`, `b skipped null`)
	if err := other.Cancel(t.Context(), runID, "again"); err == nil {
		t.Error("a run that had ended was cancelled")
	}
}

func cancelWhileIdle(t *scene, w World) {
	d := open(t, w, echo)
	b := bundle(chain(task("a", "x"), gate("ok", "yes"), task("b", "y")))
	if res := start(t, d, starting(b)); res.Status != engine.Waiting {
		t.Fatalf("%s", outline(res))
	}
	if err := d.Cancel(t.Context(), runID, "enough"); err != nil {
		t.Fatal(err)
	}
	want(t, resume(t, d, b), `cancelled null (cancelled: enough)`, `a success "x"`, `ok cancelled null`, `b skipped null`)
}

// interrupt: an interrupted attempt is not recorded and runs again under its key. When Drive
// returns, no part of it is running.
func interrupt(t *scene, w World) {
	if !w.Traits().StopsWithCaller {
		t.Skip("attempts are made elsewhere, and go on")
	}
	var seen calls
	began := make(chan struct{}, 2)
	var again, left atomic.Bool
	d := open(t, w, func(ctx context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		if task.Node == "slow" && !again.Load() {
			began <- struct{}{}
			left.Store(true)
			defer left.Store(false)
			out := untilDone(ctx, task)
			time.Sleep(20 * time.Millisecond) // it takes a moment to stop
			return out
		}
		return Outcome{Output: task.Node}
	})
	s := starting(bundle(chain(task("quick", ""), task("slow", ""))))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-began
		cancel(errors.New("the lid was closed"))
	}()
	if res, err := d.Start(ctx, s); !errors.As(err, new(*driver.InterruptedError)) {
		t.Fatalf("an interrupted driver returned %s, %v", outline(res), err)
	}
	if left.Load() {
		t.Error("Drive has returned, and an attempt still runs")
	}
	if n := count[*engine.TaskEnded](t, d); n != 1 {
		t.Errorf("%d results are recorded, want 1", n)
	}
	again.Store(true)
	want(t, resume(t, d, s.Bundle), `success "slow"`, `quick success "quick"`, `slow success "slow"`)
	for key, n := range map[string]int{"quick@1": 1, "slow@1": 2} {
		if seen.count(key) != n {
			t.Errorf("%s was made %d times, want %d; all: %v", key, seen.count(key), n, seen.all())
		}
	}
}

// leave: a driver that leaves lets attempts end, records their results and starts nothing new. The
// next one continues with the first attempt of what follows, even if that may run only once.
func leave(t *scene, w World) {
	var seen calls
	began, mayEnd, leaves := make(chan struct{}), make(chan struct{}), make(chan struct{})
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		if task.Node == "slow" {
			close(began)
			<-mayEnd
		}
		return Outcome{Output: task.Node}
	})
	d.work.Leave = leaves
	once := task("once", "")
	once.Once = true
	s := starting(bundle(chain(task("slow", ""), once, task("last", ""))))
	go func() {
		<-began
		close(leaves)
		time.Sleep(20 * time.Millisecond) // the driver notices
		close(mayEnd)
	}()
	if res, err := d.Start(t.Context(), s); !errors.As(err, new(*driver.InterruptedError)) {
		t.Fatalf("a driver that leaves returned %s, %v", outline(res), err)
	}
	if n := count[*engine.TaskEnded](t, d); n != 1 || seen.count("once@1") != 0 {
		t.Errorf("%d results are recorded, want 1; all: %v", n, seen.all())
	}
	d.work.Leave = nil
	want(t, resume(t, d, s.Bundle), `success "last"`, `slow success "slow"`, `once success "once"`, `last success "last"`)
	for _, key := range []string{"slow@1", "once@1", "last@1"} {
		if seen.count(key) != 1 {
			t.Errorf("%s was made %d times; all: %v", key, seen.count(key), seen.all())
		}
	}
}

// over: a finished run does not change.
func over(t *scene, w World) {
	var seen calls
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		seen.note(task)
		return Outcome{Output: "x"}
	})
	b := bundle(chain(task("a", "")))
	first := start(t, d, starting(b))
	n := len(events(t, d))
	second := resume(t, d, b)
	if outline(first) != outline(second) || len(events(t, d)) != n || len(seen.all()) != 1 {
		t.Errorf("resuming a run that is over changed it: %s", outline(second))
	}
}
