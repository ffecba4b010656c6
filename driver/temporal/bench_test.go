package temporal_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	hocket "github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	model "github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// What both kinds of workflows use.
const (
	beatFor = 10 * time.Second // the heartbeat timeout
	fanSize = 10_000
	fanWide = 100
)

// prompt and output are what a short step is given and returns.
func prompt(i int) string {
	return fmt.Sprintf("Read section %d of the report, and list the claims in it that need a source. %s", i, strings.Repeat("Be brief. ", 12))
}

var output = strings.Repeat("A claim that needs a source. ", 7)

// noop is an agent that does nothing, as fast as possible.
type noop struct{}

func (noop) Run(context.Context, string, *engine.StartTask, driver.Attempt) driver.Outcome {
	return driver.Outcome{Output: output}
}

func chainOf(n int) *model.Bundle {
	var g model.Graph
	for i := range n {
		g.Nodes = append(g.Nodes, model.Node{ID: fmt.Sprintf("n%d", i), Step: &model.Task{Agent: "reader", Prompt: model.Template{Text: prompt(i)}}})
		if i > 0 {
			g.Edges = append(g.Edges, model.Edge{From: fmt.Sprintf("n%d", i-1), To: fmt.Sprintf("n%d", i)})
		}
	}
	return &model.Bundle{Root: &model.Workflow{Name: "chain", Body: g}}
}

func fanOf() *model.Bundle {
	each := &model.Each{
		Items: model.Expr{Text: "inputs.items"},
		Body:  model.Graph{Nodes: []model.Node{{ID: "work", Step: &model.Task{Agent: "reader", Prompt: model.Template{Text: prompt(1)}}}}},
	}
	return &model.Bundle{Root: &model.Workflow{Name: "fan", Body: model.Graph{Nodes: []model.Node{{ID: "work", Step: each}}}}}
}

func items(n int) map[string]any {
	list := make([]any, n)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	return map[string]any{"items": list}
}

// bench is a project with workers, and workers of bare workflows beside them.
type bench struct {
	testing.TB
	d      *hocket.Driver
	client client.Client
	queue  string
	store  hocket.Store
	runs   int
}

func newBench(b testing.TB, workers int, o hocket.Options) *bench {
	b.Helper()
	if address == "" {
		b.Skip("HOCKET_TEMPORAL names no directory with the program temporal; make temporal builds it")
	}
	o.Client, o.Queue = client.Options{HostPort: address, Logger: quiet}, fmt.Sprintf("bench%d", worlds.Add(1))
	o.Store, o.Create, o.Heartbeat = hocket.Folder(b.TempDir()), true, beatFor
	ctx, cancel := context.WithCancel(context.Background())
	var ends sync.WaitGroup
	c, err := client.Dial(o.Client)
	if err != nil {
		b.Fatal(err)
	}
	t := &bench{TB: b, client: c, queue: o.Queue, store: o.Store}
	for i := range workers {
		d, err := hocket.Open(o)
		if err != nil {
			b.Fatal(err)
		}
		t.d = d
		ends.Go(func() {
			resolve := func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
				return driver.Work{Agents: noop{}}, func() {}, nil
			}
			if err := d.Work(ctx, driver.Worker{Name: fmt.Sprintf("w%d", i), Resolve: resolve}, nil); err != nil {
				b.Error(err)
			}
			d.Close()
		})
		conn, err := client.Dial(o.Client)
		if err != nil {
			b.Fatal(err)
		}
		w := worker.New(conn, o.Queue+"/bare", worker.Options{MaxHeartbeatThrottleInterval: beatFor / 5})
		w.RegisterWorkflow(bareChain)
		w.RegisterWorkflow(bareFan)
		w.RegisterActivity(bareStep)
		if err := w.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { w.Stop(); conn.Close() })
	}
	if t.d, err = hocket.Open(o); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cancel()
		ends.Wait()
		t.d.Close()
		c.Close()
	})
	return t
}

