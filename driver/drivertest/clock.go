package drivertest

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// wall is a wall clock that can be set.
type wall struct{ ahead atomic.Int64 }

func (w *wall) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func (w *wall) set(ahead time.Duration) { w.ahead.Store(int64(ahead)) }

// clockSet: whatever happens to wall clocks, and whichever machine continues, the times
// of a run never go back, and durations are unaffected. [agree] checks the times.
func clockSet(t *scene, w World) {
	var clock wall
	work := func(ctx context.Context, task *engine.StartTask) Outcome {
		clock.set([]time.Duration{-2 * time.Hour, 5 * time.Hour, -5 * time.Hour}[task.Attempt-1])
		select {
		case <-ctx.Done():
			t.Errorf("attempt %d is told to end before its time is over: %v", task.Attempt, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond): // long enough for a faulty timer to fire
		}
		if task.Attempt < 3 {
			return Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "not yet"}}
		}
		return Outcome{Output: task.Node}
	}
	n := task("a", "")
	n.Timeout, n.Retry = time.Hour, workflow.Retry{Attempts: 3, Delay: 20 * time.Millisecond}
	b := bundle(chain(n, gate("ok", "yes"), task("b", "")))
	d := openAt(t, w, clock.now, work)
	res := start(t, d, starting(b))
	if res.Status != engine.Waiting || res.Steps[0].Status != engine.Success || res.Steps[0].DurationMS > time.Hour.Milliseconds() {
		t.Fatalf("%s\nin %d ms", outline(res), res.Steps[0].DurationMS)
	}
	d.Kill()
	next := openAt(t, w, clock.now, echo)
	if err := next.Answer(t.Context(), runID, "ok", "yes"); err != nil {
		t.Fatal(err)
	}
	if res := resume(t, next, b); res.Status != engine.Success {
		t.Errorf("%s", outline(res))
	}
}

// hours is the time of the runs of a world.
type hours struct {
	wall
	began time.Time
	hour  time.Duration // how long one takes; zero: it is set
}

func hoursIn(w World) *hours { return &hours{began: time.Now(), hour: w.Traits().Hour} }

// last returns how long a number of hours take.
func (h *hours) last(n float64) time.Duration {
	return time.Duration(n * float64(cmp.Or(h.hour, time.Hour)))
}

// pass lets time pass until a number of hours after the beginning.
func (h *hours) pass(n float64) {
	if h.hour == 0 {
		h.set(h.last(n))
		return
	}
	time.Sleep(time.Until(h.began.Add(h.last(n))))
}

// asksUntil returns a workflow that waits for an answer.
func asksUntil(timeout time.Duration) *workflow.Bundle {
	ok := gate("ok", "yes")
	ok.Timeout = timeout
	return bundle(workflow.Graph{
		Nodes: []workflow.Node{ok, task("go", "went"), task("late", "too late")},
		Edges: []workflow.Edge{{From: "ok", To: "go"}, {From: "ok", To: "late", On: workflow.OnTimeout}},
	})
}

// deadline: an answer counts from the moment it was given, however late the run
// continues. An answer after the deadline is refused, even if the run is not driven.
func deadline(t *scene, w World) {
	for _, c := range []struct {
		run   string
		given float64 // hours since the beginning
		then  string
	}{{"in-time", 0.5, "went"}, {"late", 1.5, "too late"}} {
		clock := hoursIn(w)
		d := openAt(t, w, clock.now, echo)
		d.work.Patience = clock.last(0.1)
		s := starting(asksUntil(clock.last(1)))
		s.Run = c.run
		if res, err := d.Start(t.Context(), s); err != nil || res.Status != engine.Waiting {
			t.Fatalf("%s, %v", outline(res), err)
		}
		clock.pass(c.given)
		err := d.Answer(t.Context(), c.run, "ok", "yes")
		if refused := errors.As(err, new(*driver.RefusedError)); refused != (c.run == "late") || err != nil && !refused {
			t.Errorf("%s: the answer gives %v", c.run, err)
		}
		clock.pass(2)
		if res, err := d.Resume(t.Context(), c.run); err != nil || res.Output != c.then {
			t.Errorf("%s: %s, %v", c.run, outline(res), err)
		}
	}
}

// patience: Drive returns if a run only waits for a distant time. Otherwise it continues
// when the wall clock reaches that time, even if the clock is changed.
func patience(t *scene, w World) {
	clock := hoursIn(w)
	d := openAt(t, w, clock.now, echo)
	d.work.Patience = clock.last(0.2)
	b := asksUntil(clock.last(1))
	if res := start(t, d, starting(b)); res.Status != engine.Waiting {
		t.Errorf("an hour is far: %s", outline(res))
	}
	d.work.Patience = clock.last(2)
	call := goCall(func() (engine.Result, error) { return d.Resume(t.Context(), runID) })
	other := open(t, w, echo)
	eventually(t, "the driver to wait", func() bool {
		i, err := other.raw.Info(t.Context(), runID)
		return err == nil && i.Driven && i.Status == engine.Waiting
	})
	clock.pass(1)
	if res, err := call.wait(t); err != nil || res.Output != "too late" {
		t.Errorf("an hour is near: %s, %v", outline(res), err)
	}
}
