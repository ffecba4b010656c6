package local_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// recordedKinds returns the types of the events of a run, with their details.
func recordedKinds(t *testing.T, s *journal.Store, run string) string {
	t.Helper()
	var all []string
	for e, err := range s.Events(context.Background(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimPrefix(fmt.Sprintf("%T", e.Event), "*engine.")
		switch ev := e.Event.(type) {
		case *engine.TimerFired:
			kind += " " + ev.ID
		case *engine.Answered:
			kind += " " + ev.ID
		}
		all = append(all, kind)
	}
	return strings.Join(all, ", ")
}

// beside returns a workflow whose nodes are not connected.
func beside(nodes ...workflow.Node) *workflow.Bundle {
	return &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: workflow.Graph{Nodes: nodes}}}
}

// until returns a gate with a deadline.
func until(id string, timeout time.Duration) workflow.Node {
	n := gate(id, "yes")
	n.Timeout, n.OnError = timeout, workflow.Continue
	return n
}

// idleRun is a run that no process drives, and an event for it.
type idleRun struct {
	bundle    *workflow.Bundle
	interrupt bool // a task is in progress
	after     time.Duration
	event     engine.Event
	records   string // what follows the first events
	refused   bool
	status    engine.Status
}

var idleRuns = map[string]idleRun{
	"answer":                    {bundle: chain(gate("ok", "yes"), task("b", "")), event: &engine.Answered{ID: "ok", Value: "yes"}, records: "Answered ok", status: engine.Running},
	"answer of an attempt":      {bundle: beside(task("a", ""), gate("ok", "yes")), interrupt: true, event: &engine.Answered{ID: "ok", Value: "yes"}, records: "Recovered, Answered ok", status: engine.Running},
	"limit":                     {bundle: chain(gate("ok", "yes")), event: &engine.LimitRaised{Limits: workflow.Limits{Steps: 500}}, records: "LimitRaised", status: engine.Waiting},
	"cancelled":                 {bundle: chain(gate("ok", "yes")), event: &engine.CancelAsked{}, records: "CancelAsked", status: engine.Cancelled},
	"cancelled while it worked": {bundle: chain(task("a", "")), interrupt: true, event: &engine.CancelAsked{}, records: "CancelAsked, Recovered", status: engine.Cancelled},
	"cancelled after a deadline": {bundle: beside(until("first", time.Minute), until("last", time.Hour)), after: 2 * time.Minute,
		event: &engine.CancelAsked{}, records: "CancelAsked", status: engine.Cancelled},
	"late": {bundle: beside(until("second", 2*time.Minute), until("first", time.Minute), until("last", time.Hour)), after: 3 * time.Minute,
		event: &engine.Answered{ID: "last", Value: "yes"}, records: "TimerFired answer first, TimerFired answer second, Answered last", status: engine.Partial},
	"too late": {bundle: beside(until("first", time.Minute), until("last", time.Hour)), after: 2 * time.Minute,
		event: &engine.Answered{ID: "first", Value: "yes"}, records: "TimerFired answer first", refused: true, status: engine.Waiting},
	"in time": {bundle: beside(until("first", time.Minute), until("last", time.Hour)), after: time.Minute,
		event: &engine.Answered{ID: "last", Value: "yes"}, records: "Answered last", status: engine.Waiting},
	"nonsense": {bundle: chain(gate("ok", "yes")), event: &engine.Answered{ID: "ok", Value: "perhaps"}, refused: true, status: engine.Waiting},
}

