package temporal_test

import (
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
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
