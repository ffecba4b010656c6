package local_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// agentFunc is an agent for all tasks.
type agentFunc func(ctx context.Context, task *engine.StartTask, log agent.Log) driver.Outcome

func (f agentFunc) Run(ctx context.Context, _ string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	return f(ctx, task, at.Log)
}

// echo returns the prompt.
var echo = agentFunc(func(_ context.Context, task *engine.StartTask, _ agent.Log) driver.Outcome {
	return driver.Outcome{Output: task.Prompt}
})

func failing(fault engine.Fault) agentFunc {
	return func(context.Context, *engine.StartTask, agent.Log) driver.Outcome {
		return driver.Outcome{Fault: &fault}
	}
}

func openStore(t testing.TB) *journal.Store {
	t.Helper()
	s, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func task(id, prompt string) workflow.Node {
	return workflow.Node{ID: id, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: prompt}}}
}

func gate(id string, options ...string) workflow.Node {
	h := &workflow.Human{Question: workflow.Template{Text: id + "?"}}
	for _, o := range options {
		h.Options = append(h.Options, workflow.Option{Value: o})
	}
	return workflow.Node{ID: id, Step: h}
}

func chain(nodes ...workflow.Node) *workflow.Bundle {
	g := workflow.Graph{Nodes: nodes}
	for i := range nodes[1:] {
		g.Edges = append(g.Edges, workflow.Edge{From: nodes[i].ID, To: nodes[i+1].ID})
	}
	return &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: g}}
}

func spec(b *workflow.Bundle) driver.Spec {
	return driver.Spec{Run: "demo-1", Pin: &driver.Pin{Bundle: b, Dir: "/project"}, Limits: workflow.Limits{Steps: 100, Parallel: 10, Runtime: time.Hour}}
}

func start(t *testing.T, s *journal.Store, b *workflow.Bundle, o work) engine.Result {
	t.Helper()
	res, err := startRun(t.Context(), s, spec(b), o)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return res
}

func resume(t *testing.T, s *journal.Store, o work) engine.Result {
	t.Helper()
	res, err := driveRun(t.Context(), s, "demo-1", o)
	if err != nil {
		t.Fatalf("resume: %v", err)
	}
	return res
}

