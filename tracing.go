package hocket

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/trace"
)

// Span is a part of a run: the run itself, a called workflow, an attempt, a question to a person, a response of a
// model or a call of a tool.
type Span = trace.Span

// Trace returns the spans of the run, each after that in which it is. Those in progress have no end.
func (r *Run) Trace(ctx context.Context) ([]Span, error) {
	return r.trace(ctx, trace.FromEnv(os.Getenv).Texts)
}

func (r *Run) trace(ctx context.Context, texts bool) ([]Span, error) {
	b, run, err := r.builder(ctx, texts)
	if err != nil {
		return nil, err
	}
	var all []Span
	for e, err := range r.d.Events(ctx, r.id, 0, false) {
		var spans []Span
		if err == nil {
			spans, err = step(b, run, r.id, e)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, spans...)
	}
	return inTree(append(all, b.Open()...)), nil
}

// step steps an event of a run, and returns the spans that it has ended.
func step(b *trace.Builder, run *engine.Run, id string, e engine.Envelope) ([]Span, error) {
	if _, err := driver.Step(run, id, e); err != nil {
		return nil, err
	}
	return b.Event(e, run.Facts()), nil
}

// inTree sorts spans by their start, each after that in which it is.
func inTree(spans []Span) []Span {
	sort.SliceStable(spans, func(i, j int) bool { return spans[i].Start.Before(spans[j].Start) })
	below, known := map[trace.SpanID][]Span{}, map[trace.SpanID]bool{}
	for _, s := range spans {
		known[s.ID] = true
	}
	for _, s := range spans {
		parent := s.Parent
		if !known[parent] {
			parent = trace.SpanID{}
		}
		below[parent] = append(below[parent], s)
	}
	sorted := make([]Span, 0, len(spans))
	var add func(id trace.SpanID)
	add = func(id trace.SpanID) {
		for _, s := range below[id] {
			sorted = append(sorted, s)
			add(s.ID)
		}
	}
	add(trace.SpanID{})
	return sorted
}

// builder returns what makes the spans of the run, and the run before its first event.
func (r *Run) builder(ctx context.Context, texts bool) (*trace.Builder, *engine.Run, error) {
	info, err := r.d.Info(ctx, r.id)
	if err != nil {
		return nil, nil, err
	}
	pin, err := r.d.FirstPin(ctx, r.id)
	if err != nil {
		return nil, nil, err
	}
	run, err := driver.NewRun(pin.Bundle, r.load(ctx))
	if err != nil {
		return nil, nil, err
	}
	o := trace.Options{
		Run: r.id, Bundle: pin.Bundle, Outer: info.Owner.Labels[outerLabel], Texts: texts, Executor: r.p.executorsOf(pin),
		Details: func(address string, attempt int) trace.Details { return r.details(ctx, address, attempt, texts) },
	}
	if info.Origin != "" { // what came from the other run was recorded at once
		for e, err := range r.d.Events(ctx, r.id, 0, false) {
			if err != nil {
				return nil, nil, err
			}
			if _, ok := e.Event.(*engine.Forked); ok {
				o.Own = e.Seq
			}
		}
	}
	return trace.NewBuilder(o), run, nil
}

// executorsOf returns which executor does the work of an attempt, and the provider of its model.
func (p *Project) executorsOf(pin *driver.Pin) func(f *engine.Fact) (executor, provider string) {
	agents, err := agent.DecodeSet(pin.Agents, nil)
	if err != nil {
		return nil
	}
	var replies *Replies
	if pin.Replies != nil {
		if replies, err = scripted.Decode(pin.Replies); err != nil {
			return nil
		}
	}
	agents = agents.Snapshot()
	l, config := &lanes{pin: pin}, p.Config()
	return func(f *engine.Fact) (executor, provider string) {
		if replies != nil && replies.Answers(f.Address) {
			return "reply", ""
		}
		d, _, _ := agents.ResolveLane(f.Agent, l.workflow(f.Workflow).RoleOf(f.Agent)) // without its executor, there is still a definition
		if d == nil {
			return f.Agent, "" // it is an executor itself
		}
		return d.Agent, providerIn(config, d)
	}
}

