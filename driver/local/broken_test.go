package local_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// If the engine refuses an event, as after a defect, the run is marked as broken and no
// events are lost.
func TestBrokenRun(t *testing.T) {
	s := openStore(t)
	b := chain(gate("ok", "yes"))
	start(t, s, b, work{Agents: echo})
	w, err := s.Writer(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	bad := engine.Envelope{Event: &engine.TaskEnded{Address: "nowhere", Attempt: 1}}
	if err := errors.Join(w.Append(journal.Batch{Events: []engine.Envelope{bad}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = driveRun(t.Context(), s, "demo-1", work{Agents: echo})
	var broken *driver.BrokenError
	if !errors.As(err, &broken) || broken.Seq != 2 || broken.Event == nil {
		t.Fatalf("resume gives %v", err)
	}
	info, err := s.Find(t.Context(), "demo-1")
	if err != nil || info.Problem == "" {
		t.Errorf("the list has no mark: %+v, %v", info, err)
	}
	n := 0
	for _, err := range s.Events(t.Context(), "demo-1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d events are left", n)
	}
	if _, events, err := loadRun(t.Context(), s, "demo-1"); len(events) != 1 || !errors.As(err, &broken) {
		t.Errorf("Load gives %d events and %v", len(events), err)
	}
	for _, act := range []func() error{
		func() error { _, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", ""); return err },
		func() error {
			_, err := forkRun(t.Context(), s, driver.ForkSpec{From: "demo-1", Address: "ok"})
			return err
		},
	} {
		if err := act(); !errors.As(err, &broken) {
			t.Errorf("acting on a broken run gives %v", err)
		}
	}
}

// A program that can continue a broken run clears the mark.
func TestMendedRun(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(gate("ok", "yes")), work{Agents: echo})
	w, err := s.Writer(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(journal.Batch{Problem: "an old program failed"}), w.Close()); err != nil {
		t.Fatal(err)
	}
	resume(t, s, work{Agents: echo})
	if info, err := s.Find(t.Context(), "demo-1"); err != nil || info.Problem != "" || info.Status != engine.Waiting {
		t.Errorf("%+v, %v", info, err)
	}
}

// The mark is cleared when the run continues, not when it ends.
func TestMendedRunThatWorks(t *testing.T) {
	s := openStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	began := false
	agents := agentFunc(func(ctx context.Context, _ *engine.StartTask, _ agent.Log) driver.Outcome {
		if !began {
			began = true
			cancel()
			<-ctx.Done()
			return driver.Outcome{}
		}
		if info, err := s.Find(t.Context(), "demo-1"); err != nil || info.Problem != "" || info.Status != engine.Running {
			return driver.Outcome{Output: fmt.Sprintf("%+v, %v", info, err)}
		}
		return driver.Outcome{Output: "fine"}
	})
	if _, err := startRun(ctx, s, spec(chain(task("a", "x"), task("b", "y"))), work{Agents: agents}); !errors.As(err, new(*driver.InterruptedError)) {
		t.Fatal(err)
	}
	changeSnapshots(t, s.Dir(), "UPDATE runs SET problem = 'an old program failed'")
	if res := resume(t, s, work{Agents: agents}); res.Output != "fine" { // b begins after the mark was cleared
		t.Error(res.Output)
	}
}

func TestUnknownRun(t *testing.T) {
	s := openStore(t)
	var unknown *driver.UnknownRunError
	if _, err := driveRun(t.Context(), s, "nope", work{Agents: echo}); !errors.As(err, &unknown) {
		t.Errorf("Resume gives %v", err)
	}
	if _, err := answerRun(t.Context(), s, "nope", "a", "b", ""); !errors.As(err, &unknown) {
		t.Errorf("Answer gives %v", err)
	}
	if _, _, err := loadRun(t.Context(), s, "nope"); !errors.As(err, &unknown) {
		t.Errorf("Load gives %v", err)
	}
}

// A run that lost its events is an error for every operation that needs them.
func TestRunWithoutEvents(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(gate("ok", "yes")), work{Agents: echo})
	changeSnapshots(t, s.Dir(), "DELETE FROM events")
	_, drive := driveRun(t.Context(), s, "demo-1", work{Agents: echo})
	_, answer := answerRun(t.Context(), s, "demo-1", "ok", "yes", "")
	_, fork := forkRun(t.Context(), s, driver.ForkSpec{From: "demo-1", Address: "ok"})
	_, _, load := loadRun(t.Context(), s, "demo-1")
	for _, err := range []error{drive, answer, fork, load} {
		if !journal.IsProblem(err, journal.Corrupt) {
			t.Errorf("it gives %v", err)
		}
	}
}
