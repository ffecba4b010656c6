package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// TestForgetfulServer runs the suite with tiny limits, and a server that deletes a run as soon as it is over: nearly
// every run continues in several executions, and what is read afterwards comes from the store.
func TestForgetfulServer(t *testing.T) {
	needsServer(t)
	for _, s := range drivertest.Scenarios {
		if s.Name == "unreadable output" { // it is in the input of an execution then, and all of that cannot be read
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.Play(t, func(t testing.TB) drivertest.World { return forgetful{newWorld(t)} }, drivertest.Limit)
		})
	}
}

type forgetful struct{ world }

func (w forgetful) Driver(t testing.TB, now func() time.Time) drivertest.Process {
	o := options(w.queue, temporal.Folder(w.dir))
	o.Client.HostPort = w.proxy.address
	o.Quiet, o.Now = 5, now
	return forgetting{newProcess(t, open(t, o), w.works), w.queue}
}

type forgetting struct {
	process
	queue string
}

func (p forgetting) Drive(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
	res, err := p.process.Drive(ctx, run, w)
	if err == nil && res.Status.Done() {
		err = forget(ctx, p.queue+"/"+run)
	}
	return res, err
}

// forget deletes all executions of a workflow, as the server does after the retention period.
func forget(ctx context.Context, id string) error {
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		return err
	}
	defer c.Close()
	for asked := false; ; time.Sleep(20 * time.Millisecond) {
		list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default", Query: "WorkflowId = '" + id + "'"})
		_, gone := c.DescribeWorkflowExecution(ctx, id, "")
		if err != nil || gone != nil && len(list.GetExecutions()) == 0 {
			return err
		}
		if asked || len(list.GetExecutions()) == 0 || slices.ContainsFunc(list.GetExecutions(), func(e *workflowpb.WorkflowExecutionInfo) bool { return e.GetCloseTime() == nil }) {
			continue // it is not listed as closed yet
		}
		asked = true
		for _, e := range list.GetExecutions() {
			if _, err := c.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{Namespace: "default", WorkflowExecution: e.GetExecution()}); err != nil {
				return err
			}
		}
	}
}

func options(queue string, s temporal.Store) temporal.Options {
	return temporal.Options{Client: client.Options{HostPort: address, Logger: quiet}, Queue: queue, Store: s, Create: true, Heartbeat: 1500 * time.Millisecond}
}

func open(t testing.TB, o temporal.Options) *temporal.Driver {
	t.Helper()
	d, err := temporal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// Nodes of workflows.

func task(id string) workflow.Node {
	return workflow.Node{ID: id, Step: &workflow.Task{Agent: "a", Prompt: workflow.Template{Text: id}}}
}

func gate(id string) workflow.Node {
	return workflow.Node{ID: id, Step: &workflow.Human{Question: workflow.Template{Text: "go on?"}, Options: []workflow.Option{{Value: "yes"}}}}
}

func chain(nodes ...workflow.Node) *workflow.Bundle {
	g := workflow.Graph{Nodes: nodes}
	for i := 1; i < len(nodes); i++ {
		g.Edges = append(g.Edges, workflow.Edge{From: nodes[i-1].ID, To: nodes[i].ID})
	}
	return &workflow.Bundle{Root: &workflow.Workflow{Name: "long", Body: g}}
}

func begin(t testing.TB, d *temporal.Driver, b *workflow.Bundle) {
	t.Helper()
	_, err := d.Start(t.Context(), driver.Spec{
		Run: "run-1", Pin: &driver.Pin{Bundle: b, Dir: "here"}, Limits: workflow.Limits{Steps: 100_000, Parallel: 10},
		Owner: driver.Owner{By: "ann", Labels: map[string]string{"color": "red"}}, Key: "key", Request: "sha256:1",
	})
	if err != nil {
		t.Fatal(err)
	}
}

// agent makes attempts with a function.
type agent func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome

func (a agent) Run(ctx context.Context, _ string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	return a(ctx, task, at)
}

func echo(_ context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	at.Log([]byte("at work\n"))
	at.Note("session", "model")
	if err := errors.Join(os.MkdirAll(filepath.Join(at.Artifacts, "sub"), 0o700), os.WriteFile(filepath.Join(at.Artifacts, "sub", "file"), []byte(task.Node), 0o600)); err != nil {
		return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error()}}
	}
	return driver.Outcome{Output: task.Prompt, Usage: engine.Usage{CostUSD: 1}, Agent: "a"}
}