// providerIn returns the name of the provider of an agent's model, as far as the project says it; "" if it does not.
func providerIn(config project.Config, d *agent.Definition) string {
	if named, ok := d.Settings["provider"].(string); ok && named != "" {
		return named
	}
	before, _, ok := strings.Cut(cmp.Or(d.Model, config.Model), "/")
	if _, known := config.Providers[before]; ok && (known || usualKeys[before] != nil) {
		return before
	}
	return ""
}

// maxTranscript is the size of the longest transcript that is read for spans, in bytes.
const maxTranscript = 16 << 20

// details returns what is stored about an attempt. What cannot be read is missing: the span says when it was, and whether it
// succeeded, anyway.
func (r *Run) details(ctx context.Context, address string, attempt int, texts bool) (d trace.Details) {
	id := driver.AttemptID{Run: r.id, Address: address, Attempt: attempt}
	if n, ok := r.d.(driver.Noter); ok {
		d.Session, d.Model, _ = n.Noted(ctx, id)
	} else if kept, err := r.d.Kept(ctx, id); err == nil {
		d.Session, d.Model = kept.Session, kept.Model
	}
	read := func(s Stream) (text []byte) {
		for p, err := range r.d.Read(ctx, id, s, 0, false) {
			if err != nil || len(text) > maxTranscript {
				break
			}
			text = append(text, p.Text...)
		}
		return text
	}
	d.Transcript = read(Transcript)
	if texts {
		d.Prompt = string(read(Prompt))
	}
	return d
}

// Exported is what became of an export.
type Exported struct {
	Spans int    // that the collector has accepted
	Left  int    // that it has rejected, or that were not sent
	Why   string // as a sentence; "": all were accepted
}

// NoCollectorError reports that it is not known where to export to.
type NoCollectorError struct{ Problems []string }

func (e *NoCollectorError) Error() string {
	if len(e.Problems) > 0 {
		return strings.Join(e.Problems, "; ")
	}
	return "no collector is configured"
}

// Hint returns what to do about it.
func (e *NoCollectorError) Hint() string {
	return "name one with --endpoint, or set OTEL_EXPORTER_OTLP_ENDPOINT, such as http://localhost:4318"
}

// Export sends the spans of the run that have ended to a collector: that at an address, or, if it is "", the one to which live
// spans go. It sends all of them, also if they were sent before. The headers of the environment are sent to any address, because
// the user names it.
func (r *Run) Export(ctx context.Context, endpoint string) (Exported, error) {
	c := trace.FromEnv(os.Getenv)
	if endpoint != "" {
		c = trace.FromEnv(func(name string) string {
			switch {
			case name == "OTEL_EXPORTER_OTLP_ENDPOINT":
				return strings.TrimSuffix(strings.TrimRight(endpoint, "/"), "/v1/traces") // of those who name the whole URL
			case name == "OTEL_METRICS_EXPORTER":
				return "none"
			case strings.HasSuffix(name, "_ENDPOINT"), name == "OTEL_TRACES_EXPORTER", name == "OTEL_SDK_DISABLED":
				return ""
			}
			return os.Getenv(name)
		})
		for i, problem := range c.Problems {
			c.Problems[i] = strings.Replace(problem, "invalid OTEL_EXPORTER_OTLP_ENDPOINT", "invalid endpoint", 1)
		}
	} else if !c.On() {
		var err error
		if c, err = r.p.collector(); err != nil {
			return Exported{}, err
		}
	}
	if c.Traces.URL == "" {
		return Exported{}, &NoCollectorError{c.Problems}
	}
	c.Version, c.Metrics, c.Share = buildVersion(), trace.Target{}, 1
	spans, err := r.trace(ctx, c.Texts)
	if err != nil {
		return Exported{}, err
	}
	spans = slices.DeleteFunc(spans, func(s Span) bool { return s.End.IsZero() })
	x := trace.NewExporter(c)
	defer x.Close()
	const most = 1000 // fewer than wait in the exporter
	for len(spans) > 0 && ctx.Err() == nil {
		n := min(most, len(spans))
		x.Send(spans[:n])
		x.Flush(ctx)
		if spans = spans[n:]; x.Report().Dropped > 0 {
			break
		}
	}
	report := x.Report()
	done := Exported{report.Sent, report.Rejected + report.Dropped + len(spans), report.Problem}
	if done.Left == 0 {
		r.p.forgetExport(r.id)
	}
	return done, context.Cause(ctx)
}

