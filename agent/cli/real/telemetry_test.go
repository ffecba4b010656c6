package realtest

import (
	"slices"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/fakemodel"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/trace"
	"github.com/hocket-dev/hocket/trace/tracetest"
)

// joining lists the CLIs that export spans, and whether these are below the span of their attempt.
var joining = map[string]bool{"claude": true, "codex": true, "gemini": false, "opencode": false}

// A CLI that is trusted exports its spans to the collector of the run, below the span of its attempt. One that is not trusted
// exports nothing, and does not see the keys of the collector.
func TestTelemetry(t *testing.T) {
	for name, joins := range joining {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, name, "dummy")
			c := tracetest.New(t)
			config := trace.FromEnv(func(name string) string {
				return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=collector-key"}[name]
			})
			ctx := process.WithTrace(t.Context(), trace.Parent("run", "a", 1, true))
			result, err := f.run(ctx, t, attempt{telemetry: &agent.Telemetry{Endpoint: config.Traces.URL, Environ: config.Environ()}, steps: []fakemodel.Step{say("hi")}})
			if err != nil || result.Output != "hi" {
				t.Fatalf("%q, %v", result.Output, err)
			}
			spans := c.Spans()
			below := slices.DeleteFunc(slices.Clone(spans), func(s tracetest.Span) bool { return s.Trace != trace.Of("run").String() })
			if len(spans) == 0 || joins != (len(below) > 0) {
				t.Errorf("%d spans, %d of them in the trace: %+v", len(spans), len(below), spans)
			}
			if joins && !slices.ContainsFunc(below, func(s tracetest.Span) bool { return s.Parent == trace.Attempt("run", "a", 1).String() }) {
				t.Errorf("no span is below that of the attempt: %+v", below)
			}
			for _, r := range c.Requests() {
				if r.URL.Path == "/v1/traces" && joins && r.Header.Get("X-Key") != "collector-key" {
					t.Errorf("headers %v", r.Header)
				}
			}
			before := len(c.Requests())
			f.env = append(f.env, config.Environ()...)
			_, _ = f.run(ctx, t, attempt{untrusted: true, telemetry: &agent.Telemetry{Endpoint: config.Traces.URL, Environ: config.Environ()}, steps: []fakemodel.Step{say("hi")}}) // codex lacks its key, too
			if now := len(c.Requests()); now != before {
				t.Errorf("a CLI that is not trusted made %d requests", now-before)
			}
		})
	}
}
