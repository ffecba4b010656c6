package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/sdk/client"
)

func step(id string) workflow.Node {
	return workflow.Node{ID: id, Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: id}}}
}

// inOrder returns a run of steps that follow each other.
func inOrder(nodes ...workflow.Node) driver.Spec {
	g := workflow.Graph{Nodes: nodes}
	for i := range nodes[1:] {
		g.Edges = append(g.Edges, workflow.Edge{From: nodes[i].ID, To: nodes[i+1].ID})
	}
	return driver.Spec{
		Pin:    &driver.Pin{Bundle: &workflow.Bundle{Root: &workflow.Workflow{Name: "steps", Body: g}}},
		Limits: workflow.Limits{Steps: 1000, Parallel: 10, Depth: 5, Runtime: time.Hour},
	}
}

// until waits until something holds.
func (c *yard) until(what string, limit time.Duration, holds func() bool) {
	c.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// pids waits until the program of an attempt and what it started run.
func (c *yard) pids(run string) (pids []int) {
	c.Helper()
	c.until("the program runs", time.Minute, func() bool {
		text, _ := os.ReadFile(filepath.Join(c.Effects, run+"_program.pids"))
		pids = nil
		for line := range strings.Lines(string(text)) {
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				return false
			}
			pids = append(pids, pid)
		}
		return len(pids) >= 2
	})
	return pids
}

// runs reports whether a process runs.
func runs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func (c *yard) letProgramsEnd() {
	c.Helper()
	if err := appendLine(filepath.Join(c.Effects, "go"), ""); err != nil {
		c.Fatal(err)
	}
}

// count counts the ends of attempts of a run, by the kind of their fault.
func (c *yard) count(run string) map[engine.FaultKind]int {
	c.Helper()
	ends := map[engine.FaultKind]int{}
	for _, e := range c.events(run) {
		if ended, ok := e.Event.(*engine.TaskEnded); ok {
			kind := engine.FaultKind("")
			if ended.Fault != nil {
				kind = ended.Fault.Kind
			}
			ends[kind]++
		}
	}
	return ends
}

// The programs of a worker that is killed, and what those have started, end with it.
func TestProgramsOfAKilledWorker(t *testing.T) {
	needsServer(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the programs of a process that was killed")
	}
	c := newYard(t, address, 1)
	call := c.run(inOrder(step("program")))
	pids := c.pids(call.run)
	c.workers[0].kill()
	c.until("the programs of the worker have ended", 2*time.Second, func() bool { return !runs(pids[0]) && !runs(pids[1]) })
	c.letProgramsEnd()
	c.workers[0] = c.worker()
	c.wait(call)
	c.check(call)
}

// A worker stops for longer than its heartbeat. Another one makes its attempt again; when the first one continues,
// nobody wants its result, and its programs end.
func TestStoppedWorker(t *testing.T) {
	needsServer(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells which programs run")
	}
	c := newYard(t, address, 1)
	call := c.run(inOrder(step("program"), step("after")))
	first := c.pids(call.run)
	if err := c.workers[0].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.workers = append(c.workers, c.worker())
	c.until("another worker makes the attempt", time.Minute, func() bool { return c.begun()[call.run+"/program@1"] == 2 })
	for _, pid := range first { // the second one is on the same machine, and ends what the first one left
		c.until("the programs of the first attempt have ended", 10*time.Second, func() bool { return !runs(pid) })
	}
	if err := c.workers[0].cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.until("the worker that continues gives up its attempt", 10*time.Second, func() bool {
		text, _ := os.ReadFile(filepath.Join(c.Effects, call.run+"_program"))
		return strings.Contains(string(text), "end "+call.run+"/program@1 worker-1")
	})
	lost := c.count(call.run)
	if len(lost) != 1 || lost[engine.FaultLost] == 0 { // more than once if the server gives it to the first one again
		t.Errorf("ends of attempts: %v", lost)
	}
	c.letProgramsEnd()
	if res := c.wait(call); res.Status != engine.Success || res.Steps[0].Output != "program" {
		t.Errorf("%s", outline(res))
	}
	if ends := c.count(call.run); ends[engine.FaultLost] != lost[engine.FaultLost] || ends[""] != 2 {
		t.Errorf("ends of attempts: %v", ends)
	}
	if begun := c.begun(); begun[call.run+"/program@1"] != 2 {
		t.Errorf("begun: %v", begun)
	}
	c.check(call)
}

