package temporal_test

import (
	"context"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// TestUntakenStep: a step that no worker has taken yet waits, also before the run has recorded that.
func TestUntakenStep(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{
		".hocket/agents/gpu.yml":     "agent: shell\nqueue: gpu\n",
		".hocket/workflows/here.yml": "name: here\nsteps:\n  - {id: a, agent: gpu, config: {command: echo a}}\n",
	})
	starter, one := c.machine(nil), c.machine(nil)
	one.work(t, hocket.Worker{Name: "one"})
	r, wait := starter.start(t, "here", hocket.Front{})
	for began := time.Now(); ; {
		s, err := r.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Result.Steps) > 0 && s.Result.Steps[0].Status == engine.Waiting && s.Seq < 3 { // the third event is Queued
			break
		}
		if s.Seq >= 3 {
			t.Skip("the machine is so slow that the run has recorded it already")
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%+v, want a step that waits for a worker", s)
		}
	}
	starter.work(t, hocket.Worker{Name: "two", Queues: []string{"gpu"}})
	if res, err := wait(); err != nil || res.Status != engine.Success {
		t.Errorf("%+v %v", res, err)
	}
}

// TestUntakenInAnOldPlan: a step that no worker had taken when the run got a new plan goes on in it, also if its worker does not run the
// workflow.
func TestUntakenInAnOldPlan(t *testing.T) {
	needsServer(t)
	t.Parallel()
	d := employed(t, driver.Worker{Name: "one"}, echo)
	pin := func(steps ...workflow.Node) *driver.Pin {
		return &driver.Pin{Bundle: chain(steps...), Sites: map[string]driver.Site{"long/n1": {Queue: "gpu"}}}
	}
	if _, err := d.Start(t.Context(), driver.Spec{Run: "run-1", Pin: pin(task("n1")), Limits: workflow.Limits{Steps: 100, Parallel: 10}}); err != nil {
		t.Fatal(err)
	}
	until := func(what string, holds func(driver.Info) bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			i, err := d.Info(t.Context(), "run-1")
			if err == nil && holds(i) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("not soon: %s: %+v %v", what, i, err)
			}
		}
	}
	until("the step is asked for", func(i driver.Info) bool { return len(i.Untaken) > 0 })
	if _, err := d.Replan(t.Context(), "run-1", driver.Replan{Pin: pin(task("n1"), task("n2"))}); err != nil {
		t.Fatal(err)
	}
	until("the run has recorded that the step waits", func(i driver.Info) bool { return i.Status == engine.Waiting })
	joins(t, d, driver.Worker{Name: "two", Queues: []string{"gpu"}}, echo)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var lacks string
	if res, err := d.Drive(ctx, "run-1", driver.Work{Stalled: func(why string) { lacks = why }}); err != nil || res.Status != engine.Success {
		t.Errorf("%s %v; it lacks %q", outline(res), err, lacks)
	}
}
