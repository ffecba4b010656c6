package temporal_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	hocketagent "github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
)

// The only worker leaves while an attempt is in progress. The attempt can still ask somebody, and its end is recorded.
func TestAskWhileLeaving(t *testing.T) {
	needsServer(t)
	t.Parallel()
	o := options(newName(), temporal.Folder(t.TempDir()))
	d := open(t, o)
	begin(t, d, chain(task("a")))
	begun, leave, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	asks := agent(func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
		close(begun)
		<-leave
		time.Sleep(time.Second) // the worker has stopped what it stops at once
		said, err := at.Ask(ctx, hocketagent.Question{Text: "May I?", Options: []string{"yes"}})
		if err != nil {
			said = err.Error()
		}
		return driver.Outcome{Output: said}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		ended <- d.Work(ctx, driver.Worker{Name: newName(), Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
			return driver.Work{Agents: asks, Elsewhere: true}, func() {}, nil
		}}, leave)
	}()
	<-begun
	close(leave)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		open, err := d.Questions(ctx, driver.QuestionFilter{Run: "run-1"})
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("nobody is asked: %v", err)
		}
		if len(open) > 0 {
			if _, err := d.Act(ctx, "run-1", &engine.Answered{ID: open[0].ID, Value: "yes", By: "ann", Digest: open[0].Digest}); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if err := <-ended; err != nil || ctx.Err() != nil {
		t.Errorf("%v %v", err, ctx.Err())
	}
	if i, err := d.Info(t.Context(), "run-1"); err != nil || i.Status != engine.Success {
		t.Errorf("%+v %v", i, err)
	}
}

