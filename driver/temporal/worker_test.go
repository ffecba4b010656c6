package temporal

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// A worker goes on with its other runs while it frees what an idle one was driven with.
func TestIdlePlan(t *testing.T) {
	c := (&Driver{}).newCrew(driver.Worker{Resolve: anything})
	c.issue("run-2", command{pin: &driver.Pin{}, task: &engine.StartTask{}})
	goesOn := false
	c.plans[planKey{run: "run-1"}] = &plan{used: time.Now().Add(-2 * idleFor), ends: []func(){func() {
		if goesOn = c.mu.TryLock(); goesOn {
			c.mu.Unlock()
		}
	}}}
	_, done, err := c.plan(t.Context(), "run-2", "")
	if err != nil {
		t.Fatal(err)
	}
	done()
	if !goesOn || len(c.plans) != 1 {
		t.Errorf("goes on: %t, with %d plans", goesOn, len(c.plans))
	}
}

// leaving notes what a crew knows about a run that leaves it.
type leaving struct {
	*crew
	knew chan int
}

func (l leaving) leaves(run string) {
	knew := len(l.issued.of[run])
	l.crew.leaves(run)
	l.knew <- knew
}

// When the SDK drops the workflow of a run that goes on, its worker forgets what the run has asked for: the workflow may run
// elsewhere from then on.
func TestLeavingRun(t *testing.T) {
	h := recorded(t, "testdata/histories/chain")[0]
	begun := slices.IndexFunc(h.GetEvents(), func(e *historypb.HistoryEvent) bool { return e.GetActivityTaskStartedEventAttributes() != nil })
	h.Events = h.Events[:begun]
	l := leaving{(&Driver{project: "record-chain"}).newCrew(driver.Worker{Resolve: anything}), make(chan int, 1)}
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, in *begin) (ending, error) { return runAt(l, ctx, in) }, workflow.RegisterOptions{Name: flowName})
	if err := r.ReplayWorkflowHistoryWithOptions(silent, h, worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: "record-chain/chain"}}); err != nil {
		t.Fatal(err)
	}
	select {
	case knew := <-l.knew:
		if knew != 1 || len(l.issued.of) != 0 {
			t.Errorf("it knew %d steps, and knows %d runs", knew, len(l.issued.of))
		}
	case <-time.After(10 * time.Second):
		t.Error("the run does not leave")
	}
}

// A run of a newer release, whose input may have another form, waits for a worker that knows it, and no reader guesses what it does.
func TestNewerInput(t *testing.T) {
	h := recorded(t, "testdata/histories/chain")[0]
	h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0].Data = []byte(`{"version": 99, "run": "chain"}`)
	if err := Replay(h, nil); err == nil || !strings.Contains(err.Error(), "needs a newer release") {
		t.Error(err)
	}
	m := &mirror{values: offload{data: converter.GetDefaultDataConverter()}}
	if err := m.page(h.GetEvents()); err == nil || !strings.Contains(err.Error(), "needs a newer release") {
		t.Error(err)
	}
}
