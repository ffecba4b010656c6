package temporal_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// follow follows a run to its end, but not for ever.
func follow(t *testing.T, r *hocket.Run) engine.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var lacks string
	res, err := r.Drive(ctx, hocket.Front{Stalled: func(why string) { lacks = why }})
	if err != nil {
		t.Fatalf("%v; the run lacked %q", err, lacks)
	}
	return res
}

// TestFilesOfARun: steps change files. The run, and what is made of it later, stays with the worker that has them.
func TestFilesOfARun(t *testing.T) {
	t.Parallel()
	const build = `name: build
steps:
  - {id: a, agent: shell, config: {command: echo x >> made; pwd}}
  - {id: b, agent: gpu, config: {command: cat made; pwd}}
  - {id: c, agent: shell, config: {command: test -e right}}
`
	c := newCluster(t, map[string]string{
		".hocket/agents/gpu.yml":      "agent: shell\nqueue: gpu\n",
		".hocket/workflows/build.yml": build,
	})
	one, idle := c.machine(nil), c.machine(nil)
	one.work(t, hocket.Worker{Queues: []string{"gpu"}})
	r, wait := one.start(t, "build", hocket.Front{})
	if res, err := wait(); err != nil || res.Status != engine.Failed {
		t.Fatalf("%+v %v", res, err)
	}
	idle.work(t, hocket.Worker{})
	if err := os.WriteFile(filepath.Join(one.root, "right"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	check := func(what string, r *hocket.Run, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		res := follow(t, r)
		if res.Status != engine.Success {
			t.Errorf("%s: %+v", what, res)
		}
	}
	next, err := r.Retry(t.Context(), "c")
	check("retry", next, err)
	next, err = r.Fork(t.Context(), "b", nil)
	check("fork", next, err)
	if err := os.WriteFile(filepath.Join(one.root, ".hocket/workflows/build.yml"), []byte(strings.Replace(build, "test -e right", "cat made", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := one.Load("build")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Replan(t.Context(), w, hocket.Replan{})
	check("new plan", r, err)
	c.forget(r)
	next, err = r.Fork(t.Context(), "b", nil)
	check("fork of an archived run", next, err)
	if did := idle.made(); did != "" {
		t.Errorf("a worker without the files did %s", did)
	}
}

// forget lets the server delete a run that is over, as it does some day.
func (c *cluster) forget(r *hocket.Run) {
	c.t.Helper()
	cl, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		c.t.Fatal(err)
	}
	defer cl.Close()
	execution := &commonpb.WorkflowExecution{WorkflowId: c.queue + "/" + r.ID()}
	_, err = cl.WorkflowService().DeleteWorkflowExecution(c.t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{Namespace: "default", WorkflowExecution: execution})
	for range 100 {
		if err != nil {
			break
		}
		_, err = cl.DescribeWorkflowExecution(c.t.Context(), execution.GetWorkflowId(), "")
		time.Sleep(50 * time.Millisecond)
	}
	if err == nil {
		c.t.Fatal("the server does not delete the run")
	}
}

// TestFilesElsewhere: a label leads to a machine that does not have what the run's steps wrote on another one.
func TestFilesElsewhere(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{
		".hocket/agents/gpu.yml":      "agent: shell\nqueue: gpu\n",
		".hocket/workflows/build.yml": "name: build\nsteps:\n  - {id: a, agent: shell, config: {command: pwd}}\n  - {id: b, agent: gpu, config: {command: pwd}}\n",
	})
	one, gpu := c.machine(nil), c.machine(map[string]string{"other.txt": "x"})
	one.work(t, hocket.Worker{Name: "one"})
	gpu.work(t, hocket.Worker{Name: "gpu", Queues: []string{"gpu"}})
	w, err := one.Load("build")
	if err != nil {
		t.Fatal(err)
	}
	r, err := one.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	front, told := stalls()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = r.Drive(ctx, front)
	}()
	for why := range told {
		if strings.Contains(why, "worker gpu has other files than the run was started with") && strings.Contains(why, "place: any") {
			break
		}
	}
	cancel()
	<-ended
}

// TestMissingProgram: work is handed off to an agent whose program the machine with the run's files does not have.
func TestMissingProgram(t *testing.T) {
	needsServer(t)
	t.Parallel()
	a := step("a")
	a.Step.(*workflow.Task).Handoffs = &workflow.Handoffs{To: []string{"other"}}
	help := step("help")
	help.Step.(*workflow.Task).Agent = "other"
	spec := inOrder(a)
	spec.Pin.Sites = map[string]driver.Site{"steps/a": {Stays: true}, "@other": {Stays: true, Program: "claude"}}
	d := employed(t, driver.Worker{Name: "one"}, func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
		got, err := at.HandOff(ctx, &engine.HandoffAsked{Blocking: true, Definition: inOrder(help).Pin.Bundle.Root})
		if err != nil {
			return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error(), Permanent: true}}
		}
		return driver.Outcome{Output: got.Error}
	})
	made, err := d.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	res, err := d.Drive(ctx, made.Run, driver.Work{})
	if want := "worker one does not have claude, and the run's files are there"; err != nil || !strings.Contains(fmt.Sprint(res.Output), want) {
		t.Errorf("%+v %v, want %s", res, err, want)
	}
}