// A worker is cut off from the server for longer than its heartbeat. Others make its attempts, and it works again
// when the network is back: also if the network has told nobody, so that its connections seem to be there.
func TestPartition(t *testing.T) {
	needsServer(t)
	t.Parallel()
	t.Run("cut", func(t *testing.T) {
		t.Parallel()
		partition(t, (*proxy).cut, 3)
	})
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		partition(t, (*proxy).silence, 1) // gRPC notices that after up to 45 seconds
	})
}

// partition parts a worker from the server a few times.
func partition(t *testing.T, part func(*proxy), cuts int) {
	c := newYard(t, address, 2)
	network := startProxy(t, address)
	far := c.role
	far.Address, far.Name = network.address, "far"
	far.start(t)
	done := 0
	next := time.Now().Add(time.Second)
	for done < cuts {
		c.through(func() bool {
			if time.Now().Before(next) || done == cuts {
				return false
			}
			part(network)
			time.Sleep(2 * heartbeat)
			network.join()
			done++
			next = time.Now().Add(time.Second)
			return true
		})
	}
	for _, w := range c.workers {
		w.kill()
	}
	call := c.run(inOrder(step("alone")))
	if res := c.wait(call); res.Status != engine.Success {
		t.Errorf("%s", outline(res))
	}
	c.check(call)
}

// A step that may happen only once is not made again when its worker is killed. The budget of the run counts it.
func TestOnceIsAsked(t *testing.T) {
	needsServer(t)
	c := newYard(t, address, 1)
	deploy := step("program")
	deploy.Once = true
	spec := inOrder(deploy, step("after"))
	spec.Tasks = map[string]engine.TaskFacts{"steps/program": {May: workflow.Budget{CostUSD: workflow.AtMost(cost), Tokens: workflow.AtMost(0)}}, "steps/after": {May: workflow.Free}}
	spec.Limits.CostUSD = cost
	call := c.run(spec)
	c.pids(call.run)
	c.replace(0)
	res := c.wait(call)
	open, err := c.d.Questions(t.Context(), driver.QuestionFilter{Run: call.run})
	if err != nil || res.Status != engine.Waiting || len(open) != 1 || res.Usage.CostUSD != cost || !res.Usage.CostUnknown {
		t.Fatalf("%s%+v, %v, %+v", outline(res), open, err, res.Usage)
	}
	if _, err := c.d.Act(t.Context(), call.run, &engine.Answered{ID: open[0].ID, Value: "done", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	c.follow(call)
	if res := c.wait(call); res.Status != engine.Success || c.begun()[call.run+"/program@1"] != 1 {
		t.Errorf("%s%v", outline(res), c.begun())
	}
	c.check(call)
}

// A worker of another version cannot run a workflow, and does no harm. The run goes on with a worker that can.
func TestOtherVersion(t *testing.T) {
	needsServer(t)
	c := newYard(t, address, 0)
	older := c.role
	older.Older = true
	process := older.start(t)
	call := c.run(inOrder(step("a"), step("b")))
	time.Sleep(2 * time.Second) // it tries
	if events := c.events(call.run); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
	c.workers = append(c.workers, c.worker())
	time.Sleep(time.Second) // both try
	process.kill()
	if res := c.wait(call); res.Status != engine.Success {
		t.Errorf("%s", outline(res))
	}
	c.check(call)
}

// Values that are too large for the server are in the store.
func TestLargeValues(t *testing.T) {
	needsServer(t)
	c := newYard(t, address, 1)
	spec := inOrder(step("large"), workflow.Node{ID: "next", Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: "${nodes.large.output}${inputs.text}"}}})
	input := strings.Repeat("y", 3<<20)
	spec.Inputs = map[string]any{"text": input}
	call := c.run(spec)
	res := c.wait(call)
	if want := strings.Repeat("x", 3<<20) + input; res.Status != engine.Success || res.Output != want {
		t.Errorf("%s: %s, %d bytes", res.Status, res.Error, len(fmt.Sprint(res.Output)))
	}
	c.check(call)
}

