package trace

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// figures are sums over spans, for metrics. They are safe for concurrent use.
type figures struct {
	mu     sync.Mutex
	since  time.Time // when they were zero
	sums   map[sumKey]float64
	labels map[string][]Attribute
	dirty  bool // something was added since the last export
}

type sumKey struct{ metric, labels string }

// metrics are the sums that are exported.
var metrics = []struct{ name, unit, about string }{
	{"hocket.runs", "{run}", "Runs that have ended"},
	{"hocket.steps", "{step}", "Tasks, questions to people and calls of workflows that have ended"},
	{"hocket.attempts", "{attempt}", "Attempts that have ended"},
	{"hocket.cost", "USD", "What attempts have cost, as far as it is known"},
	{"hocket.tokens", "{token}", "Tokens that attempts have used"},
}

func newFigures(now time.Time) *figures {
	return &figures{since: now, sums: map[sumKey]float64{}, labels: map[string][]Attribute{}}
}

// count adds what a span has used.
func (f *figures) count(s *Span) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := func(key string) string { v, _ := s.Get(key).(string); return v }
	switch s.Operation {
	case InvokeWorkflow:
		metric := "hocket.steps"
		if s.Parent == (SpanID{}) {
			metric = "hocket.runs"
		}
		f.add(metric, 1, "gen_ai.workflow.name", text("gen_ai.workflow.name"), "hocket.status", text("hocket.status"))
	case Ask:
		f.add("hocket.steps", 1, "hocket.status", text("hocket.status"))
	case InvokeAgent:
		who := []string{"gen_ai.agent.name", text("gen_ai.agent.name"), "gen_ai.response.model", text("gen_ai.response.model")}
		status := cmp.Or(s.Error, "success")
		f.add("hocket.attempts", 1, append(slices.Clip(who), "hocket.status", status)...)
		if step := text("hocket.step.status"); step != "" {
			f.add("hocket.steps", 1, "gen_ai.agent.name", text("gen_ai.agent.name"), "hocket.status", step)
		}
		if cost, ok := s.Get("hocket.cost_usd").(float64); ok {
			f.add("hocket.cost", cost, who...)
		}
		for kind, key := range map[string]string{"input": "gen_ai.usage.input_tokens", "output": "gen_ai.usage.output_tokens"} {
			if n, ok := s.Get(key).(int64); ok && n > 0 {
				f.add("hocket.tokens", float64(n), append(slices.Clip(who), "gen_ai.token.type", kind)...)
			}
		}
	}
}

// add adds to a sum with labels, given as keys and values.
func (f *figures) add(metric string, n float64, labels ...string) {
	key := strings.Join(labels, "\x00")
	if f.labels[key] == nil {
		list := []Attribute{}
		for i := 0; i+1 < len(labels); i += 2 {
			if labels[i+1] != "" {
				list = append(list, Attribute{labels[i], labels[i+1]})
			}
		}
		f.labels[key] = list
	}
	f.sums[sumKey{metric, key}] += n
	f.dirty = true
}

// export returns the request that exports the sums, nil if nothing was added. If it fails, undo makes them part of the next one.
func (f *figures) export(c *Config, now time.Time) (request message, undo func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dirty {
		return nil, nil
	}
	f.dirty = false
	was := f.since
	undo = func() { f.dirty = true }
	temporality := isCumulative
	if c.Delta {
		temporality = isDelta
	}
	keys := slices.Collect(maps.Keys(f.sums))
	sort.Slice(keys, func(i, j int) bool { return keys[i].labels < keys[j].labels })
	var list []message
	for _, m := range metrics {
		var points []message
		for _, key := range keys {
			if key.metric != m.name {
				continue
			}
			value := field{6, "asInt", sfixed64(f.sums[key])}
			if m.unit == "USD" {
				value = field{4, "asDouble", f.sums[key]}
			}
			points = append(points, message{{2, "startTimeUnixNano", nanos(f.since)}, {3, "timeUnixNano", nanos(now)}, value, {7, "attributes", c.attributes(f.labels[key.labels])}})
		}
		if len(points) > 0 {
			list = append(list, message{{1, "name", m.name}, {2, "description", m.about}, {3, "unit", m.unit},
				{7, "sum", message{{1, "dataPoints", points}, {2, "aggregationTemporality", temporality}, {3, "isMonotonic", true}}}})
		}
	}
	if c.Delta {
		sent := f.sums
		f.sums, f.since = map[sumKey]float64{}, now
		undo = func() {
			for key, n := range sent {
				f.sums[key] += n
			}
			f.since, f.dirty = was, true
		}
	}
	again := undo
	undo = func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		again()
	}
	return message{{1, "resourceMetrics", []message{{
		{1, "resource", c.resource()},
		{2, "scopeMetrics", []message{{{1, "scope", c.scope()}, {2, "metrics", list}, {3, "schemaUrl", SchemaURL}}}},
		{3, "schemaUrl", SchemaURL},
	}}}}, undo
}

// Usage returns what a span says it has used.
func (s *Span) Usage() (u workflow.Usage) {
	u.TokensIn, _ = s.Get("gen_ai.usage.input_tokens").(int64)
	u.TokensOut, _ = s.Get("gen_ai.usage.output_tokens").(int64)
	u.CostUSD, _ = s.Get("hocket.cost_usd").(float64)
	u.CostUnknown, _ = s.Get("hocket.cost_unknown").(bool)
	return u
}