// collector returns where the project's runs are exported to: where the environment says, otherwise where config.yml does, if
// the user has approved that. Nothing in it is on if nothing is exported.
func (p *Project) collector() (*trace.Config, error) {
	if p.o.Trial != nil { // a test is nobody else's business
		return &trace.Config{}, nil
	}
	p = p.steady()
	c := trace.FromEnv(os.Getenv)
	c.Version = buildVersion()
	t := p.Config().Telemetry
	if c.On() || t.Endpoint == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		p.hideHeaders(c)
		return c, nil
	}
	powers := p.now().files.TelemetryPowers()
	decision, err := p.Trusted(powers, p.o.TrustDigest)
	if err != nil {
		return c, err
	}
	if !decision.Trusted {
		untrusted := decision.Error(p.Root(), powers)
		untrusted.Approve = p.now().files.Approve(powers, "")
		return c, untrusted
	}
	headers, err := texts(t.Headers, p.now().secrets)
	if err != nil {
		return c, fmt.Errorf("telemetry: %w", err)
	}
	c = c.To(t.Endpoint, t.JSON, headers)
	p.hideHeaders(c)
	return c, nil
}

// hideHeaders masks the keys of the collector in everything that is shown or stored.
func (p *Project) hideHeaders(c *trace.Config) {
	for _, t := range []trace.Target{c.Traces, c.Metrics} {
		for name, value := range t.Headers {
			if name == "Authorization" || strings.Contains(name, "Key") || strings.Contains(name, "Token") || strings.Contains(name, "Secret") {
				p.now().secrets.Masker().Add(value, value[strings.LastIndexByte(value, ' ')+1:])
			}
		}
	}
}

// Telemetry is the state of exporting, for people.
type Telemetry struct {
	Place   string   // where spans are sent to; "": nowhere
	Wrong   []string // what in the configuration is wrong
	Problem string   // of the last export of a run; ""
	Run     string   // whose spans are missing; "": that of several, or it is not known
	At      time.Time
}

// Telemetry returns where the project's runs are exported to, and what is wrong with that. The error is an *[UntrustedError] if
// the user has not approved the collector of the project.
func (p *Project) Telemetry() (Telemetry, error) {
	c, err := p.collector()
	t := Telemetry{Wrong: c.Problems}
	for _, to := range []*trace.Target{&c.Metrics, &c.Traces} {
		if to.URL != "" {
			t.Place = to.Place()
		}
	}
	note := p.exportProblem()
	t.Problem, t.Run, t.At = note.Problem, note.Run, note.At
	return t, err
}

// buildVersion returns the version of this program, "" if it is not known.
var buildVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/hocket-dev/hocket" {
			return strings.TrimPrefix(cmp.Or(m.Version, ""), "(devel)")
		}
	}
	return ""
})

// joined returns how a program of an attempt exports its own spans, nil if spans are not exported.
func joined(c *trace.Config) *agent.Telemetry {
	if c == nil || c.Traces.URL == "" {
		return nil
	}
	return &agent.Telemetry{Endpoint: c.Traces.URL, Environ: c.Environ()}
}

// parentOf returns the span of an attempt for the environment of its processes; "" if spans are not exported.
func parentOf(c *trace.Config, run string, task *engine.StartTask) string {
	if c == nil || c.Traces.URL == "" {
		return ""
	}
	return trace.Parent(run, task.Address, task.Attempt, c.Sampled(run))
}