// listed returns the status in the list of runs.
func listed(t *testing.T, s *journal.Store) engine.Status {
	t.Helper()
	r, err := s.Find(context.Background(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

func TestListOfRunsFollows(t *testing.T) {
	s := openStore(t)
	b := chain(task("a", "x"), gate("ok", "yes"), task("b", "y"))
	start(t, s, b, work{Agents: echo})
	if got := listed(t, s); got != engine.Waiting {
		t.Errorf("at the gate the list says %s", got)
	}
	receipt, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", "ann")
	if err != nil || receipt.Driven || receipt.Status != engine.Running {
		t.Errorf("Answer = %+v, %v", receipt, err)
	}
	if got := listed(t, s); got != engine.Running {
		t.Errorf("after the answer the list says %s", got)
	}
	resume(t, s, work{Agents: echo})
	if got := listed(t, s); got != engine.Success {
		t.Errorf("at the end the list says %s", got)
	}
	receipt, err = cancelRun(t.Context(), s, "demo-1", "ann", "")
	var refused *driver.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("Cancel at the end = %+v, %v", receipt, err)
	}
}

// The driver was killed before it could record that the run is over.
func TestStaleListIsCorrected(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(task("a", "x")), work{Agents: echo})
	w, err := s.Writer(t.Context(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(journal.Batch{Summary: &journal.Summary{Status: engine.Running}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	resume(t, s, work{Agents: echo})
	if got := listed(t, s); got != engine.Success {
		t.Errorf("the list says %s", got)
	}
}

func TestNewID(t *testing.T) {
	for name, want := range map[string]string{
		"full-review":               `^full-review-[0-9a-z]{8}$`,
		"az.AZ_09-`{/:@[x":          `^az\.az_09-{7}x-[0-9a-z]{8}$`,
		"Größe & So":                `^gr--e---so-[0-9a-z]{8}$`,
		"../..":                     `^run-[0-9a-z]{8}$`,
		"":                          `^run-[0-9a-z]{8}$`,
		strings.Repeat("long ", 20): `^(long-){8}[0-9a-z]{8}$`,
	} {
		if got := local.NewID(name); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("NewID(%q) = %q", name, got)
		}
	}
	one, two := local.NewID("x"), local.NewID("x")
	if one == two {
		t.Error("two ids are the same")
	}
}

func TestLogsAndFacts(t *testing.T) {
	s := openStore(t)
	watch := &recorder{}
	res, err := startRun(t.Context(), s, spec(chain(task("a", "x"))), work{
		Observer: watch,
		Agents: agentFunc(func(_ context.Context, _ *engine.StartTask, log agent.Log) driver.Outcome {
			log([]byte("one\n"))
			log([]byte("two\n"))
			return driver.Outcome{Output: "done"}
		}),
	})
	if err != nil || res.Status != engine.Success {
		t.Fatal(res.Status, err)
	}
	want := []string{"step_started a", "attempt_started a", "log a@1 one", "log a@1 two", "step_ended a", "run_ended "}
	if diff := cmp.Diff(want, watch.seen); diff != "" {
		t.Errorf("the observer saw (-want +got):\n%s", diff)
	}
	if got := readStream(t, s, driver.Output); got != "one\ntwo\n" {
		t.Errorf("the log holds %q", got)
	}
}

// recorder records the facts it sees.
type recorder struct {
	mu   sync.Mutex
	seen []string
	stop func() // called with the first fact
}

func (r *recorder) Fact(f engine.Fact) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil && r.stop != nil {
		r.stop()
	}
	r.seen = append(r.seen, string(f.Kind)+" "+f.Address)
}

func (r *recorder) Log(address string, attempt int, piece []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, fmt.Sprintf("log %s@%d %s", address, attempt, strings.TrimSpace(string(piece))))
}

func TestPanicIsInTheLog(t *testing.T) {
	s := openStore(t)
	res := start(t, s, chain(task("a", "")), work{Agents: agentFunc(
		func(context.Context, *engine.StartTask, agent.Log) driver.Outcome { panic("oh no") })})
	if res.Status != engine.Failed || !strings.Contains(res.Steps[0].Error, "the agent panicked: oh no") {
		t.Errorf("%s: %s", res.Status, res.Steps[0].Error)
	}
	if log := readStream(t, s, driver.Output); !strings.Contains(log, "local_test.go") {
		t.Errorf("the log has no stack: %s", log)
	}
}

// The driver waits for a quota that resets soon, but not for one that resets later.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		quota time.Duration
		want  engine.Status
	}{{30 * time.Second, engine.Success}, {2 * time.Hour, engine.Waiting}} {
		synctest.Test(t, func(t *testing.T) {
			s := openStore(t)
			began := time.Now()
			o := work{Poll: time.Hour, Agents: agentFunc(func(context.Context, *engine.StartTask, agent.Log) driver.Outcome {
				if time.Since(began) < c.quota {
					return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultQuota, Message: "wait", Until: began.Add(c.quota)}}
				}
				return driver.Outcome{Output: "ok"}
			})}
			if res := start(t, s, chain(task("a", "")), o); res.Status != c.want {
				t.Errorf("quota of %s: the run is %s", c.quota, res.Status)
			}
			time.Sleep(c.quota)
			if res := resume(t, s, o); res.Status != engine.Success {
				t.Errorf("after %s the run is %s", c.quota, res.Status)
			}
		})
	}
}

// Retries wait as long as they should, and time during which the run is not driven does
// not count.
func TestTimeInARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		n := task("a", "")
		n.Retry = workflow.Retry{Attempts: 4, Backoff: workflow.Exponential, Delay: time.Minute}
		began := time.Now()
		res := start(t, s, chain(n), work{Poll: time.Hour, Agents: failing(engine.Fault{Kind: engine.FaultError, Message: "no"})})
		took := time.Since(began)
		if res.Status != engine.Failed || took < 6*time.Minute || took > 7*time.Minute {
			t.Errorf("%s after %s", res.Status, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		sp := spec(chain(task("a", ""), gate("ok", "yes"), task("b", "")))
		sp.Limits.Runtime = 10 * time.Minute
		slow := agentFunc(func(ctx context.Context, _ *engine.StartTask, _ agent.Log) driver.Outcome {
			time.Sleep(4 * time.Minute)
			return driver.Outcome{}
		})
		o := work{Poll: time.Hour, Agents: slow}
		if _, err := startRun(t.Context(), s, sp, o); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Hour)
		if _, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Hour)
		if res := resume(t, s, o); res.Status != engine.Success {
			t.Errorf("the run is %s: %s", res.Status, res.Error)
		}
	})
}

// Answering a run that was interrupted days ago does not make it time out.
func TestAnswerAfterInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		b := &workflow.Bundle{Root: &workflow.Workflow{Name: "demo", Body: workflow.Graph{Nodes: []workflow.Node{task("a", ""), gate("ok", "yes")}}}}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := startRun(ctx, s, spec(b), work{Agents: agentFunc(func(ctx context.Context, _ *engine.StartTask, _ agent.Log) driver.Outcome {
			cancel()
			<-ctx.Done()
			return driver.Outcome{}
		})})
		var interrupted *driver.InterruptedError
		if !errors.As(err, &interrupted) || !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Hour)
		if _, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Hour)
		slow := agentFunc(func(context.Context, *engine.StartTask, agent.Log) driver.Outcome {
			time.Sleep(time.Minute) // long enough for every timer that is due
			return driver.Outcome{}
		})
		if res := resume(t, s, work{Agents: slow}); res.Status != engine.Success {
			t.Errorf("the run is %s: %s", res.Status, res.Error)
		}
	})
}