// drive works for a run, and follows it.
func drive(t testing.TB, d *temporal.Driver, run string, a agent) engine.Result {
	t.Helper()
	defer work(t, d, a)()
	res, err := d.Drive(t.Context(), run, driver.Work{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// work makes a worker of a driver until stop is called.
func work(t testing.TB, d *temporal.Driver, a agent) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- d.Work(ctx, driver.Worker{Name: newName(), Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
			return driver.Work{Agents: a}, func() {}, nil
		}}, nil)
	}()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// readings reads everything about a run that can be read.
func readings(t testing.TB, d *temporal.Driver, run string) string {
	t.Helper()
	var b strings.Builder
	note := func(what string, value any, err error) { fmt.Fprintf(&b, "%s: %+v, %v\n", what, value, err) }
	i, err := d.Info(t.Context(), run)
	note("info", i, err)
	list, err := d.Runs(t.Context(), driver.Filter{Label: "color"})
	for end := time.Now().Add(20 * time.Second); err == nil && (len(list) == 0 || list[0].Seq < i.Seq) && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		list, err = d.Runs(t.Context(), driver.Filter{Label: "color"}) // the server lists what has happened a moment later
	}
	note("runs", list, err)
	id, err := d.Find(t.Context(), run[:3])
	note("find", id, err)
	id, err = d.StartedWith(t.Context(), "key", "sha256:1")
	note("started", id, err)
	_, err = d.Start(t.Context(), driver.Spec{Run: run, Pin: &driver.Pin{Bundle: chain(task("a"))}})
	note("start again", "", err)
	counts, err := d.Count(t.Context(), time.Time{})
	counts.Version = 0
	note("count", counts, err)
	first, err := d.FirstPin(t.Context(), run)
	note("first", len(first.Bundle.Root.Body.Nodes), err)
	now, err := d.Pin(t.Context(), run)
	note("pin", len(now.Bundle.Root.Body.Nodes), err)
	spent, err := d.Spent(t.Context(), time.Time{})
	note("spent", spent, err)
	ended := 0
	for e, err := range d.Events(t.Context(), run, 0, false) {
		note("event", fmt.Sprintf("%d %s %s %T", e.Seq, e.Time.UTC(), e.Clock, e.Event), err)
		if e, ok := e.Event.(*engine.Replanned); ok && e.Bundle == nil {
			t.Error("a plan has no bundle")
		}
		if _, ok := e.Event.(*engine.TaskEnded); ok {
			ended = e.Seq
		}
	}
	for e, err := range d.Events(t.Context(), run, ended-1, true) {
		note("followed", e.Seq, err)
	}
	out, err := d.Output(t.Context(), run, ended)
	note("output", out, err)
	a := driver.AttemptID{Run: run, Address: "n1", Attempt: 1}
	kept, err := d.Kept(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(kept.Files, "sub/file")
	note("file", string(text), err)
	kept.Files, kept.Dir = nil, ""
	note("kept", kept, nil)
	for p, err := range d.Read(t.Context(), a, driver.Output, 3, true) {
		note("read", string(p.Text), err)
	}
	_, err = d.Act(t.Context(), run, &engine.CancelAsked{})
	note("cancel", "", err)
	return b.String()
}

// TestRetention: what is read of a run is the same after the server has deleted it, and the run can still be forked,
// continue with a new plan, and be deleted.
func TestRetention(t *testing.T)      { retention(t, 12) }
func TestRetentionShort(t *testing.T) { retention(t, 2) }

func retention(t *testing.T, steps int) {
	needsServer(t)
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := fmt.Sprintf("retention-%s-%d", name, steps)
			o := options(queue, s)
			if name == "s3" {
				o.Key = make([]byte, 32)
			}
			o.Quiet, o.Drain = 20, 40
			d := open(t, o)
			nodes := []workflow.Node{}
			for i := range steps {
				nodes = append(nodes, task(fmt.Sprintf("n%d", i)))
			}
			begin(t, d, chain(nodes...))
			drive(t, d, "run-1", echo)
			if keys, err := s.List(t.Context(), temporal.RunKey("run-1", "events")); err != nil || (len(keys) == 0) != (steps == 2) {
				t.Errorf("the events are in %q, %v", keys, err)
			}
			replan := func(n int) {
				t.Helper()
				if _, err := d.Replan(t.Context(), "run-1", driver.Replan{Pin: &driver.Pin{Bundle: chain(append(nodes, task(fmt.Sprintf("m%d", n)))...)}, Labels: map[string]string{"plan": "new"}}); err != nil {
					t.Fatal(err)
				}
				if res := drive(t, d, "run-1", echo); res.Status != engine.Success || res.Output != fmt.Sprintf("m%d", n) {
					t.Fatalf("%+v", res)
				}
			}
			replan(1)
			if n := executions(t, queue+"/run-1"); n < 3 && steps > 2 {
				t.Errorf("%d executions", n)
			}
			before := readings(t, d, "run-1")
			for range 2 {
				if err := forget(t.Context(), queue+"/run-1"); err != nil {
					t.Fatal(err)
				}
				if after := readings(t, open(t, o), "run-1"); after != before {
					t.Errorf("before:\n%s\nafter:\n%s", before, after)
				}
				made, err := d.Fork(t.Context(), driver.ForkSpec{From: "run-1", Address: nodes[steps-1].ID, Run: "fork"})
				if err != nil {
					t.Fatal(err)
				}
				if res := drive(t, d, made.Run, echo); res.Status != engine.Success {
					t.Errorf("%+v", res)
				}
				if err := d.Delete(t.Context(), made.Run); err != nil {
					t.Fatal(err)
				}
				replan(2)
				before = readings(t, d, "run-1")
			}
			if err := forget(t.Context(), queue+"/run-1"); err != nil {
				t.Fatal(err)
			}
			if err := d.Delete(t.Context(), "run-1"); err != nil {
				t.Fatal(err)
			}
			if left, err := s.List(t.Context(), "runs"); len(left) > 0 || err != nil {
				t.Errorf("%q, %v", left, err)
			}
			if list, err := d.Runs(t.Context(), driver.Filter{}); len(list) > 0 || err != nil {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}

// TestLongOutputs: a run with long outputs is archived in parts while it goes on, and can be read as a whole.
func TestLongOutputs(t *testing.T) {
	needsServer(t)
	t.Parallel()
	queue, s := newName(), temporal.Folder(t.TempDir())
	d := open(t, options(queue, s))
	var nodes []workflow.Node
	for i := range 7 {
		nodes = append(nodes, task(fmt.Sprintf("n%d", i)))
	}
	begin(t, d, chain(nodes...))
	parts := func() (n int) {
		keys, err := s.List(t.Context(), temporal.RunKey("run-1", "events"))
		if err != nil {
			t.Error(err)
		}
		return len(keys)
	}
	early := 0
	drive(t, d, "run-1", func(_ context.Context, task *engine.StartTask, _ driver.Attempt) driver.Outcome {
		if task.Node == "n6" {
			early = parts()
		}
		return driver.Outcome{Output: strings.Repeat(task.Node[1:], 3<<20)}
	})
	if all := parts(); early == 0 || all != 3 {
		t.Errorf("%d parts before the last step, and %d at the end", early, all)
	}
	if err := forget(t.Context(), queue+"/run-1"); err != nil {
		t.Fatal(err)
	}
	ends := 0
	for e, err := range d.Events(t.Context(), "run-1", 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if ended, ok := e.Event.(*engine.TaskEnded); ok {
			if want := strings.Repeat(fmt.Sprint(ends), 3<<20); ended.Output != want {
				t.Errorf("event %d has an output of %d bytes", e.Seq, len(ended.Output))
			}
			ends++
		}
	}
	if ends != 7 {
		t.Errorf("%d ends of attempts", ends)
	}
}

// executions returns how many executions of a workflow there were.
func executions(t testing.TB, id string) int {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	res, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "WorkflowId = '" + id + "'"})
	if err != nil {
		t.Fatal(err)
	}
	return int(res.GetCount())
}