// TestClaimedProgram: only workers that have the program of a step that stays are asked to take it.
func TestClaimedProgram(t *testing.T) {
	needsServer(t)
	t.Parallel()
	spec := inOrder(step("a"))
	spec.Pin.Sites = map[string]driver.Site{"steps/a": {Stays: true, Program: "claude"}}
	o := employed(t, driver.Worker{Name: "one"}, echo)
	made, err := o.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	work := driver.Work{Stalled: func(why string) {
		if want := "no worker has claude"; why != "" && !strings.HasPrefix(why, want) {
			t.Errorf("it lacks %q, want %q", why, want)
		}
		if why != "" {
			cancel()
		}
	}}
	if _, err := o.Drive(ctx, made.Run, work); t.Context().Err() != nil || ctx.Err() == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody says what it lacks: %v", err)
	}
}

// TestPlansHaveNames: attempts name their plan. A digest would be another one in a release that encodes plans
// differently, and workers of both may serve the same run.
func TestPlansHaveNames(t *testing.T) {
	needsServer(t)
	t.Parallel()
	queue := newName()
	d := employedAt(t, queue, driver.Worker{Name: "one"}, echo)
	begin(t, d, chain(task("n1"), gate("ok"), task("n2")))
	if res := drive(t, d, "run-1", echo); res.Status != engine.Waiting {
		t.Fatalf("%+v", res)
	}
	if _, err := d.Replan(t.Context(), "run-1", driver.Replan{Pin: &driver.Pin{Bundle: chain(task("n1"), task("n3"))}}); err != nil {
		t.Fatal(err)
	}
	if res := drive(t, d, "run-1", echo); res.Status != engine.Success {
		t.Fatalf("%+v", res)
	}
	want := map[string]string{"n1": "", "n3": ""}
	for e, err := range d.Events(t.Context(), "run-1", 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := e.Event.(*engine.Replanned); ok {
			want["n3"] = ev.Plan
		}
	}
	cl, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	got := map[string]string{}
	for events := cl.GetWorkflowHistory(t.Context(), queue+"/run-1", "", false, 0); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		var job struct {
			Plan string
			Task struct{ Node string }
		}
		if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == "hocket.attempt" {
			if err := json.Unmarshal(a.GetInput().GetPayloads()[0].GetData(), &job); err != nil {
				t.Fatal(err)
			}
			got[job.Task.Node] = job.Plan
		}
	}
	if want["n3"] == "" || !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSlowComparison: to compare the files takes longer than a worker may be silent. A step that then waits for a worker