// An agent that ignores cancellation does not hang the driver.
func TestStubbornAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		_, err := startRun(ctx, s, spec(chain(task("a", ""))), work{Poll: time.Hour, Agents: agentFunc(func(context.Context, *engine.StartTask, agent.Log) driver.Outcome {
			cancel()
			<-release
			return driver.Outcome{}
		})})
		if err == nil || !strings.Contains(err.Error(), "1 attempts did not stop within 10s") {
			t.Errorf("%v", err)
		}
		close(release)
	})
}

// Answers recorded while the run is not driven, and messages to the process that drives
// it, use the driver's clock too.
func TestActsHaveTheTimeOfTheClock(t *testing.T) {
	now := time.Date(2036, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := work{Clock: &setClock{now: now}, Agents: echo, Poll: time.Millisecond}
	answer := func(s *journal.Store) {
		t.Helper()
		err := with(s, clock, func(d *local.Driver) error {
			_, err := d.Act(t.Context(), "demo-1", &engine.Answered{ID: "ok", Value: "yes"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	idle := openStore(t)
	start(t, idle, chain(gate("ok", "yes")), clock)
	answer(idle)

	driven, p, done := openStore(t), &person{done: make(chan struct{})}, make(chan error)
	asked := clock
	asked.Asker = p
	go func() {
		_, err := startRun(context.Background(), driven, spec(chain(gate("ok", "yes"))), asked)
		done <- err
	}()
	<-p.done
	answer(driven)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, s := range []*journal.Store{idle, driven} {
		_, events, err := loadRun(t.Context(), s, "demo-1")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if !e.Time.Equal(now) {
				t.Errorf("%T happened at %s", e.Event, e.Time)
			}
		}
	}
}

// Durations do not depend on the wall clock: timeouts and retries come when they are due,
// and nothing ends early.
func TestWallClockIsSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &setClock{now: time.Now()}
				slow, flaky, steady := task("slow", ""), task("flaky", ""), task("steady", "fine")
				slow.Timeout, slow.OnError = 2*time.Second, workflow.Continue
				flaky.Retry = workflow.Retry{Attempts: 2, Delay: 10 * time.Second}
				steady.Timeout = 10 * time.Minute
				began := time.Now()
				res := start(t, openStore(t), chain(slow, flaky, steady), work{Clock: c, Poll: 200 * time.Millisecond, Agents: agentFunc(func(ctx context.Context, task *engine.StartTask, _ agent.Log) driver.Outcome {
					time.Sleep(500 * time.Millisecond)
					c.set(c.Now().Add(by))
					switch {
					case task.Node == "slow":
						<-ctx.Done()
					case task.Node == "flaky" && task.Attempt == 1:
						return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "boom"}}
					}
					time.Sleep(500 * time.Millisecond)
					return driver.Outcome{Output: task.Prompt}
				})})
				if res.Status != engine.Partial || res.Output != "fine" || res.Steps[0].Status != engine.TimedOut || res.Steps[1].Attempts != 2 {
					t.Errorf("%s %v: %+v", res.Status, res.Output, res.Steps)
				}
				if took := time.Since(began); took < 13*time.Second || took > 16*time.Second {
					t.Errorf("it took %s", took)
				}
				if ms := res.Steps[0].DurationMS; ms < 2000 || ms > 2600 {
					t.Errorf("a timeout of 2s ended the step after %d ms", ms)
				}
			})
		})
	}
}

// A run that this process has claimed starts when it is driven, even if the wall clock
// was changed after it was recorded.
func TestWallClockIsSetBeforeTheStart(t *testing.T) {
	c := &setClock{now: time.Now()}
	slow := task("a", "fine")
	slow.Timeout = time.Minute
	one := spec(chain(slow))
	one.Owner.Claimed, one.Limits.Runtime = true, time.Minute
	w := work{Clock: c, Agents: echo}
	err := with(openStore(t), w, func(d *local.Driver) error {
		made, err := d.Start(t.Context(), one)
		if err != nil {
			return err
		}
		c.set(c.Now().Add(time.Hour))
		res, err := d.Drive(t.Context(), made.Run, w.driver())
		if res.Status != engine.Success {
			t.Errorf("%s: %+v", res.Status, res.Steps)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// setClock is a clock whose wall clock can be set. Its monotonic time runs normally.
type setClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *setClock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

func (c *setClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

var began = time.Now()

func (c *setClock) Elapsed() time.Duration { return time.Since(began) }

func (c *setClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}