// TestManyAnswers: a run with more answers than Temporal allows in one execution.
func TestManyAnswers(t *testing.T) {
	needsServer(t)
	gates := 300
	if os.Getenv("HOCKET_LONG") != "" {
		gates = 3000
	}
	o := options("answers", temporal.Folder(t.TempDir()))
	o.Updates = gates / 4
	d := open(t, o)
	var nodes []workflow.Node
	for i := range gates {
		nodes = append(nodes, gate(fmt.Sprintf("g%d", i)))
	}
	begin(t, d, chain(nodes...))
	asked := 0
	defer work(t, d, echo)()
	res, err := d.Drive(t.Context(), "run-1", driver.Work{Asker: asker(func(q *engine.Question, answer func(engine.Answered) error) {
		asked++
		go func() {
			if err := answer(engine.Answered{Value: "yes", By: "ann"}); err != nil {
				t.Error(err)
			}
		}()
	})})
	if err != nil || res.Status != engine.Success || asked != gates {
		t.Errorf("%s, %d questions, %v", res.Status, asked, err)
	}
	if n := executions(t, "answers/run-1"); n < 3 {
		t.Errorf("%d executions", n)
	}
	answers := 0
	for e, err := range open(t, o).Events(t.Context(), "run-1", 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Event.(*engine.Answered); ok {
			answers++
		}
	}
	if answers != gates {
		t.Errorf("%d answers are recorded", answers)
	}
}

