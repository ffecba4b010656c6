package trace_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	collectortrace "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hocket-dev/hocket/trace"
	"github.com/hocket-dev/hocket/trace/tracetest"
)

// env returns variables for FromEnv, from NAME=VALUE.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if n, v, _ := strings.Cut(p, "="); n == name {
				return v
			}
		}
		return ""
	}
}

var at = time.Date(2026, 11, 18, 9, 30, 0, 123456789, time.UTC)

func someSpan() trace.Span {
	return trace.Span{
		Trace: trace.Of("r"), ID: trace.Attempt("r", "a", 1), Parent: trace.Root("r", 1), Operation: trace.InvokeAgent, Name: "invoke_agent critic \xff ünï",
		Start: at, End: at.Add(time.Second), Error: "error", Message: "it \"failed\"\n",
		Attributes: []trace.Attribute{{"gen_ai.agent.name", "critic"}, {"n", int64(-3)}, {"big", int64(1) << 60}, {"cost", 0.25}, {"yes", true}, {"no", false}, {"zero", int64(0)}, {"empty", ""}, {"list", []string{"a", ""}}},
		Events:     []trace.Event{{at, "hocket.asked", []trace.Attribute{{"x", "y"}}}},
		Links:      []trace.Link{{trace.Of("other"), trace.Root("other", 1), "fork"}},
	}
}

// What is sent in both encodings, compressed or not, is what the official types read.
func TestEncodings(t *testing.T) {
	for _, protocol := range []string{"http/protobuf", "http/json"} {
		for _, compression := range []string{"none", "gzip"} {
			c := tracetest.New(t)
			x := trace.NewExporter(trace.FromEnv(env("OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol, "OTEL_EXPORTER_OTLP_COMPRESSION="+compression,
				"OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20b, Other=c", "OTEL_SERVICE_NAME=svc")))
			x.Send([]trace.Span{someSpan()})
			x.Flush(t.Context())
			x.Close()
			want := tracetest.Span{
				Trace: trace.Of("r").String(), ID: trace.Attempt("r", "a", 1).String(), Parent: trace.Root("r", 1).String(), Name: "invoke_agent critic \uFFFD ünï", Service: "svc",
				Schema: trace.SchemaURL, Start: at, End: at.Add(time.Second), Failed: true, Message: "it \"failed\"\n",
				Attributes: map[string]any{"gen_ai.agent.name": "critic", "n": int64(-3), "big": int64(1) << 60, "cost": 0.25, "yes": true, "no": false, "zero": int64(0), "empty": "", "list": []string{"a", ""}},
				Events:     []string{"hocket.asked"}, Links: []string{trace.Of("other").String() + "/" + trace.Root("other", 1).String()},
			}
			if got := c.Spans(); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
				t.Errorf("%s %s:\n%+v, want\n%+v", protocol, compression, got, want)
			}
			for _, r := range c.Requests() {
				if r.Header.Get("X-Key") != "a b" || r.Header.Get("Other") != "c" {
					t.Errorf("headers %v", r.Header)
				}
			}
			figures := map[string]float64{}
			for _, f := range c.Figures() {
				figures[f.Metric] += f.Value
				if f.Delta {
					t.Errorf("%+v is a delta", f)
				}
			}
			if want := map[string]float64{"hocket.attempts": 1}; !reflect.DeepEqual(figures, want) {
				t.Errorf("figures %v, want %v", figures, want)
			}
		}
	}
}

// Figures add up over exports, or are what was added since the last one.
func TestTemporality(t *testing.T) {
	for preference, want := range map[string][]float64{"cumulative": {0.5, 1}, "delta": {0.5, 0.5}} {
		c := tracetest.New(t)
		x := trace.NewExporter(trace.FromEnv(env("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+c.URL+"/v1/metrics", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="+preference)))
		s := trace.Span{Operation: trace.InvokeAgent, Attributes: []trace.Attribute{{"hocket.cost_usd", 0.5}, {"gen_ai.usage.input_tokens", int64(7)}, {"hocket.step.status", "success"}}}
		for range 2 {
			x.Send([]trace.Span{s})
			x.Flush(t.Context())
		}
		x.Close()
		var got []float64
		seen := map[string]bool{}
		for _, f := range c.Figures() {
			seen[f.Metric] = true
			if f.Metric == "hocket.cost" {
				got = append(got, f.Value)
			}
		}
		if !slices.Equal(got, want) || len(c.Spans()) > 0 || !seen["hocket.tokens"] || !seen["hocket.steps"] {
			t.Errorf("%s: %v, want %v; %v", preference, got, want, seen)
		}
	}
}