// A worker that makes one attempt at once makes another one while that waits for an answer, and none while it goes on,
// whatever their queues.
func TestOneAtOnce(t *testing.T) {
	needsServer(t)
	t.Parallel()
	o := options(newName(), temporal.Folder(t.TempDir()))
	d := open(t, o)
	g := workflow.Graph{Nodes: []workflow.Node{task("asks"), task("b"), task("c"), task("d")}}
	spec := driver.Spec{
		Run: "run-1", Limits: workflow.Limits{Steps: 100, Parallel: 10},
		Pin: &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "wide", Body: g}}, Sites: map[string]driver.Site{"wide/c": {Queue: "gpu"}, "wide/d": {Queue: "gpu"}}},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := d.Start(ctx, spec); err != nil {
		t.Fatal(err)
	}
	var active, others atomic.Int32
	enter := func() {
		if n := active.Add(1); n > 1 {
			t.Errorf("%d attempts at once", n)
		}
		time.Sleep(300 * time.Millisecond)
		active.Add(-1)
	}
	asks := agent(func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
		enter()
		if task.Node != "asks" {
			others.Add(1)
			return driver.Outcome{}
		}
		_, err := at.Ask(ctx, hocketagent.Question{Text: "May I?", Options: []string{"yes"}})
		if err != nil {
			t.Error(err)
		}
		enter()
		return driver.Outcome{}
	})
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- d.Work(working, driver.Worker{Name: newName(), Most: 1, Queues: []string{"gpu"}, Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
			return driver.Work{Agents: asks, Elsewhere: true}, func() {}, nil
		}}, nil)
	}()
	for others.Load() < 3 {
		if time.Sleep(50 * time.Millisecond); ctx.Err() != nil {
			t.Fatalf("only %d others", others.Load())
		}
	}
	for ctx.Err() == nil {
		open, err := d.Questions(ctx, driver.QuestionFilter{Run: "run-1"})
		if err != nil {
			t.Fatal(err)
		}
		if len(open) > 0 {
			if _, err := d.Act(ctx, "run-1", &engine.Answered{ID: open[0].ID, Value: "yes", By: "ann", Digest: open[0].Digest}); err != nil {
				t.Fatal(err)
			}
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if res, err := d.Drive(ctx, "run-1", driver.Work{}); err != nil || res.Status != engine.Success {
		t.Errorf("%+v %v", res, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Steps with short timeouts wait for a worker that makes one attempt at once, and do not time out meanwhile.
func TestCrowdedWorker(t *testing.T) {
	needsServer(t)
	t.Parallel()
	d := open(t, options(newName(), temporal.Folder(t.TempDir())))
	var g workflow.Graph
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		n := task(id)
		n.Timeout = 4 * time.Second
		g.Nodes = append(g.Nodes, n)
	}
	spec := driver.Spec{
		Run: "run-1", Limits: workflow.Limits{Steps: 100, Parallel: 10},
		Pin: &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "wide", Body: g}}, Sites: map[string]driver.Site{"wide/c": {Queue: "gpu"}, "wide/d": {Queue: "gpu"}}},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := d.Start(ctx, spec); err != nil {
		t.Fatal(err)
	}
	slow := agent(func(ctx context.Context, _ *engine.StartTask, _ driver.Attempt) driver.Outcome {
		select {
		case <-ctx.Done():
			return driver.Outcome{Fault: driver.FaultOf(ctx, ctx.Err())}
		case <-time.After(time.Second): // five of them take longer than the timeout
			return driver.Outcome{}
		}
	})
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- d.Work(working, driver.Worker{Name: newName(), Most: 1, Queues: []string{"gpu"}, Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
			return driver.Work{Agents: slow}, func() {}, nil
		}}, nil)
	}()
	if res, err := d.Drive(ctx, "run-1", driver.Work{}); err != nil || res.Status != engine.Success {
		t.Errorf("%s %v", outline(res), err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// deaf loses the first replies to attempts, as a process does that gets them and is cut off.
type deaf struct {
	interceptor.ClientInterceptorBase
	interceptor.WorkerInterceptorBase
	lost atomic.Int32
}

func (d *deaf) InterceptActivity(ctx context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &losing{interceptor.ActivityInboundInterceptorBase{Next: next}, d}
}

type losing struct {
	interceptor.ActivityInboundInterceptorBase
	deaf *deaf
}

func (l *losing) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if activity.GetInfo(ctx).ActivityType.Name == "hocket.tell" && l.deaf.lost.Add(1) <= 3 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.Next.ExecuteActivity(ctx, in)
}

// A reply that is lost on its way to an attempt is sent again until it has arrived.
func TestLostReplies(t *testing.T) {
	needsServer(t)
	t.Parallel()
	o, deaf := options(newName(), temporal.Folder(t.TempDir())), &deaf{}
	o.Client.Interceptors = []interceptor.ClientInterceptor{deaf}
	d := open(t, o)
	begin(t, d, chain(task("a")))
	asks := agent(func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
		said, err := at.Ask(ctx, hocketagent.Question{Text: "May I?", Options: []string{"yes"}})
		if err != nil {
			said = err.Error()
		}
		return driver.Outcome{Output: said}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- d.Work(working, driver.Worker{Name: newName(), Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
			return driver.Work{Agents: asks, Elsewhere: true}, func() {}, nil
		}}, nil)
	}()
	for answered := false; !answered; time.Sleep(50 * time.Millisecond) {
		_, err := d.Act(ctx, "run-1", &engine.Answered{ID: "a@1", Value: "yes", By: "ann"})
		if answered = err == nil; ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	if res, err := d.Drive(ctx, "run-1", driver.Work{}); err != nil || res.Status != engine.Success || res.Output != "yes" {
		t.Errorf("%s %v", outline(res), err)
	}
	if n := deaf.lost.Load(); n != 4 {
		t.Errorf("the reply was sent %d times, want 4", n)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What becomes of an attempt whose worker leaves is told by the worker, in words for people. The SDK does not log it again.
func TestLeavesQuietly(t *testing.T) {
	needsServer(t)
	t.Parallel()
	var logged bytes.Buffer
	o := options(newName(), temporal.Folder(t.TempDir()))
	o.Client.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError})))
	d := open(t, o)
	begun := make(chan struct{})
	stays := agent(func(ctx context.Context, _ *engine.StartTask, _ driver.Attempt) driver.Outcome {
		close(begun)
		<-ctx.Done()
		return driver.Outcome{Fault: driver.FaultOf(ctx, ctx.Err())}
	})
	if _, err := d.Start(t.Context(), inOrder(step("a"))); err != nil {
		t.Fatal(err)
	}
	working, stop := context.WithCancel(t.Context())
	told := make(chan *driver.Outcome, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- d.Work(working, driver.Worker{
			Name: "one", Happened: func(_ driver.AttemptID, out *driver.Outcome, _ error) { told <- out },
			Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
				return driver.Work{Agents: stays}, func() {}, nil
			},
		}, nil)
	}()
	select {
	case <-begun:
	case <-time.After(time.Minute):
		t.Fatal("the attempt does not begin")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if begins, out := <-told, <-told; begins != nil || out == nil || out.Fault == nil {
		t.Errorf("told %+v and %+v", begins, out)
	}
	if text := logged.String(); text != "" {
		t.Errorf("the SDK logs %s", text)
	}
}