// run runs a workflow of Hocket.
func (t *bench) run(bundle *model.Bundle, inputs map[string]any) (took time.Duration, flow string) {
	t.Helper()
	began := time.Now()
	made, err := t.d.Start(context.Background(), driver.Spec{
		Pin: &driver.Pin{Bundle: bundle}, Inputs: inputs, Limits: model.Limits{Parallel: fanWide, Steps: 1_000_000, Runtime: 100 * time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := t.d.Drive(context.Background(), made.Run, driver.Work{})
	if err != nil || res.Status != engine.Success {
		t.Fatalf("%s %v %s", res.Status, err, res.Error)
	}
	return time.Since(began), t.queue + "/" + made.Run
}

// bare runs a bare workflow.
func (t *bench) bare(flow any, n int) (took time.Duration, id string) {
	t.Helper()
	t.runs++
	id = fmt.Sprintf("%s/bare/%d", t.queue, t.runs)
	began := time.Now()
	run, err := t.client.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: id, TaskQueue: t.queue + "/bare"}, flow, 0, n)
	if err == nil {
		err = run.Get(context.Background(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(began), id
}

// history returns how large the history of the newest execution is.
func (t *bench) history(id string) (events, size int64) {
	t.Helper()
	res, err := t.client.DescribeWorkflowExecution(context.Background(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	return res.GetWorkflowExecutionInfo().GetHistoryLength(), res.GetWorkflowExecutionInfo().GetHistorySizeBytes()
}

// replay returns how many milliseconds a worker needs for 10,000 events of a history.
func (t *bench) replay(id string) float64 {
	t.Helper()
	h := &historypb.History{}
	for it := t.client.GetWorkflowHistory(context.Background(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	began := time.Now()
	if err := hocket.Replay(h, t.store); err != nil {
		t.Fatal(err)
	}
	return float64(time.Since(began).Microseconds()) / 1000 * 10_000 / float64(len(h.Events))
}

// bareJob and bareEnd are what such a workflow would give to an activity and get back.
type bareJob struct{ Run, Step, Agent, Prompt, Received string }
type bareEnd struct{ Output string }

func bareStep(ctx context.Context, _ bareJob) (bareEnd, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		every := time.NewTicker(beatFor / 5)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return bareEnd{output}, nil
}

func bareActivity(ctx workflow.Context, step string, i int, received string) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: time.Hour, HeartbeatTimeout: beatFor, WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	return workflow.ExecuteActivity(ctx, bareStep, bareJob{workflow.GetInfo(ctx).WorkflowExecution.ID, step, "reader", prompt(i), received})
}

func bareChain(ctx workflow.Context, _, n int) error {
	var end bareEnd
	for i := range n {
		if err := bareActivity(ctx, fmt.Sprintf("n%d", i), i, end.Output).Get(ctx, &end); err != nil {
			return err
		}
	}
	return nil
}

func bareFan(ctx workflow.Context, first, n int) error {
	running := 0
	for i := first; i < n; i++ {
		if err := workflow.Await(ctx, func() bool { return running < fanWide }); err != nil {
			return err
		}
		if workflow.GetInfo(ctx).GetCurrentHistoryLength() > 40_000 {
			if err := workflow.Await(ctx, func() bool { return running == 0 }); err != nil {
				return err
			}
			return workflow.NewContinueAsNewError(ctx, bareFan, i, n)
		}
		running++
		done := bareActivity(ctx, fmt.Sprintf("work[%d]", i), 1, "")
		workflow.Go(ctx, func(ctx workflow.Context) {
			var end bareEnd
			_ = done.Get(ctx, &end)
			running--
		})
	}
	return workflow.Await(ctx, func() bool { return running == 0 })
}

// beside runs both kinds of workflows in turn, and reports medians.
func beside(b *testing.B, t *bench, bundle *model.Bundle, inputs map[string]any, flow any, n int) {
	var own, bare []time.Duration
	var id, bareID string
	took := time.Duration(0)
	for b.Loop() {
		took, id = t.run(bundle, inputs)
		own = append(own, took)
		took, bareID = t.bare(flow, n)
		bare = append(bare, took)
	}
	middle := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2].Microseconds()) / 1000
	}
	b.ReportMetric(middle(own), "ms/run")
	b.ReportMetric(middle(bare), "ms/bare")
	b.ReportMetric(middle(own)/middle(bare), "times-bare")
	events, size := t.history(id)
	bareEvents, bareSize := t.history(bareID)
	b.ReportMetric(float64(size)/float64(n), "history-B/step")
	b.ReportMetric(float64(bareSize)/float64(n), "bare-history-B/step")
	b.ReportMetric(float64(events), "events")
	b.ReportMetric(float64(bareEvents), "bare-events")
	b.ReportMetric(t.replay(id), "replay-ms/10k-events")
	b.ReportMetric(0, "ns/op")
}

var longSteps = flag.Int("long-steps", 10_000, "the steps of TestLong")

// TestLong: a run with many steps goes on in new executions, and the memory of its worker does not grow with it.
func TestLong(t *testing.T) {
	needsServer(t)
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	c := newYard(t, address, 0)
	c.role.Quick = true
	w := c.worker()
	d, err := hocket.Open(hocket.Options{
		Client: client.Options{HostPort: address, Logger: quiet}, Queue: c.Queue, Store: hocket.Folder(c.Store), Create: true, Quiet: 5_000, Drain: 10_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	b := &bench{TB: t, d: d, queue: c.Queue}
	took, id := b.run(fanOf(), items(*longSteps))
	server, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	res, err := server.DescribeWorkflowExecution(context.Background(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	if info := res.GetWorkflowExecutionInfo(); info.GetFirstRunId() == info.GetExecution().GetRunId() {
		t.Error("the run did not continue in a new execution")
	}
	most := w.peak(t)
	t.Logf("%d steps took %s and %d MB", *longSteps, took.Round(time.Second), most>>20)
	if most > 300<<20 {
		t.Errorf("the worker needed %d MB", most>>20)
	}
}

func BenchmarkThree(b *testing.B) {
	beside(b, newBench(b, 1, hocket.Options{}), chainOf(3), nil, bareChain, 3)
}
func BenchmarkChain(b *testing.B) {
	beside(b, newBench(b, 1, hocket.Options{}), chainOf(1000), nil, bareChain, 1000)
}
func BenchmarkFanOut(b *testing.B) {
	beside(b, newBench(b, 2, hocket.Options{}), fanOf(), items(fanSize), bareFan, fanSize)
}