// A request is repeated after the time that the collector asks for, and if it is told so.
func TestRetry(t *testing.T) {
	var tries atomic.Int32
	c := tracetest.New(t)
	c.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
		if tries.Add(1) > 1 {
			return false
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	x := trace.NewExporter(trace.FromEnv(env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + c.URL + "/v1/traces")))
	defer x.Close()
	x.Send([]trace.Span{someSpan()})
	x.Flush(t.Context())
	if r := x.Report(); r.Sent != 0 || r.Dropped != 1 || !strings.Contains(r.Problem, "503") {
		t.Errorf("after the first: %+v", r)
	}
	c.Await("span", func(s []tracetest.Span) bool { return len(s) == 1 })
	for deadline := time.Now().Add(5 * time.Second); x.Report().Sent != 1 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if r := x.Report(); r.Sent != 1 || r.Dropped != 0 || tries.Load() != 2 {
		t.Errorf("%+v after %d tries", r, tries.Load())
	}
}

// What is rejected, for good or in part, is counted, and the text says why.
func TestRejected(t *testing.T) {
	answer := func(rejected int64, message string) []byte {
		data, err := proto.Marshal(&collectortrace.ExportTraceServiceResponse{PartialSuccess: &collectortrace.ExportTracePartialSuccess{RejectedSpans: rejected, ErrorMessage: message}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, test := range []struct {
		status     int
		kind, body string
		want       trace.Report
	}{
		{400, "text/plain", "no", trace.Report{Dropped: 3, Problem: "cannot export to URL/v1/traces: 400 Bad Request"}},
		{302, "text/plain", "", trace.Report{Dropped: 3, Problem: "cannot export to URL/v1/traces: 302 Found"}},
		{200, "application/x-protobuf", string(answer(2, "too\nlong")), trace.Report{Sent: 1, Rejected: 2, Problem: "URL/v1/traces rejected 2 of 3 spans: too long"}},
		{200, "application/json", `{"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}}`, trace.Report{Sent: 1, Rejected: 2, Problem: "URL/v1/traces rejected 2 of 3 spans: x"}},
		{200, "application/json", `{}`, trace.Report{Sent: 3}},
		{200, "application/x-protobuf", "\xff\xff garbage", trace.Report{Sent: 3}},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", test.kind)
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		}))
		x := trace.NewExporter(trace.FromEnv(env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + strings.Replace(s.URL, "http://", "http://me:word@", 1) + "/v1/traces?key=secret")))
		x.Send([]trace.Span{someSpan(), someSpan(), someSpan()})
		x.Flush(t.Context())
		got := x.Report()
		got.Problem = strings.ReplaceAll(got.Problem, s.URL, "URL")
		if got != test.want {
			t.Errorf("%d %q: %+v, want %+v", test.status, test.body, got, test.want)
		}
		x.Close()
		s.Close()
	}
}

// Sending never waits, and a collector that does not answer costs no more than the time that is given.
func TestDeadCollector(t *testing.T) {
	hangs := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	defer s.Close()
	defer close(hangs)
	for _, url := range []string{s.URL, "http://127.0.0.1:1"} {
		x := trace.NewExporter(trace.FromEnv(env("OTEL_EXPORTER_OTLP_ENDPOINT=" + url)))
		began := time.Now()
		for range 100 {
			x.Send(slices.Repeat([]trace.Span{someSpan()}, 100))
		}
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		x.Flush(ctx)
		stop()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s: took %s", url, took)
		}
		if r := x.Report(); r.Dropped != 10000 || r.Sent != 0 || url == s.URL && r.Problem != "no answer yet from "+url+"/v1/traces" || r.Problem == "" {
			t.Errorf("%s: %+v", url, r)
		}
		x.Close()
	}
}