// says so by its name.
func TestSlowComparison(t *testing.T) {
	needsServer(t)
	t.Parallel()
	spec := inOrder(step("a"), step("b"))
	spec.Pin.Sites, spec.Pin.Files = map[string]driver.Site{"steps/a": {Stays: true}, "steps/b": {Queue: "gpu"}}, "files"
	slow := func(ctx context.Context) (driver.Files, error) {
		select {
		case <-ctx.Done():
			return driver.Files{}, ctx.Err()
		case <-time.After(5 * time.Second):
			return driver.Files{At: "files"}, nil
		}
	}
	d := employed(t, driver.Worker{Name: "one", Files: slow}, echo)
	made, err := d.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	want, last := "no worker serves the queue gpu; step b waits;", ""
	res, _ := d.Drive(ctx, made.Run, driver.Work{Stalled: func(why string) {
		if last = cmp.Or(why, last); strings.HasPrefix(why, want) {
			cancel()
		}
	}})
	if !strings.HasPrefix(last, want) || res.Steps[0].Status != engine.Success {
		t.Errorf("it lacks %q, want %q; %+v", last, want, res.Steps)
	}
}

// TestReplannedClaim: the worker that a run looks for is one that its newest plan needs.
func TestReplannedClaim(t *testing.T) {
	needsServer(t)
	t.Parallel()
	d := employed(t, driver.Worker{Name: "none"}, echo)
	pin := func(program string, ids ...string) *driver.Pin {
		p := &driver.Pin{Bundle: chain(task(ids[0])), Sites: map[string]driver.Site{}}
		for _, id := range ids {
			p.Sites["long/"+id] = driver.Site{Stays: true, Program: program}
		}
		return p
	}
	if _, err := d.Start(t.Context(), driver.Spec{Run: "run-1", Pin: pin("claude", "n1"), Limits: workflow.Limits{Steps: 100, Parallel: 10}}); err != nil {
		t.Fatal(err)
	}
	lacks := func(want string) {
		t.Helper()
		now := driver.Info{}
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline) && !strings.HasPrefix(now.Stalled, want); time.Sleep(100 * time.Millisecond) {
			now, _ = d.Info(t.Context(), "run-1")
		}
		if !strings.HasPrefix(now.Stalled, want) {
			t.Fatalf("it lacks %q, want %q", now.Stalled, want)
		}
	}
	replan := func(p *driver.Pin) {
		t.Helper()
		if _, err := d.Replan(t.Context(), "run-1", driver.Replan{Pin: p}); err != nil {
			t.Fatal(err)
		}
	}
	lacks("no worker has claude")
	replan(pin("codex", "n2"))
	lacks("no worker has codex")
	replan(pin("gemini", "n2")) // the same step goes on, with another agent
	lacks("no worker has gemini")
	for _, program := range []string{"claude", "codex", "gemini"} {
		joins(t, d, driver.Worker{Name: program, Programs: []string{program}}, agent(func(context.Context, *engine.StartTask, driver.Attempt) driver.Outcome {
			return driver.Outcome{Output: program}
		}))
		time.Sleep(time.Second)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if res, err := d.Drive(ctx, "run-1", driver.Work{}); err != nil || res.Output != "gemini" {
		t.Errorf("%s %v", outline(res), err)
	}
}

// employed returns a driver with a worker, which makes attempts with a function until the test ends.
func employed(t *testing.T, w driver.Worker, a agent) *temporal.Driver {
	t.Helper()
	return employedAt(t, newName(), w, a)
}

func employedAt(t *testing.T, queue string, w driver.Worker, a agent) *temporal.Driver {
	t.Helper()
	o := options(queue, temporal.Folder(t.TempDir()))
	d := open(t, o)
	joins(t, d, w, a)
	return d
}

// joins lets a worker make attempts with a function until the test ends.
func joins(t *testing.T, d *temporal.Driver, w driver.Worker, a agent) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	w.Resolve = func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
		return driver.Work{Agents: a}, func() {}, nil
	}
	go func() { ended <- d.Work(ctx, w, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
