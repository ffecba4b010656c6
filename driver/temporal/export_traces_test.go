package temporal_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trace"
	"github.com/hocket-dev/hocket/trace/tracetest"
)

// Workers and those who follow a run export its spans, each once. A run that ends while only workers are there is exported, too.
func TestTraces(t *testing.T) {
	collector := tracetest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	c := newCluster(t, map[string]string{".hocket/workflows/w.yml": `name: w
steps:
  - {id: a, agent: shell, config: {command: "echo $TRACEPARENT"}}
  - {id: ask, human: {question: "Good?", options: ["yes", "no"]}}
  - {id: b, agent: shell, config: {command: [echo, b]}}
`})
	one, two, client := c.machine(nil), c.machine(nil), c.machine(nil)
	one.work(t, hocket.Worker{Name: "one"})
	two.work(t, hocket.Worker{Name: "two"})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w, err := client.Load("w")
	if err != nil {
		t.Fatal(err)
	}
	run, err := client.Start(ctx, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	collector.Await("attempt before the question", func(s []tracetest.Span) bool { return len(s) > 0 })
	for {
		open, err := run.Questions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(open) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if _, err := run.Answer(ctx, "ask", hocket.Answer{Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	spans := collector.Await("root", func(s []tracetest.Span) bool {
		return slices.ContainsFunc(s, func(s tracetest.Span) bool { return s.Parent == "" })
	})
	time.Sleep(2 * time.Second) // others may follow, too
	spans = collector.Spans()
	tracetest.Unique(t, spans)
	if len(spans) != 4 {
		t.Errorf("%d spans: %+v", len(spans), spans)
	}
	for _, s := range spans {
		if s.Trace != trace.Of(run.ID()).String() {
			t.Errorf("%+v", s)
		}
	}
	state, err := run.State(ctx)
	if err != nil || state.Result.Status != engine.Success {
		t.Fatalf("%+v, %v", state, err)
	}
	for _, step := range state.Result.Steps {
		if v, _ := step.Value(); step.Address == "a" && v != trace.Parent(run.ID(), "a", 1, true) {
			t.Errorf("TRACEPARENT %q", v)
		}
	}
	old, err := run.Trace(ctx)
	if err != nil || len(old) != 4 || old[0].Name != "invoke_workflow w" {
		t.Errorf("%+v, %v", old, err)
	}
}