func TestConfig(t *testing.T) {
	base := "OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318/base/"
	for _, test := range []struct {
		env  []string
		want string // the address of traces and metrics, and the problems
	}{
		{nil, " |  | "},
		{[]string{base}, "http://h:4318/base/v1/traces | http://h:4318/base/v1/metrics | "},
		{[]string{base, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://t/x"}, "https://t/x | http://h:4318/base/v1/metrics | "},
		{[]string{base, "OTEL_SDK_DISABLED=TRUE"}, " |  | "},
		{[]string{base, "OTEL_METRICS_EXPORTER=none"}, "http://h:4318/base/v1/traces |  | "},
		{[]string{base, "OTEL_TRACES_EXPORTER=console", "OTEL_METRICS_EXPORTER=none"}, ` |  | unsupported OTEL_TRACES_EXPORTER "console": want otlp or none`},
		{[]string{base, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_METRICS_EXPORTER=none"}, ` |  | unsupported OTEL_EXPORTER_OTLP_PROTOCOL "grpc": want http/protobuf or http/json, which collectors accept at port 4318`},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=localhost:4317"}, ` |  | invalid OTEL_EXPORTER_OTLP_TRACES_ENDPOINT "localhost:4317": want a URL such as http://localhost:4318`},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://me:word@h"}, ` |  | invalid OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: want a URL such as http://localhost:4318`},
		{[]string{base, "OTEL_EXPORTER_OTLP_HEADERS=secretvalue", "OTEL_METRICS_EXPORTER=none"}, ` |  | invalid OTEL_EXPORTER_OTLP_HEADERS: want NAME=VALUE,NAME=VALUE`},
		{[]string{base, "OTEL_EXPORTER_OTLP_HEADERS=a=b%0d%0ax", "OTEL_METRICS_EXPORTER=none"}, ` |  | invalid OTEL_EXPORTER_OTLP_HEADERS: the value of a has a control character`},
		{[]string{base, "OTEL_EXPORTER_OTLP_TIMEOUT=x", "OTEL_METRICS_EXPORTER=none"}, `http://h:4318/base/v1/traces |  | invalid OTEL_EXPORTER_OTLP_TIMEOUT "x": want milliseconds`},
		{[]string{base, "OTEL_EXPORTER_OTLP_CERTIFICATE=/none", "OTEL_METRICS_EXPORTER=none"}, ` |  | OTEL_EXPORTER_OTLP_CERTIFICATE: open /none: no such file or directory`},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES=a"}, ` |  | invalid OTEL_RESOURCE_ATTRIBUTES: want NAME=VALUE,NAME=VALUE`},
		{[]string{"OTEL_TRACES_SAMPLER=odd"}, ` |  | unsupported OTEL_TRACES_SAMPLER "odd": want always_on, always_off or traceidratio`},
	} {
		c := trace.FromEnv(env(test.env...))
		if got := c.Traces.URL + " | " + c.Metrics.URL + " | " + strings.Join(c.Problems, "; "); got != test.want {
			t.Errorf("%q:\n%s, want\n%s", test.env, got, test.want)
		}
	}
	c := trace.FromEnv(env(base, "OTEL_RESOURCE_ATTRIBUTES=service.name=other,team=a%20b", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=250"))
	if !slices.Contains(c.Resource, trace.Attribute{Key: "service.name", Value: "other"}) || !slices.Contains(c.Resource, trace.Attribute{Key: "team", Value: "a b"}) || c.Traces.Timeout != 250*time.Millisecond {
		t.Errorf("%+v", c)
	}
	// The keys of the environment are not for the collector of a project.
	if own := trace.FromEnv(env("OTEL_EXPORTER_OTLP_HEADERS=a=b")).To("http://p:1/", false, nil); own.Traces.Headers != nil || own.Traces.URL != "http://p:1/v1/traces" || own.Metrics.URL != "http://p:1/v1/metrics" {
		t.Errorf("%+v", own)
	}
}

// A share of the traces is exported, and every process decides alike.
func TestSampler(t *testing.T) {
	c := trace.FromEnv(env("OTEL_EXPORTER_OTLP_ENDPOINT=http://h", "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.25"))
	n := 0
	for i := range 4000 {
		if c.Sampled(fmt.Sprint(i)) {
			n++
		}
	}
	if n < 850 || n > 1150 {
		t.Errorf("%d of 4000", n)
	}
	if off := trace.FromEnv(env("OTEL_EXPORTER_OTLP_ENDPOINT=http://h", "OTEL_TRACES_SAMPLER=always_off")); off.Sampled("r") {
		t.Error("always_off is on")
	}
	if got, want := trace.Parent("r", "a", 1, true), "00-"+trace.Of("r").String()+"-"+trace.Attempt("r", "a", 1).String()+"-01"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func FuzzHeaders(f *testing.F) {
	for _, text := range []string{"", "a=b", "Authorization=Bearer%20x,b=c=d", "a", "=b", "a=%zz", "ä=b", "a=\x00", " a = b , ", "%61=b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		headers, err := trace.ParseHeaders(text)
		if err != nil {
			return
		}
		r, err := http.NewRequest(http.MethodPost, "http://h", nil)
		if err != nil {
			t.Fatal(err)
		}
		var line []string
		for name, value := range headers {
			r.Header.Set(name, value)
			line = append(line, name)
		}
		var b strings.Builder
		if err := r.Header.Write(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "\r\n"); got != len(line) {
			t.Errorf("%q has %d lines for %d headers: %q", text, got, len(line), b.String())
		}
	})
}

func FuzzAttributes(f *testing.F) {
	for _, text := range []string{"", "a=b", "a=b,c=d%2C", "a", "=b", "a=%zz", "a=%ff", " a = b , "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := trace.ParseAttributes(text)
		if err != nil && list != nil {
			t.Errorf("%q: attributes and an error", text)
		}
		for _, a := range list {
			if a.Key == "" || strings.ToValidUTF8(a.Value.(string), "") != a.Value {
				t.Errorf("%q: %q", text, a)
			}
		}
	})
}