// A namespace that does not exist is named, with what to do about it.
func TestMissingNamespace(t *testing.T) {
	needsServer(t)
	d, err := temporal.Open(temporal.Options{
		Client: client.Options{HostPort: address, Namespace: "nowhere", Logger: quiet}, Queue: "q", Store: temporal.Folder(t.TempDir()),
	})
	if err == nil {
		d.Close()
	}
	if want := `has no namespace "nowhere": create it with`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// A run whose queue no worker serves says so, and waits for one.
func TestNoWorkers(t *testing.T) {
	needsServer(t)
	c := newYard(t, address, 0)
	spec := inOrder(step("a"))
	spec.Run = "run-1"
	if _, err := c.d.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 10)
	ended := make(chan error, 1)
	go func() {
		res, err := c.d.Drive(context.Background(), spec.Run, driver.Work{Stalled: func(why string) { told <- why }})
		if err == nil && res.Status != engine.Success {
			err = errors.New(outline(res))
		}
		ended <- err
	}()
	select {
	case why := <-told:
		if !strings.Contains(why, "no worker serves the queue "+c.Queue) {
			t.Errorf("it lacks %q", why)
		}
	case err := <-ended:
		t.Fatalf("the run does not wait: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the run does not say that it waits for a worker")
	}
	c.worker()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Who follows a run while the server is away says so once, and goes on when it is back; also who begins to follow it then. A server
// that is silent is away, too.
func TestServerAway(t *testing.T) {
	needsServer(t)
	t.Parallel()
	for name, part := range map[string]func(*proxy){"cut": (*proxy).cut, "silent": (*proxy).silence} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			serverAway(t, part)
		})
	}
}

func serverAway(t *testing.T, part func(*proxy)) {
	c := newYard(t, address, 1)
	network := startProxy(t, address)
	far := c.role
	far.Address = network.address
	d, err := far.open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	call := c.run(inOrder(step("program"), step("after")))
	c.pids(call.run)
	follow := func() (told chan string, ended chan error) {
		told, ended = make(chan string, 100), make(chan error, 1)
		go func() {
			res, err := d.Drive(context.Background(), call.run, driver.Work{Stalled: func(why string) { told <- why }})
			if err == nil && res.Status != engine.Success {
				err = errors.New(outline(res))
			}
			ended <- err
		}()
		return told, ended
	}
	told, ended := follow()
	time.Sleep(2 * time.Second) // it reads the run
	part(network)
	toldLate, endedLate := follow()
	for who, told := range map[string]chan string{"who follows it": told, "who begins to follow it": toldLate} {
		select {
		case why := <-told:
			if why != "the Temporal server at "+network.address+" does not answer" {
				t.Errorf("%s is told %q", who, why)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s is told nothing", who)
		}
	}
	network.join()
	c.letProgramsEnd()
	for who, ended := range map[string]chan error{"who follows it": ended, "who begins to follow it": endedLate} {
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", who, err)
		}
	}
	for _, told := range []chan string{told, toldLate} {
		close(told)
		for why := range told {
			if why != "" {
				t.Errorf("then it is told %q", why)
			}
		}
	}
	c.wait(call)
}

// Until a worker takes a step, neither its timeout nor the runtime of the run passes.
func TestWaitingForAWorker(t *testing.T) {
	needsServer(t)
	for _, beat := range []time.Duration{heartbeat, 10 * time.Second} {
		t.Run(fmt.Sprint("any ", beat), func(t *testing.T) { waitForAWorker(t, driver.Site{Queue: "gpu"}, beat) })
		t.Run(fmt.Sprint("one that has the files ", beat), func(t *testing.T) { waitForAWorker(t, driver.Site{Queue: "gpu", Stays: true}, beat) })
	}
}

func waitForAWorker(t *testing.T, site driver.Site, beat time.Duration) {
	t.Parallel()
	c := newYard(t, address, 0)
	c.role.Heartbeat = beat
	d, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c.d, c.workers = d, []*child{c.worker()}
	spec := inOrder(step("a"), step("b"))
	spec.Pin.Bundle.Root.Body.Nodes[1].Timeout = 1500 * time.Millisecond
	spec.Pin.Sites = map[string]driver.Site{"steps/b": site}
	spec.Limits.Runtime = 5 * time.Second
	began := time.Now()
	call := c.run(spec)
	c.until("b waits", time.Minute, func() bool { return count[*engine.Queued](c.events(call.run)) == 1 })
	c.replace(0) // another worker takes over the workflow meanwhile
	time.Sleep(time.Until(began.Add(8 * time.Second)))
	c.role.Queues = []string{"gpu"}
	c.workers = append(c.workers, c.worker())
	if res := c.wait(call); res.Status != engine.Success {
		t.Error(outline(res))
	}
	if n := count[*engine.Queued](c.events(call.run)); n != 2 && (n != 1 || beat == heartbeat) { // b may have ended before it said that it began
		t.Errorf("%d events say that b waits or begins, want 2", n)
	}
	c.check(call)
}

