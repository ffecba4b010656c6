package temporal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/proto"
)

// TestSealed: with a key, neither the server nor the store can read what a run says, and a machine without that key
// does nothing.
func TestSealed(t *testing.T) {
	needsServer(t)
	const secret = "nobody may read this"
	s := temporal.Folder(t.TempDir())
	o := options("sealed", s)
	o.Quiet = 20
	o.Key = bytes.Repeat([]byte{7}, 32)
	d := open(t, o)
	begin(t, d, chain(task("a"), task("b"), task("c"), task("d")))
	res := drive(t, d, "run-1", func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
		at.Log([]byte(secret))
		at.Note(secret, secret)
		if task.Node == "b" {
			return driver.Outcome{Output: strings.Repeat(secret, 10_000)} // too long for the history
		}
		out := echo(ctx, task, at)
		out.Output = secret
		return out
	})
	if res.Status != engine.Success || res.Output != secret {
		t.Fatalf("%+v", res)
	}
	keys, err := s.List(t.Context(), "runs")
	if err != nil || len(keys) < 10 {
		t.Fatalf("%q, %v", keys, err)
	}
	for _, key := range keys {
		if text, err := s.Get(t.Context(), key); bytes.Contains(text, []byte(secret)) || err != nil {
			t.Errorf("%s can be read, %v", key, err)
		}
	}
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for it := c.GetWorkflowHistory(t.Context(), "sealed/run-1", "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := proto.Marshal(e); bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte("ann")) || err != nil {
			t.Errorf("%s can be read, %v", e.GetEventType(), err)
		}
	}
	for key, want := range map[string]string{"": "it is encrypted, and HOCKET_TEMPORAL_KEY is not set here;", strings.Repeat("x", 32): "is not the one"} {
		o.Key = []byte(key)
		_, err := temporal.Open(o)
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("the store %s cannot be used: it ", s)) || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "; set HOCKET_TEMPORAL_KEY to the same key as on the other machines") {
			t.Errorf("with the key %q: %v", key, err)
		}
	}
}

