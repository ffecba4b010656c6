package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/trace"
)

// Live export: while a run is driven, its spans are sent when they end. Exporting follows the events of a run like
// any other observer, so the driver does not know about it, and never waits for it.
//
// Several processes may follow a run: those that resume it after each other, and on Temporal all workers. Each
// batch of events is claimed first, so that every span is sent at most once. If the process that has claimed it dies, or the collector
// is gone, it is not sent: [Run.Export] sends it later.

const (
	together = time.Second            // how long spans are collected before they are claimed
	lastCall = 800 * time.Millisecond // how long the end of a run may wait for a collector
	quiet    = time.Minute            // without events, a worker stops following a run
)

// exporting sends the spans of the runs that are followed in this process. It is safe for concurrent use.
type exporting struct {
	x       *trace.Exporter
	c       *trace.Config
	mu      sync.Mutex
	runs    map[string]*followed
	warned  trace.Report
	problem string
}

// exporting returns what exports the runs of the project, nil if nothing is exported. The text says why something is not, for people.
func (p *Project) exporting() (*exporting, string) {
	c, err := p.collector()
	why := ""
	switch {
	case errors.As(err, new(*UntrustedError)):
		why = "the collector of the project is not approved, so spans are not exported; run `hocket trust` to review it"
	case err != nil:
		why = "spans are not exported: " + err.Error()
	case len(c.Problems) > 0:
		why = "telemetry: " + c.Problems[0]
	}
	if err != nil || !c.On() {
		return nil, why
	}
	p.opened.Lock()
	defer p.opened.Unlock()
	if p.closed {
		return nil, ""
	}
	if p.exports == nil {
		p.exports = &exporting{x: trace.NewExporter(c), c: c, runs: map[string]*followed{}}
	}
	return p.exports, why
}

// followed is a run that is followed.
type followed struct {
	users int
	last  chan struct{} // closed when nobody uses it any more: what is there is read to the end
	over  chan struct{} // closed when it was
}

// follow exports what happens in a run until the function is called, which waits a moment for the rest.
func (x *exporting) follow(r *Run) (end func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.runs[r.id]
	if f == nil {
		f = &followed{last: make(chan struct{}), over: make(chan struct{})}
		x.runs[r.id] = f
		go x.export(r, f)
	}
	f.users++
	return sync.OnceFunc(func() {
		ctx, stop := context.WithTimeout(context.Background(), lastCall)
		defer stop()
		x.mu.Lock()
		if f.users--; f.users == 0 {
			close(f.last)
			if x.runs[r.id] == f {
				delete(x.runs, r.id)
			}
		}
		left := f.users > 0
		x.mu.Unlock()
		if left {
			return
		}
		select {
		case <-f.over:
			x.x.Flush(ctx)
		case <-ctx.Done():
		}
	})
}