// While workers refuse a step, its timeout does not pass either.
func TestRefusedForLong(t *testing.T) {
	needsServer(t)
	t.Parallel()
	c := newYard(t, address, 1)
	spec := inOrder(step("a"))
	spec.Pin.Bundle.Root.Body.Nodes[0].Timeout = 3 * time.Second
	spec.Pin.Sites = map[string]driver.Site{"steps/a": {Queue: "gpu", Program: "claude"}}
	c.role.Queues = []string{"gpu"}
	c.workers = append(c.workers, c.worker()) // which does not have it
	call := c.run(spec)
	time.Sleep(6 * time.Second)
	c.role.Programs = []string{"claude"}
	c.workers = append(c.workers, c.worker())
	if res := c.wait(call); res.Status != engine.Success {
		t.Error(outline(res))
	}
	c.check(call)
}

func count[E engine.Event](events []engine.Envelope) (n int) {
	for _, e := range events {
		if _, ok := e.Event.(E); ok {
			n++
		}
	}
	return n
}

// The wall clocks of workers and clients differ by a minute. The times of a run are those of the server.
func TestClocks(t *testing.T) {
	needsServer(t)
	c := newYard(t, address, 0)
	for _, ahead := range []time.Duration{time.Minute, -time.Minute, 0} {
		c.Ahead = ahead
		c.workers = append(c.workers, c.worker())
	}
	late := workflow.Node{ID: "ask", Timeout: time.Second, Step: &workflow.Human{Question: workflow.Template{Text: "Now?"}, Options: []workflow.Option{{Value: "yes"}}}}
	spec := inOrder(step("first"), late, step("after"))
	spec.Pin.Bundle.Root.Body.Edges[1].On = workflow.OnTimeout
	for _, ahead := range []time.Duration{time.Minute, -time.Minute} {
		c.Ahead = ahead // of who starts the run, and forks it
		d, err := c.open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		c.d = d
		c.clocks(c.through(func() bool { return false }), time.Time{})
		began := time.Now()
		call := c.run(spec)
		c.clocks(call, began)
		began = time.Now()
		if _, err := c.d.Fork(t.Context(), driver.ForkSpec{From: call.run, Run: call.run + "-fork", Address: "ask"}); err != nil {
			t.Fatal(err)
		}
		fork := *call
		fork.run += "-fork"
		c.follow(&fork)
		c.clocks(&fork, began)
	}
}

// clocks checks that nothing has happened later than now, that all is counted that was spent, and that a question with a timeout of a second took about as long.
func (c *yard) clocks(call *call, began time.Time) {
	c.Helper()
	res := c.wait(call)
	for _, e := range c.events(call.run) {
		if e.Time.After(time.Now()) {
			c.Errorf("event %d happened at %s", e.Seq, e.Time)
		}
	}
	spent, err := c.d.Spent(c.Context(), time.Time{})
	if err != nil {
		c.Fatal(err)
	}
	attempts := 0
	for _, s := range spent {
		if s.Run == call.run {
			attempts += s.Attempts
		}
	}
	want := 0
	for _, e := range c.events(call.run) {
		if _, forked := e.Event.(*engine.Forked); forked { // what came before is of another run
			want = 0
		}
		if ended, ok := e.Event.(*engine.TaskEnded); ok && ended.Usage.CostUSD > 0 {
			want++
		}
	}
	if attempts != want {
		c.Errorf("%s: %d attempts have cost something, want %d", call.run, attempts, want)
	}
	if took := time.Since(began); !began.IsZero() && (res.Status != engine.Success || took < time.Second || took > 30*time.Second) {
		c.Errorf("%s after %s", outline(res), took)
	}
	c.check(call)
}

// Values that are small enough for the history, but too large for it together, do not stop a run.
func TestManyValues(t *testing.T) {
	needsServer(t)
	c := newYard(t, address, 1)
	const items = 100
	each := workflow.Node{ID: "each", Step: &workflow.Each{Items: workflow.Expr{Text: "inputs.items"}, Body: workflow.Graph{Nodes: []workflow.Node{
		{ID: "each", Step: &workflow.Task{Agent: "test", Prompt: workflow.Template{Text: "${inputs.text}"}}},
	}}}}
	spec := inOrder(each)
	spec.Limits.Parallel = items
	text := strings.Repeat("x", 60_000)
	spec.Inputs = map[string]any{"text": text, "items": make([]any, items)}
	call := c.run(spec)
	if res := c.wait(call); res.Status != engine.Success || len(res.Steps) != items || res.Steps[items-1].Output != text {
		t.Errorf("%s, %d steps", res.Status, len(res.Steps))
	}
	c.check(call)
}