type asker func(q *engine.Question, answer func(engine.Answered) error)

func (a asker) Ask(q *engine.Question, answer func(engine.Answered) error, _ func()) bool {
	a(q, answer)
	return true
}
func (asker) Withdraw(string) {}

// TestLongAttempt: while an attempt takes so long that the history of the run becomes too long, nothing else begins.
// When it has ended, the run goes on in a new execution.
func TestLongAttempt(t *testing.T) {
	needsServer(t)
	o := options("attempt", temporal.Folder(t.TempDir()))
	o.Quiet, o.Drain = 30, 60
	d := open(t, o)
	nodes := []workflow.Node{task("start"), task("long")}
	edges := []workflow.Edge{{From: "start", To: "long"}, {From: "start", To: "n0"}}
	for i := range 40 {
		nodes = append(nodes, task(fmt.Sprintf("n%d", i)))
		if i > 0 {
			edges = append(edges, workflow.Edge{From: fmt.Sprintf("n%d", i-1), To: fmt.Sprintf("n%d", i)})
		}
	}
	b := &workflow.Bundle{Root: &workflow.Workflow{Name: "long", Body: workflow.Graph{Nodes: nodes, Edges: edges}}}
	begin(t, d, b)
	var begun, during atomic.Int32
	res := drive(t, d, "run-1", func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
		begun.Add(1)
		if task.Node == "long" {
			for last := int32(0); last != begun.Load(); time.Sleep(time.Second) {
				last = begun.Load()
			}
			during.Store(begun.Load())
		}
		return echo(ctx, task, at)
	})
	if res.Status != engine.Success || begun.Load() != 42 {
		t.Errorf("%s, %d attempts", res.Status, begun.Load())
	}
	if n := during.Load(); n < 5 || n > 20 {
		t.Errorf("%d attempts had begun before the long one ended", n)
	}
	if n := executions(t, "attempt/run-1"); n < 3 {
		t.Errorf("%d executions", n)
	}
	var seqs []int
	for e, err := range d.Events(t.Context(), "run-1", 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, e.Seq)
	}
	if len(seqs) != 43 || !slices.IsSorted(seqs) {
		t.Errorf("events %v", seqs)
	}
}
