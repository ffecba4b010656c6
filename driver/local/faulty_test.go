package local_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
)

// fault is a driver that neglects a duty.
type fault struct {
	duty     int
	neglects string
	scenario string // the one that detects it
	finds    string // the scenario's message; "" if it times out
	change   func(f *faulty)
}

// faulty is a driver with some methods replaced.
type faulty struct {
	drivertest.Process
	clock  local.Clock // the clock the driver was opened with
	start  func(driver.Spec) driver.Spec
	agents func(next driver.Agents) attemptFunc
	work   func(w driver.Work) driver.Work
	drive  func(ctx context.Context, run string, w driver.Work) (engine.Result, error)
	act    func(ctx context.Context, run string, ev engine.Event) (driver.Receipt, error)
	events func(e engine.Envelope) []engine.Envelope
	fork   func(driver.ForkSpec) driver.ForkSpec
	output func(text string, err error) (string, error)
	info   func(driver.Info) driver.Info
	watch  func(ctx context.Context)
}

// attemptFunc runs attempts.
type attemptFunc func(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome

func (f attemptFunc) Run(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	return f(ctx, run, task, at)
}

func (f *faulty) Start(ctx context.Context, s driver.Spec) (driver.Created, error) {
	if f.start != nil {
		s = f.start(s)
	}
	return f.Process.Start(ctx, s)
}

func (f *faulty) Drive(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
	if f.agents != nil {
		w.Agents = f.agents(w.Agents)
	}
	if f.work != nil {
		w = f.work(w)
	}
	if f.drive != nil {
		return f.drive(ctx, run, w)
	}
	return f.Process.Drive(ctx, run, w)
}

func (f *faulty) Act(ctx context.Context, run string, ev engine.Event) (driver.Receipt, error) {
	if f.act != nil {
		return f.act(ctx, run, ev)
	}
	return f.Process.Act(ctx, run, ev)
}

func (f *faulty) Events(ctx context.Context, run string, after int, follow bool) iter.Seq2[engine.Envelope, error] {
	return func(yield func(engine.Envelope, error) bool) {
		for e, err := range f.Process.Events(ctx, run, after, follow) {
			list := []engine.Envelope{e}
			if f.events != nil && err == nil {
				list = f.events(e)
			}
			for _, e := range list {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

func (f *faulty) Fork(ctx context.Context, s driver.ForkSpec) (driver.Created, error) {
	if f.fork != nil {
		s = f.fork(s)
	}
	return f.Process.Fork(ctx, s)
}

func (f *faulty) Output(ctx context.Context, run string, seq int) (string, error) {
	text, err := f.Process.Output(ctx, run, seq)
	if f.output != nil {
		return f.output(text, err)
	}
	return text, err
}

func (f *faulty) Info(ctx context.Context, run string) (driver.Info, error) {
	i, err := f.Process.Info(ctx, run)
	if f.info != nil {
		i = f.info(i)
	}
	return i, err
}

func (f *faulty) Watch(ctx context.Context, since int64) iter.Seq2[driver.Change, error] {
	if f.watch != nil {
		return func(func(driver.Change, error) bool) { f.watch(ctx) }
	}
	return f.Process.Watch(ctx, since)
}

// faultyWorld opens drivers with a fault.
type faultyWorld struct {
	world
	change func(f *faulty)
}

func (w faultyWorld) Driver(t testing.TB, now func() time.Time) drivertest.Process {
	f := &faulty{clock: machine{now}}
	w.change(f) // for the clock
	d, err := local.Open(w.dir, local.Options{Clock: f.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	f.Process = process{d}
	return f
}

// brokenClock is a clock with one function replaced.
type brokenClock struct {
	local.Clock
	elapsed func() time.Duration
	timer   func(time.Duration) (<-chan time.Time, func())
}

func (c brokenClock) Elapsed() time.Duration {
	if c.elapsed != nil {
		return c.elapsed()
	}
	return c.Clock.Elapsed()
}

func (c brokenClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	if c.timer != nil {
		return c.timer(d)
	}
	return c.Clock.Timer(d)
}

// asks replaces the function with which attempts ask.
func asks(ask func(next agent.Ask) agent.Ask) func(driver.Agents) attemptFunc {
	return func(next driver.Agents) attemptFunc {
		return func(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
			at.Ask = ask(at.Ask)
			return next.Run(ctx, run, task, at)
		}
	}
}

// forgetful never withdraws a question.
type forgetful struct{ driver.Asker }

func (forgetful) Withdraw(string) {}

func each(change func(e *engine.Envelope)) func(engine.Envelope) []engine.Envelope {
	return func(e engine.Envelope) []engine.Envelope {
		change(&e)
		return []engine.Envelope{e}
	}
}

var faults = []fault{
	{1, "records other values than it steps", "order", "do not lead to it", func(f *faulty) {
		f.events = each(func(e *engine.Envelope) {
			if s, ok := e.Event.(*engine.Started); ok {
				other := *s
				other.Inputs = map[string]any{"x": "other"}
				e.Event = &other
			}
		})
	}},
	{2, "begins an attempt before its cause is recorded", "order", "do not lead to it", func(f *faulty) {
		f.events = func(engine.Envelope) []engine.Envelope { return nil }
	}},
	{2, "loses an event", "sequence", "does not fit", func(f *faulty) {
		f.events = func(e engine.Envelope) []engine.Envelope {
			if e.Seq == 2 {
				return nil
			}
			return []engine.Envelope{e}
		}
	}},
	{3, "never ends a task", "sequence", "", func(f *faulty) {
		f.agents = func(driver.Agents) attemptFunc {
			return func(ctx context.Context, _ string, _ *engine.StartTask, _ driver.Attempt) driver.Outcome {
				<-ctx.Done()
				return driver.Outcome{}
			}
		}
	}},
	{3, "makes one attempt at a time", "fan out", "", func(f *faulty) {
		var one sync.Mutex
		f.agents = func(next driver.Agents) attemptFunc {
			return func(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				one.Lock()
				defer one.Unlock()
				return next.Run(ctx, run, task, at)
			}
		}
	}},
	{4, "retries no attempt that panicked", "panic", "-want +got", func(f *faulty) {
		f.agents = func(next driver.Agents) attemptFunc {
			return func(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) (out driver.Outcome) {
				defer func() {
					if recover() != nil {
						out.Fault = &engine.Fault{Kind: engine.FaultError, Permanent: true}
					}
				}()
				return next.Run(ctx, run, task, at)
			}
		}
	}},
	{4, "panics itself", "sequence", "the driver panicked: oh no", func(f *faulty) {
		f.drive = func(context.Context, string, driver.Work) (engine.Result, error) { panic("oh no") }
	}},
	{5, "tells no attempt to end", "attempt times out", "", func(f *faulty) {
		f.agents = func(next driver.Agents) attemptFunc {
			return func(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				return next.Run(context.WithoutCancel(ctx), run, task, at)
			}
		}
	}},
	{6, "fires no timer", "retries", "", func(f *faulty) {
		f.clock = brokenClock{Clock: f.clock, timer: func(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }}
	}},
	{6, "fires timers early", "clock set", "", func(f *faulty) {
		next := f.clock
		f.clock = brokenClock{Clock: f.clock, elapsed: func() time.Duration { return next.Elapsed() * 1e6 },
			timer: func(d time.Duration) (<-chan time.Time, func()) { return next.Timer(d / 1e6) }}
	}},
	{7, "measures durations with the wall clock", "clock set", "", func(f *faulty) {
		next := f.clock
		f.clock = brokenClock{Clock: f.clock, elapsed: func() time.Duration { return time.Duration(next.Now().UnixNano()) }}
	}},
	{7, "records what the wall clock shows", "clock set", "before what came before it", func(f *faulty) {
		f.events = each(func(e *engine.Envelope) { e.Time = e.Time.Add(-time.Duration(e.Seq) * time.Hour) })
	}},
	{8, "takes every answer", "answer while nobody drives", `"perhaps" was taken`, func(f *faulty) {
		f.act = func(ctx context.Context, run string, ev engine.Event) (driver.Receipt, error) {
			receipt, _ := f.Process.Act(ctx, run, ev)
			return receipt, nil
		}
	}},
	{9, "gives an answer the time at which it is read", "deadline", "in-time", func(f *faulty) {
		var late []engine.Event
		f.act = func(_ context.Context, _ string, ev engine.Event) (driver.Receipt, error) {
			late = append(late, ev)
			return driver.Receipt{}, nil
		}
		f.drive = func(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
			for _, ev := range late {
				_, _ = f.Process.Act(ctx, run, ev)
			}
			late = nil
			return f.Process.Drive(ctx, run, w)
		}
	}},
	{10, "gives no attempt its answer", "permission", "", func(f *faulty) {
		f.agents = asks(func(next agent.Ask) agent.Ask {
			return func(ctx context.Context, q agent.Question) (string, error) {
				_, _ = next(ctx, q)
				<-ctx.Done()
				return "", ctx.Err()
			}
		})
	}},
	{10, "leaves a question open that nobody waits for", "withdrawn question", "", func(f *faulty) {
		f.agents = asks(func(next agent.Ask) agent.Ask {
			return func(ctx context.Context, q agent.Question) (string, error) {
				go next(context.WithoutCancel(ctx), q)
				<-ctx.Done()
				return "", ctx.Err()
			}
		})
	}},
	{11, "asks nobody", "somebody is here", "", func(f *faulty) {
		f.work = func(w driver.Work) driver.Work {
			w.Asker = nil
			return w
		}
	}},
	{11, "takes no question back", "answered elsewhere", "taken back", func(f *faulty) {
		f.work = func(w driver.Work) driver.Work {
			w.Asker = forgetful{w.Asker}
			return w
		}
	}},
	{12, "makes everything again", "crash", "was recorded and made 2 times", func(f *faulty) {
		f.drive = func(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
			if evs := slices.Collect(keys(f.Process.Events(ctx, run, 0, false))); len(evs) > 1 {
				started := evs[0].Event.(*engine.Started)
				pin, err := f.Pin(ctx, run)
				err = errors.Join(err, f.Delete(ctx, run))
				_, again := f.Process.Start(ctx, driver.Spec{Run: run, Pin: pin, Inputs: started.Inputs, Limits: started.Limits})
				if err := errors.Join(err, again); err != nil {
					return engine.Result{}, err
				}
			}
			return f.Process.Drive(ctx, run, w)
		}
	}},
	{13, "takes what is lost for free", "unsettled", "the cost of lost attempts is unknown", func(f *faulty) {
		f.events = each(func(e *engine.Envelope) {
			if _, ok := e.Event.(*engine.Recovered); ok {
				e.Event = &engine.Recovered{}
			}
		})
	}},
	{14, "does not say that nobody begins a run", "recorded and not begun", "waiting", func(f *faulty) {
		f.start = func(s driver.Spec) driver.Spec {
			s.Owner.Claimed = true
			return s
		}
	}},
	{15, "leaves attempts behind", "interrupt", "an attempt still runs", func(f *faulty) {
		f.drive = func(ctx context.Context, run string, w driver.Work) (res engine.Result, err error) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				res, err = f.Process.Drive(ctx, run, w)
			}()
			select {
			case <-done:
				return res, err
			case <-ctx.Done():
				return engine.Result{}, &driver.InterruptedError{Run: run}
			}
		}
	}},
	{16, "records something after the end", "over", "does not fit", func(f *faulty) {
		f.events = func(e engine.Envelope) []engine.Envelope {
			if _, ok := e.Event.(*engine.TaskEnded); ok {
				return []engine.Envelope{e, {Seq: e.Seq + 1, Time: e.Time, Event: &engine.Recovered{}}}
			}
			return []engine.Envelope{e}
		}
	}},
	{17, "cuts long outputs off", "long output", "has the output", func(f *faulty) {
		f.output = func(text string, err error) (string, error) { return text[:min(len(text), 1000)], err }
	}},
	{17, "fails a step whose input cannot be read", "unreadable output", "cannot be read: error", func(f *faulty) {
		f.drive = func(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
			res, err := f.Process.Drive(ctx, run, w)
			if errors.As(err, new(*engine.LoadError)) {
				res.Status, err = engine.Failed, nil
			}
			return res, err
		}
	}},
	{18, "goes on after a defect", "defect", "<nil>", func(f *faulty) {
		f.drive = func(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
			res, err := f.Process.Drive(ctx, run, w)
			if errors.As(err, new(*driver.BrokenError)) {
				err = nil
			}
			return res, err
		}
	}},
	{19, "drives a run that another one drives", "two drivers", "a second driver returned", func(f *faulty) {
		f.drive = func(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
			res, err := f.Process.Drive(ctx, run, w)
			if errors.As(err, new(*driver.HeldError)) {
				err = nil
			}
			return res, err
		}
	}},
	{20, "leaves programs running", "left running", "", func(f *faulty) {
		f.agents = func(next driver.Agents) attemptFunc {
			return func(ctx context.Context, _ string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				return next.Run(ctx, "another", task, at)
			}
		}
	}},
	{21, "starts a run again", "start key", "the same request again", func(f *faulty) {
		f.start = func(s driver.Spec) driver.Spec {
			s.Key = ""
			return s
		}
	}},
	{22, "takes a run for free that is claimed", "two drivers", "", func(f *faulty) {
		f.info = func(i driver.Info) driver.Info {
			i.Driven = false
			return i
		}
	}},
	{22, "reports no changes", "watch", "", func(f *faulty) {
		f.watch = func(ctx context.Context) { <-ctx.Done() }
	}},
	{23, "reports an event twice", "follow", "followed", func(f *faulty) {
		f.events = func(e engine.Envelope) []engine.Envelope { return []engine.Envelope{e, e} }
	}},
	{24, "makes the step again in place of taking its output", "fork", "after 2 attempts", func(f *faulty) {
		f.fork = func(s driver.ForkSpec) driver.ForkSpec {
			s.Output = nil
			return s
		}
	}},
	{26, "returns a new plan without its bundle", "new plan after the end", "does not fit", func(f *faulty) {
		f.events = func(e engine.Envelope) []engine.Envelope {
			if plan, ok := e.Event.(*engine.Replanned); ok {
				without := *plan
				without.Bundle, e.Event = nil, &without
			}
			return []engine.Envelope{e}
		}
	}},
	{25, "reads no script", "script", "-want +got", func(f *faulty) {
		f.work = func(w driver.Work) driver.Work {
			w.Script = nil
			return w
		}
	}},
	{25, "is slow when its observer is", "observer", "", func(f *faulty) {
		f.agents = func(next driver.Agents) attemptFunc {
			return func(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				if task.Node == "b" {
					<-ctx.Done()
				}
				return next.Run(ctx, run, task, at)
			}
		}
	}},
}

func keys(events iter.Seq2[engine.Envelope, error]) iter.Seq[engine.Envelope] {
	return func(yield func(engine.Envelope) bool) {
		for e := range events {
			if !yield(e) {
				return
			}
		}
	}
}

// verdict records the messages of a scenario.
type verdict struct {
	testing.TB
	mu   sync.Mutex
	says strings.Builder
}

func (v *verdict) Errorf(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintf(&v.says, format+"\n", args...)
}

// A driver that neglects a duty fails a scenario for that duty, and the scenario does not
// hang.
func TestFaultyDrivers(t *testing.T) {
	tested := map[int]bool{}
	for _, f := range faults {
		tested[f.duty] = true
		t.Run(f.neglects, func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(drivertest.Scenarios, func(s drivertest.Scenario) bool { return s.Name == f.scenario })
			s := drivertest.Scenarios[at]
			if !slices.Contains(s.Proves, f.duty) && f.neglects != "panics itself" {
				t.Errorf("%q does not prove duty %d", s.Name, f.duty)
			}
			limit := drivertest.Limit
			if f.finds == "" {
				limit = time.Second / 2
			}
			v := &verdict{TB: t}
			s.Play(v, func(t testing.TB) drivertest.World {
				dir, err := os.MkdirTemp("", "faulty")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a hanging driver may still write
				return faultyWorld{world{dir}, f.change}
			}, limit)
			if says := v.says.String(); says == "" || !strings.Contains(says, f.finds) {
				t.Errorf("%q does not find it: %.2000s", s.Name, says)
			}
		})
	}
	for _, s := range drivertest.Scenarios {
		for _, duty := range s.Proves {
			if !tested[duty] {
				t.Errorf("there is no driver that neglects duty %d", duty)
			}
		}
	}
}