// With a key, the server cannot read why a worker refuses a step, but people are told.
func TestSealedRefusal(t *testing.T) {
	needsServer(t)
	t.Parallel()
	const secret = "nobody may read why"
	o := options(newName(), temporal.Folder(t.TempDir()))
	o.Key = bytes.Repeat([]byte{7}, 32)
	d := open(t, o)
	begin(t, d, chain(task("a")))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- d.Work(ctx, driver.Worker{Name: newName(), Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
			return driver.Work{}, nil, errors.New(secret)
		}}, nil)
	}()
	why := ""
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(why, secret) && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		info, err := d.Info(ctx, "run-1")
		if err != nil {
			t.Fatal(err)
		}
		why = info.Stalled
	}
	if !strings.Contains(why, secret) {
		t.Errorf("people are told %q", why)
	}
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	res, err := c.DescribeWorkflowExecution(ctx, o.Queue+"/run-1", "")
	if text, _ := proto.Marshal(res); err != nil || len(res.GetPendingActivities()) != 1 || bytes.Contains(text, []byte(secret)) {
		t.Errorf("the server knows %v, %v", res, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// panics counts the panics that the SDK logs.
type panics struct {
	log.Logger
	n atomic.Int32
}

func (p *panics) Error(msg string, pairs ...any) {
	if strings.Contains(msg, "panic") {
		p.n.Add(1)
	}
	p.Logger.Error(msg, pairs...)
}

// TestKeyless: a worker that still runs without the key leaves encrypted runs and their steps to those that have it.
func TestKeyless(t *testing.T) {
	needsServer(t)
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	refusals := make(chan string, 100)
	happened := func(id driver.AttemptID, _ *driver.Outcome, refused error) {
		if refused != nil && id.Address == "" {
			refusals <- refused.Error()
		}
	}
	serve := func(o temporal.Options, queues ...string) (*temporal.Driver, func()) {
		d := open(t, o)
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			ended <- d.Work(ctx, driver.Worker{Name: "w", Queues: queues, Happened: happened, Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
				return driver.Work{Agents: agent(echo)}, func() {}, nil
			}}, nil)
		}()
		return d, func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	o := options(newName(), temporal.Folder(t.TempDir()))
	logged := &panics{Logger: quiet}
	o.Client.Logger = logged
	_, stop := serve(o, "gpu")
	defer stop()
	o.Key = bytes.Repeat([]byte{7}, 32)
	pin := &driver.Pin{Bundle: chain(task("a")), Sites: map[string]driver.Site{"long/a": {Queue: "gpu"}}}
	if _, err := open(t, o).Start(ctx, driver.Spec{Run: "run-1", Pin: pin, Limits: workflow.Limits{Steps: 10, Parallel: 10}}); err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	refused := func(what string, tries func(*workflowservice.DescribeWorkflowExecutionResponse) int32) {
		t.Helper()
		for {
			res, err := c.DescribeWorkflowExecution(ctx, o.Queue+"/run-1", "")
			if err != nil || res.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
				t.Fatalf("%s: %v, %v", what, res.GetWorkflowExecutionInfo().GetStatus(), err)
			}
			if tries(res) > 1 {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	refused("workflow", func(res *workflowservice.DescribeWorkflowExecutionResponse) int32 {
		return res.GetPendingWorkflowTask().GetAttempt()
	})
	if want := "worker w cannot read the run: it is encrypted, and " + temporal.KeyVariable + " is not set here"; len(refusals) != 1 || <-refusals != want {
		t.Errorf("%d times, want it told once: %s", len(refusals), want)
	}
	if n := logged.n.Load(); n > 0 {
		t.Errorf("%d panics were logged", n)
	}
	d, stop := serve(o)
	defer stop()
	refused("step", func(res *workflowservice.DescribeWorkflowExecutionResponse) (n int32) {
		for _, a := range res.GetPendingActivities() {
			n = max(n, a.GetAttempt())
		}
		return n
	})
	if i, err := d.Info(ctx, "run-1"); err != nil || !strings.Contains(i.Stalled, temporal.KeyVariable+" is not set") {
		t.Errorf("people are told %q, %v", i.Stalled, err)
	}
	_, stop = serve(o, "gpu")
	defer stop()
	if res, err := d.Drive(ctx, "run-1", driver.Work{Elsewhere: true}); err != nil || res.Status != engine.Success {
		t.Errorf("%+v, %v", res, err)
	}
	for e, err := range d.Events(ctx, "run-1", 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := e.Event.(*engine.TaskEnded); ok && ev.Fault != nil {
			t.Errorf("attempt %d: %s", ev.Attempt, ev.Fault.Message)
		}
	}
}

// TestSealedByOthers: whoever opens a store with a key, but does nothing there, locks nobody out: neither another project,
// nor this one. The first run with the key does.
func TestSealedByOthers(t *testing.T) {
	needsServer(t)
	t.Parallel()
	plain := options(newName(), temporal.Folder(t.TempDir()))
	open(t, plain)
	wrong := plain
	wrong.Queue, wrong.Key = newName(), bytes.Repeat([]byte{7}, 32)
	if _, err := temporal.Open(wrong); err == nil || !strings.Contains(err.Error(), "belongs to the queue") {
		t.Errorf("another project opens the store: %v", err)
	}
	o := plain
	o.Key = wrong.Key
	d := open(t, o)
	if _, err := d.Runs(t.Context(), driver.Filter{}); err != nil {
		t.Error(err)
	}
	open(t, plain)
	begin(t, d, chain(task("a")))
	if _, err := temporal.Open(plain); err == nil || !strings.Contains(err.Error(), "is not set here") {
		t.Errorf("without the key of the first run: %v", err)
	}
}

// The first worker with a key locks out those without it, too.
func TestSealedByWorker(t *testing.T) {
	needsServer(t)
	t.Parallel()
	plain := options(newName(), temporal.Folder(t.TempDir()))
	o := plain
	o.Key = bytes.Repeat([]byte{7}, 32)
	work(t, open(t, o), echo)()
	if _, err := temporal.Open(plain); err == nil || !strings.Contains(err.Error(), "is not set here") {
		t.Errorf("without the key of the first worker: %v", err)
	}
}

func TestParseKey(t *testing.T) {
	good := base64.StdEncoding.EncodeToString(make([]byte, 32))
	if key, err := temporal.ParseKey(good); len(key) != 32 || err != nil {
		t.Errorf("%x, %v", key, err)
	}
	for _, text := range []string{"short", good[:40], good + good, "not base64!"} {
		if _, err := temporal.ParseKey(text); err == nil || strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
