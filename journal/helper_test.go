package journal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

func testPin(name string) *driver.Pin {
	return &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{
		Name: name,
		Body: workflow.Graph{Nodes: []workflow.Node{{ID: "work", Step: &workflow.Task{Agent: "shell"}}}},
	}}}
}

func started(run string) engine.Envelope {
	return engine.Envelope{Time: start, Event: &engine.Started{Run: run, Version: engine.Version}}
}

// ended returns the i-th event after Started.
func ended(i int, output string) engine.Envelope {
	passed := time.Duration(i) * time.Second
	return engine.Envelope{Time: start.Add(passed), Clock: passed, Event: &engine.TaskEnded{Address: fmt.Sprintf("work[%d]", i), Attempt: 1, Output: output}}
}

// endedWith returns the end of an attempt with the given usage.
func endedWith(address string, used engine.Usage) engine.Envelope {
	return engine.Envelope{Time: start, Event: &engine.TaskEnded{Address: address, Attempt: 1, Usage: used}}
}

func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func createRun(t testing.TB, s *Store, id string) *Writer {
	t.Helper()
	w, err := s.Create(NewRun{ID: id, Pin: testPin("demo"), Created: start, Events: []engine.Envelope{started(id)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func appendEvents(t testing.TB, w *Writer, events ...engine.Envelope) {
	t.Helper()
	if err := w.Append(Batch{Events: events}); err != nil {
		t.Fatal(err)
	}
}

func readEvents(t testing.TB, s *Store, run string) []engine.Envelope {
	t.Helper()
	var events []engine.Envelope
	for ev, err := range s.Events(context.Background(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Seq != len(events)+1 {
			t.Fatalf("event %d has the number %d", len(events)+1, ev.Seq)
		}
		ev.Seq = 0
		events = append(events, ev)
	}
	return events
}

func wantEvents(t testing.TB, s *Store, run string, want []engine.Envelope) {
	t.Helper()
	if diff := cmp.Diff(want, readEvents(t, s, run)); diff != "" {
		t.Errorf("events of %s (-want +got):\n%s", run, diff)
	}
}
