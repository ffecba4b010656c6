package trace_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/trace"
	"github.com/hocket-dev/hocket/trace/tracetest"
)

// The real collector accepts spans and metrics in both encodings, compressed or not, and passes on what it has read: all of it.
func TestRealCollector(t *testing.T) {
	if os.Getenv("HOCKET_COLLECTOR") == "" {
		t.Skip("HOCKET_COLLECTOR does not say where the collector of OpenTelemetry is; `make collector` builds it, and runs this")
	}
	programs, _ := filepath.Glob(filepath.Join(os.Getenv("HOCKET_COLLECTOR"), "otelcol-*"))
	if len(programs) == 0 {
		t.Skip("the collector of OpenTelemetry is not built; trace/setup does that")
	}
	last := programs[len(programs)-1]
	for _, protocol := range []string{"http/protobuf", "http/json"} {
		for _, compression := range []string{"none", "gzip"} {
			t.Run(protocol+" "+compression, func(t *testing.T) {
				c := tracetest.New(t)
				url := startCollector(t, last, c.URL)
				x := trace.NewExporter(trace.FromEnv(env("OTEL_EXPORTER_OTLP_ENDPOINT="+url, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol, "OTEL_EXPORTER_OTLP_COMPRESSION="+compression, "OTEL_SERVICE_NAME=svc")))
				s := someSpan()
				s.Attributes = append(s.Attributes, trace.Attribute{Key: "hocket.cost_usd", Value: 0.25})
				x.Send([]trace.Span{s})
				x.Flush(t.Context())
				x.Close()
				if r := x.Report(); r.Sent != 1 || r.Dropped != 0 || r.Problem != "" {
					t.Errorf("%+v", r)
				}
				got := c.Await("span", func(s []tracetest.Span) bool { return len(s) > 0 })
				want := sentDirectly(t, s)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("it passed on\n%+v, want\n%+v", got, want)
				}
				if by := c.Requests()[0].Header.Get("User-Agent"); !strings.HasPrefix(by, "OpenTelemetry Collector/") {
					t.Errorf("it was passed on by %q", by)
				}
				figures := map[string]float64{}
				for deadline := time.Now().Add(10 * time.Second); len(figures) < 2 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
					for _, f := range c.Figures() {
						figures[f.Metric] = f.Value
					}
				}
				if want := map[string]float64{"hocket.attempts": 1, "hocket.cost": 0.25}; !reflect.DeepEqual(figures, want) {
					t.Errorf("figures %v, want %v", figures, want)
				}
			})
		}
	}
}

// sentDirectly returns a span as a collector for tests receives it.
func sentDirectly(t *testing.T, s trace.Span) []tracetest.Span {
	t.Helper()
	c := tracetest.New(t)
	x := trace.NewExporter(trace.FromEnv(env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.URL+"/v1/traces", "OTEL_SERVICE_NAME=svc")))
	x.Send([]trace.Span{s})
	x.Flush(t.Context())
	x.Close()
	return c.Spans()
}

// startCollector starts the collector, which ends with the test, and returns its address. It passes on what it receives.
func startCollector(t *testing.T, program, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	config := fmt.Sprintf(`yaml:
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {otlphttp: {endpoint: %q}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [otlphttp]}
    metrics: {receivers: [otlp], exporters: [otlphttp]}
`, address, to)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	var mu sync.Mutex
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "--config", config)
	cmd.Stdout, cmd.Stderr = nil, writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return said.Write(p)
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		stop()
		<-ended
		if t.Failed() {
			t.Logf("the collector said %s", said.String())
		}
	})
	for {
		r, err := http.Get("http://" + address)
		if err == nil {
			_ = r.Body.Close()
			return "http://" + address
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the collector ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