// export reads the events of a run, and sends the spans that they end.
func (x *exporting) export(r *Run, f *followed) {
	defer close(f.over)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	b, run, err := r.builder(ctx, x.c.Texts)
	if err != nil {
		x.fail(err)
		return
	}
	claimed, _, err := r.d.ClaimExport(ctx, r.id, 0, 0)
	if err != nil {
		x.fail(err)
		return
	}
	t := &batch{x: x, r: r, claimed: claimed, sampled: x.c.Sampled(r.id)}
	type read struct {
		e   engine.Envelope
		err error
	}
	events := make(chan read)
	follow := func(ctx context.Context, after int, more bool) {
		defer close(events)
		for e, err := range r.d.Events(ctx, r.id, after, more) {
			select {
			case events <- read{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}
	following, quit := context.WithCancel(ctx)
	defer quit()
	go follow(following, 0, true)
	last, due := f.last, (<-chan time.Time)(nil)
	for {
		select {
		case got, ok := <-events:
			switch {
			case !ok && last == nil: // all that was there when nobody used it any more
				t.send(ctx)
				return
			case !ok: // the run is over
				t.send(ctx)
				<-last
				return
			case got.err != nil:
				if following.Err() == nil {
					x.fail(got.err)
				}
				continue
			}
			spans, err := step(b, run, r.id, got.e)
			if err != nil {
				x.fail(err)
				return
			}
			t.add(got.e.Seq, spans)
			if due == nil && len(t.spans) > 0 {
				due = time.After(together)
			}
		case <-due:
			due = nil
			t.send(ctx)
		case <-last:
			quit()
			last = nil
			for got := range events { // one may have been read
				if got.err == nil {
					if spans, err := step(b, run, r.id, got.e); err == nil {
						t.add(got.e.Seq, spans)
					}
				}
			}
			events = make(chan read)
			go follow(ctx, run.Seq(), false)
		}
	}
}

// batch is the spans of a run that are sent together.
type batch struct {
	x       *exporting
	r       *Run
	sampled bool
	claimed int // up to this event, somebody exports
	through int // the last event that was read
	spans   []Span
	ends    []int // the event that ended each of them
}

func (t *batch) add(seq int, spans []Span) {
	t.through = seq
	if seq <= t.claimed {
		return
	}
	for _, s := range spans {
		t.spans, t.ends = append(t.spans, s), append(t.ends, seq)
	}
}

// send claims the spans and sends them, except those that another process exports.
func (t *batch) send(ctx context.Context) {
	for len(t.spans) > 0 {
		claimed, mine, err := t.r.d.ClaimExport(ctx, t.r.id, t.claimed, t.through)
		if err != nil {
			t.x.fail(err)
			t.spans, t.ends = nil, nil
			return
		}
		if mine {
			t.x.send(t.spans, t.sampled)
			claimed = t.through
		}
		if !mine && claimed <= t.claimed { // impossible, but it must end
			return
		}
		t.claimed = claimed
		n := 0
		for n < len(t.ends) && t.ends[n] <= claimed {
			n++
		}
		t.spans, t.ends = t.spans[n:], t.ends[n:]
	}
	t.spans, t.ends = nil, nil
}

// send sends spans. Those of a trace that is not sampled only count.
func (x *exporting) send(spans []Span, sampled bool) {
	if sampled {
		x.x.Send(spans)
		return
	}
	x.x.Count(spans)
}

func (x *exporting) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.problem = err.Error()
}

// lastProblem returns what went wrong since it was asked last, as a sentence; "": nothing.
func (x *exporting) lastProblem() string {
	now := x.x.Report()
	x.mu.Lock()
	defer x.mu.Unlock()
	lost := now.Dropped + now.Rejected - x.warned.Dropped - x.warned.Rejected
	problem := x.problem
	if now.Problem != "" && (lost > 0 || now.Problem != x.warned.Problem) {
		problem = now.Problem
	}
	x.warned, x.problem = now, ""
	if lost > 0 {
		return fmt.Sprintf("%d spans were not exported: %s", lost, problem)
	}
	return problem
}

// exported exports what happens in the run until the function is called. warn is told what goes wrong; it may be nil.
func (r *Run) exported(warn func(string)) (end func()) {
	x, why := r.p.exporting()
	if warn == nil {
		warn = func(string) {}
	}
	if why != "" {
		warn(why)
	}
	if x == nil {
		return func() {}
	}
	stop := x.follow(r)
	return func() {
		stop()
		problem := x.lastProblem()
		r.p.noteExport(r.id, problem)
		if problem != "" {
			warn(problem + "; to send them later, run `hocket trace " + r.id + " --export`")
		}
	}
}

// visits are runs that a worker follows because something happened in them. It follows none that only waits.
type visits struct {
	x *exporting

	mu   sync.Mutex
	ends map[string]func()
	left map[string]*time.Timer
}

// exportWork exports the runs for which a worker of the project does something, or that end. Other workers do the same: what
// one has claimed, the others leave. happened says that something happened in a run.
func (p *Project) exportWork(ctx context.Context, d driver.Driver, warn func(string)) (happened func(run string), end func()) {
	x, why := p.exporting()
	if why != "" && warn != nil {
		warn(why)
	}
	if x == nil {
		return func(string) {}, func() {}
	}
	v := &visits{x: x, ends: map[string]func(){}, left: map[string]*time.Timer{}}
	happened = func(run string) { v.visit(p.handle(d, run)) }
	watching, stop := context.WithCancel(ctx)
	go func() {
		counts, err := d.Count(watching, time.Now())
		if err != nil {
			return // runs end with an attempt, most of them
		}
		for change, err := range d.Watch(watching, counts.Version) {
			if err == nil && change.Kind == driver.Moved && change.Info.Status.Done() {
				happened(change.Run)
			}
		}
	}()
	return happened, func() {
		stop()
		v.end()
		problem := x.lastProblem()
		p.noteExport("", problem)
		if problem != "" && warn != nil {
			warn(problem)
		}
	}
}

// visit follows a run until nothing has happened for a while.
func (v *visits) visit(r *Run) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ends == nil {
		return
	}
	if t := v.left[r.id]; t != nil && t.Stop() {
		t.Reset(quiet)
		return
	}
	end := v.x.follow(r)
	v.ends[r.id] = end
	v.left[r.id] = time.AfterFunc(quiet, func() {
		v.mu.Lock()
		delete(v.ends, r.id)
		delete(v.left, r.id)
		v.mu.Unlock()
		end()
	})
}

// end stops following all runs.
func (v *visits) end() {
	v.mu.Lock()
	ends := v.ends
	v.ends = nil
	v.mu.Unlock()
	var all sync.WaitGroup
	for _, end := range ends {
		all.Go(end)
	}
	all.Wait()
}

// exportNote is the file with what went wrong with the last export, for those who ask later.
type exportNote struct {
	At      time.Time `json:"at"`
	Problem string    `json:"problem"`
	Run     string    `json:"run,omitempty"` // whose spans are missing; "": those of several
}

func (p *Project) exportFile() string { return filepath.Join(p.State(), "telemetry.json") }

// noteExport stores what went wrong with a run, or that the last one was exported. That it cannot be stored changes nothing.
func (p *Project) noteExport(run, problem string) {
	before := p.exportProblem()
	switch {
	case problem == "" && before.Problem != "":
		_ = os.Remove(p.exportFile())
	case problem != "" && (before.Problem != problem || before.Run != run):
		if data, err := json.Marshal(exportNote{time.Now().UTC(), problem, run}); err == nil {
			_ = wholefile.Write(p.exportFile(), data, 0o600)
		}
	}
}

// forgetExport forgets what went wrong with a run whose spans were sent later.
func (p *Project) forgetExport(run string) {
	if before := p.exportProblem(); before.Run == run || before.Run == "" {
		p.noteExport(run, "")
	}
}

// exportProblem returns what went wrong last; a zero note if nothing did.
func (p *Project) exportProblem() (n exportNote) {
	data, err := os.ReadFile(p.exportFile())
	if err != nil || json.Unmarshal(data, &n) != nil {
		return exportNote{}
	}
	return n
}
