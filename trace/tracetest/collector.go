// Package tracetest is a collector of OpenTelemetry for tests. It reads what it is sent with the official types.
package tracetest

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collectormetrics "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Collector is a collector on loopback.
type Collector struct {
	URL string
	// Handle, if it is set, may answer a request itself, and then returns true.
	Handle func(w http.ResponseWriter, r *http.Request) bool

	t        testing.TB
	mu       sync.Mutex
	spans    []Span
	figures  []Figure
	requests []*http.Request
}

// Span is a span that was received.
type Span struct {
	Trace, ID, Parent, Name string
	Service                 string // that sent it
	Schema                  string
	Start, End              time.Time
	Failed                  bool
	Message                 string
	Attributes              map[string]any
	Events                  []string
	Links                   []string // trace/span
}

// Figure is a data point that was received.
type Figure struct {
	Metric     string
	Value      float64
	Delta      bool
	Attributes map[string]any
}

// New starts a collector that ends with the test.
func New(t testing.TB) *Collector {
	c := &Collector{t: t}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requests = append(c.requests, r)
	handle := c.Handle
	c.mu.Unlock()
	if handle != nil && handle(w, r) {
		return
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			c.t.Error(err)
			return
		}
		body = z
	}
	data, err := io.ReadAll(body)
	if err != nil {
		c.t.Error(err)
	}
	var answer proto.Message
	switch {
	case r.URL.Path == "/v1/traces":
		m := &collectortrace.ExportTraceServiceRequest{}
		c.decode(r, data, m)
		c.takeSpans(m)
		answer = &collectortrace.ExportTraceServiceResponse{}
	case r.URL.Path == "/v1/metrics":
		m := &collectormetrics.ExportMetricsServiceRequest{}
		c.decode(r, data, m)
		c.takeFigures(m)
		answer = &collectormetrics.ExportMetricsServiceResponse{}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	data, err = proto.Marshal(answer)
	if r.Header.Get("Content-Type") == "application/json" {
		data, err = protojson.Marshal(answer)
	}
	if err != nil {
		c.t.Error(err)
	}
	_, _ = w.Write(data)
}

func (c *Collector) decode(r *http.Request, data []byte, to proto.Message) {
	var err error
	switch kind := r.Header.Get("Content-Type"); kind {
	case "application/x-protobuf":
		err = proto.Unmarshal(data, to)
	case "application/json":
		err = protojson.Unmarshal(base64IDs(c.t, data), to)
	default:
		c.t.Errorf("content type %q", kind)
	}
	if err != nil {
		c.t.Errorf("%s: %v in %.2000q", r.URL, err, data)
	}
}

// base64IDs turns the ids of OTLP's JSON, which are hexadecimal, into those of protobuf's.
func base64IDs(t testing.TB, data []byte) []byte {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Errorf("%v in %q", err, data)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for key, value := range v {
				if text, ok := value.(string); ok && (key == "traceId" || key == "spanId" || key == "parentSpanId") {
					id, err := hex.DecodeString(text)
					if err != nil {
						t.Errorf("%s: %v", key, err)
					}
					v[key] = id
				}
				walk(value)
			}
		}
	}
	walk(v)
	data, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return data
}

func (c *Collector) takeSpans(m *collectortrace.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range m.GetResourceSpans() {
		service, _ := attributes(rs.GetResource().GetAttributes())["service.name"].(string)
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				one := Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()), Name: s.GetName(),
					Service: service, Schema: ss.GetSchemaUrl(), Attributes: attributes(s.GetAttributes()), Message: s.GetStatus().GetMessage(), Failed: s.GetStatus().GetCode() == 2,
					Start: time.Unix(0, int64(s.GetStartTimeUnixNano())).UTC(), End: time.Unix(0, int64(s.GetEndTimeUnixNano())).UTC(),
				}
				for _, e := range s.GetEvents() {
					one.Events = append(one.Events, e.GetName())
				}
				for _, l := range s.GetLinks() {
					one.Links = append(one.Links, hex.EncodeToString(l.GetTraceId())+"/"+hex.EncodeToString(l.GetSpanId()))
				}
				c.spans = append(c.spans, one)
			}
		}
	}
}

func (c *Collector) takeFigures(m *collectormetrics.ExportMetricsServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rm := range m.GetResourceMetrics() {
		for _, sm := range rm.GetScopeMetrics() {
			for _, metric := range sm.GetMetrics() {
				for _, p := range metric.GetSum().GetDataPoints() {
					value := p.GetAsDouble() + float64(p.GetAsInt())
					c.figures = append(c.figures, Figure{metric.GetName(), value, metric.GetSum().GetAggregationTemporality() == 1, attributes(p.GetAttributes())})
				}
			}
		}
	}
}

func attributes(list []*common.KeyValue) map[string]any {
	all := map[string]any{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			all[a.GetKey()] = v.IntValue
		case *common.AnyValue_DoubleValue:
			all[a.GetKey()] = v.DoubleValue
		case *common.AnyValue_BoolValue:
			all[a.GetKey()] = v.BoolValue
		case *common.AnyValue_ArrayValue:
			var list []string
			for _, one := range v.ArrayValue.GetValues() {
				list = append(list, one.GetStringValue())
			}
			all[a.GetKey()] = list
		}
	}
	return all
}

// Spans returns what was received, in its order.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span{}, c.spans...)
}

// Figures returns the data points that were received.
func (c *Collector) Figures() []Figure {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Figure{}, c.figures...)
}

// Requests returns the requests that were received, without their bodies.
func (c *Collector) Requests() []*http.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*http.Request{}, c.requests...)
}

// Await waits until spans satisfy a condition, at most for ten seconds.
func (c *Collector) Await(what string, ok func([]Span) bool) []Span {
	c.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		spans := c.Spans()
		if ok(spans) {
			return spans
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("no %s among %d spans: %+v", what, len(spans), spans)
		}
	}
}

// Unique fails the test if two spans have the same id, or a span has a parent in its trace that was not received.
func Unique(t testing.TB, spans []Span) {
	t.Helper()
	seen := map[string]Span{}
	for _, s := range spans {
		if other, ok := seen[s.Trace+s.ID]; ok {
			t.Errorf("two spans have the id %s: %q and %q", s.ID, other.Name, s.Name)
		}
		seen[s.Trace+s.ID] = s
	}
	for _, s := range spans {
		if _, ok := seen[s.Trace+s.Parent]; s.Parent != "" && !ok {
			t.Errorf("the parent %s of %q is missing", s.Parent, s.Name)
		}
	}
}