// Whatever is recorded in a run that no process drives, all of it is recorded, in order, and the
// list of runs follows. Whichever change of the journal fails, Act returns the error.
func TestActOnAnIdleRun(t *testing.T) {
	for name, c := range idleRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			clock := &setClock{now: noon}
			d := openWith(t, s.Dir(), local.Options{Clock: clock})
			begin := func(run string) string {
				clock.set(noon)
				sp := spec(c.bundle)
				sp.Run = run
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				_, err := d.Start(ctx, sp)
				if err == nil {
					_, err = d.Drive(ctx, run, driver.Work{Patience: 1, Agents: agentFunc(func(ctx context.Context, _ *engine.StartTask, _ agent.Log) driver.Outcome {
						if c.interrupt {
							stop()
							<-ctx.Done()
						}
						return driver.Outcome{}
					})})
				}
				if err != nil && !c.interrupt {
					t.Fatal(err)
				}
				clock.set(noon.Add(c.after))
				return recordedKinds(t, s, run)
			}
			before := begin("demo-0")
			var mu sync.Mutex
			left := 0
			local.Refuse(t, s.Dir(), func() error {
				mu.Lock()
				defer mu.Unlock()
				if left--; left == 0 {
					return errors.New("it was refused")
				}
				return nil
			}, "INSERT ON events", "UPDATE ON runs", "INSERT ON asked", "DELETE ON asked")
			act := func(run string, nth int) (driver.Receipt, bool, error) {
				mu.Lock()
				left = nth
				mu.Unlock()
				receipt, err := d.Act(t.Context(), run, c.event)
				mu.Lock()
				defer mu.Unlock()
				return receipt, nth > 0 && left <= 0, err
			}
			receipt, _, err := act("demo-0", 0)
			if c.refused != errors.As(err, new(*driver.RefusedError)) || !c.refused && (err != nil || receipt.Status != c.status) {
				t.Errorf("%+v, %v", receipt, err)
			}
			if got := strings.TrimPrefix(strings.TrimPrefix(recordedKinds(t, s, "demo-0"), before), ", "); got != c.records {
				t.Errorf("recorded are %q, want %q", got, c.records)
			}
			if r, err := s.Run(t.Context(), "demo-0"); err != nil || r.Status != c.status || r.Stale {
				t.Errorf("listed is %+v, %v", r, err)
			}
			for nth, more := 1, true; more; nth++ {
				run := fmt.Sprint("demo-", nth)
				mu.Lock()
				left = 0
				mu.Unlock()
				begin(run)
				_, more, err = act(run, nth)
				if more != (err != nil && strings.Contains(err.Error(), "it was refused")) {
					t.Errorf("change %d failed: %v", nth, err)
				}
			}
		})
	}
}

// Within a run, time never goes back, even if the clock was set back.
func TestActAfterTheClockWasSetBack(t *testing.T) {
	s := openStore(t)
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := &setClock{now: noon}
	w := work{Clock: clock, Agents: echo}
	start(t, s, chain(gate("ok", "yes")), w)
	for i, ahead := range []time.Duration{-time.Hour, time.Minute} {
		clock.set(noon.Add(ahead))
		err := with(s, w, func(d *local.Driver) error {
			_, err := d.Act(t.Context(), "demo-1", &engine.LimitRaised{Limits: workflow.Limits{Steps: 200 + i}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, events, err := loadRun(t.Context(), s, "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	if last := events[len(events)-2:]; !last[0].Time.Equal(noon) || !last[1].Time.Equal(noon.Add(time.Minute)) || !last[0].Unattended {
		t.Errorf("%+v", last)
	}
}

// An event that cannot be recorded is refused before anything is.
func TestActWithAnInvalidEvent(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(gate("ok", "yes")), work{Agents: echo})
	before := recordedKinds(t, s, "demo-1")
	if receipt, err := actOn(t.Context(), s, "demo-1", &engine.Started{Inputs: map[string]any{"x": make(chan int)}}); err == nil {
		t.Errorf("%+v", receipt)
	}
	if after := recordedKinds(t, s, "demo-1"); after != before {
		t.Errorf("recorded are %s", after)
	}
}

// held is a run that a process holds which reads no messages.
func held(t *testing.T, s *journal.Store) *journal.Writer {
	t.Helper()
	start(t, s, chain(gate("ok", "yes")), work{Agents: echo})
	w, err := s.Writer(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// messages returns how many messages of a run have no verdict.
func messages(t *testing.T, w *journal.Writer) int {
	t.Helper()
	all, err := w.Inbox(context.Background())
	if err != nil {
		t.Error(err)
	}
	return len(all)
}

// Whoever sends a message to a process that does not answer learns that after a while, and the
// message is withdrawn.
func TestSilentDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		w := held(t, s)
		defer w.Close()
		began := time.Now()
		receipt, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", "")
		var silent *driver.SilentError
		if !errors.As(err, &silent) || silent.Stopped || silent.Run != "demo-1" || silent.PID == 0 || time.Since(began).Round(time.Second) != 30*time.Second {
			t.Errorf("%+v, %v after %s", receipt, err, time.Since(began))
		}
		if n := messages(t, w); n != 0 {
			t.Errorf("%d messages are left", n)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the sender has left")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		if _, err := answerRun(ctx, s, "demo-1", "ok", "yes", ""); !errors.Is(err, gone) {
			t.Errorf("%v", err)
		}
		if n := messages(t, w); n != 0 {
			t.Errorf("%d messages are left", n)
		}
	})
}

// A message to a process that ends meanwhile is recorded directly.
func TestDriverEndsBeforeItAnswers(t *testing.T) {
	s := openStore(t)
	w := held(t, s)
	local.Refuse(t, s.Dir(), func() error { go w.Close(); return nil }, "INSERT ON inbox")
	receipt, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", "")
	if err != nil || receipt.Driven || receipt.Status != engine.Success {
		t.Errorf("%+v, %v", receipt, err)
	}
	if kinds := recordedKinds(t, s, "demo-1"); !strings.HasSuffix(kinds, "Answered ok") {
		t.Errorf("recorded are %s", kinds)
	}
}

// A verdict that arrives while the message is being withdrawn counts.
func TestVerdictAtTheLastMoment(t *testing.T) {
	for _, reason := range []string{"", "too late"} {
		s := openStore(t)
		w := held(t, s)
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		local.Refuse(t, s.Dir(), func() error { cancel(); return nil }, "INSERT ON inbox")
		changeSnapshots(t, s.Dir(), `CREATE TRIGGER kept BEFORE DELETE ON inbox WHEN OLD.verdict IS NULL BEGIN
			UPDATE inbox SET verdict = 'read', reason = '`+reason+`'; SELECT RAISE(IGNORE); END`)
		receipt, err := answerRun(ctx, s, "demo-1", "ok", "yes", "")
		if !receipt.Driven || (err == nil) != (reason == "") || err != nil && !errors.As(err, new(*driver.RefusedError)) {
			t.Errorf("%q: %+v, %v", reason, receipt, err)
		}
	}
}

// An error while a message is sent, or while its sender waits for the verdict, is returned.
func TestMessageThatCannotBeSent(t *testing.T) {
	refused := errors.New("it was refused")
	for change, says := range map[string]string{"INSERT ON inbox": "refused", "DELETE ON inbox": "refused", "DELETE FROM inbox": "withdrawn", "DELETE FROM runs": "demo-1"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			w := held(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			if what, ok := strings.CutPrefix(change, "DELETE FROM "); ok {
				changeSnapshots(t, s.Dir(), "CREATE TRIGGER gone AFTER INSERT ON inbox BEGIN DELETE FROM "+what+"; END")
			} else {
				local.Refuse(t, s.Dir(), func() error { cancel(); return refused }, change)
				if !strings.HasPrefix(change, "INSERT") {
					local.Refuse(t, s.Dir(), func() error { cancel(); return nil }, "INSERT ON inbox")
				}
			}
			_, err := answerRun(ctx, s, "demo-1", "ok", "yes", "")
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", change, err)
			}
			cancel()
			w.Close()
		})
	}
}
