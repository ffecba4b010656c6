package temporal_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	hocketagent "github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// machine is a checkout of a project on a machine of its own.
type machine struct {
	*hocket.Project
	root, state string

	mu    sync.Mutex
	did   []string // attempts that were made here
	noted []string // why others were refused
}

// cluster is a project on several machines that share a queue and a store.
type cluster struct {
	t            *testing.T
	queue, store string
	files        map[string]string
	agents       map[string]hocketagent.Executor // in Go
}

func newCluster(t *testing.T, files map[string]string) *cluster {
	if address == "" {
		t.Skip("HOCKET_TEMPORAL names no directory with the program temporal; make temporal builds it")
	}
	all := map[string]string{".hocket/config.yml": "driver: temporal\n"}
	maps.Copy(all, files)
	return &cluster{t, fmt.Sprintf("h%d", worlds.Add(1)), t.TempDir(), all, nil}
}

// machine checks the project out, with changes.
func (c *cluster) machine(changed map[string]string) *machine {
	c.t.Helper()
	m := &machine{root: c.t.TempDir(), state: c.t.TempDir()}
	write := func(files map[string]string) {
		for name, text := range files {
			path := filepath.Join(m.root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				c.t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	write(c.files)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x", "--date", "2026-01-01T00:00:00Z"}} {
		cmd := exec.Command("git", append([]string{"-C", m.root}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			c.t.Skipf("git: %v %s", err, out)
		}
	}
	write(changed)
	c.open(m, func(*temporal.Options) {})
	return m
}

// open opens the project on a machine with other options of the driver.
func (c *cluster) open(m *machine, change func(*temporal.Options)) {
	c.t.Helper()
	p, err := hocket.Open(m.root, hocket.Options{
		State: m.state, Agents: c.agents, Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil },
		Drivers: map[string]hocket.OpenDriver{"temporal": func(hocket.DriverSetup) (driver.Driver, error) {
			o := temporal.Options{
				Client: client.Options{HostPort: address, Logger: quiet}, Queue: c.queue, Store: temporal.Folder(c.store), Create: true, Heartbeat: 2 * time.Second,
			}
			change(&o)
			return temporal.Open(o)
		}},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	powers, err := p.Powers()
	if err == nil {
		err = p.Trust(powers)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { p.Close() })
	m.Project = p
}

// work makes the machine a worker until the test ends or stop is called.
func (m *machine) work(t *testing.T, o hocket.Worker) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	o.Happened = func(a driver.AttemptID, out *driver.Outcome, refused error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		switch {
		case refused != nil:
			m.noted = append(m.noted, refused.Error())
		case out != nil:
			m.did = append(m.did, a.Address)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := m.Work(ctx, o); err != nil {
			t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(stop)
	return stop
}

func (m *machine) made() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.did, " ")
}

// start starts a run of a workflow, and drives it as a client does.
func (m *machine) start(t *testing.T, name string, f hocket.Front) (*hocket.Run, func() (engine.Result, error)) {
	t.Helper()
	w, err := m.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	type end struct {
		res engine.Result
		err error
	}
	ended := make(chan end, 1)
	go func() {
		res, err := r.Drive(ctx, f)
		ended <- end{res, err}
	}()
	return r, func() (engine.Result, error) {
		defer cancel()
		e := <-ended
		return e.res, e.err
	}
}

// stalls collects what a run lacked.
func stalls() (front hocket.Front, told chan string) {
	told = make(chan string, 100)
	return hocket.Front{Stalled: func(why string) { told <- why }}, told
}

const steps = `
name: build
steps:
  - {id: a, agent: shell, config: {command: pwd}}
  - {id: b, agent: shell, config: {command: pwd}}
  - {id: c, agent: roaming, config: {command: pwd}}
  - {id: d, agent: far, config: {command: pwd}}
`

var steady = map[string]string{
	".hocket/workflows/build.yml": steps,
	".hocket/agents/roaming.yml":  "agent: shell\nplace: any\nsettings: {command: pwd}\n",
	".hocket/agents/far.yml":      "agent: shell\nqueue: gpu\nsettings: {command: pwd}\n",
}

// TestPlaces: tasks that use files stay on one machine, and tasks with a label wait for a worker that serves it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	c := newCluster(t, steady)
	starter, one, two, gpu := c.machine(nil), c.machine(nil), c.machine(nil), c.machine(nil)
	front, told := stalls()
	_, wait := starter.start(t, "build", front)
	if why := <-told; why != "no worker serves the queue "+c.queue+" with the store "+c.store {
		t.Errorf("without workers: %q", why)
	}
	one.work(t, hocket.Worker{})
	two.work(t, hocket.Worker{})
	for why := range told {
		if why == "" {
			continue
		}
		if !strings.HasPrefix(why, "no worker serves the queue gpu; the steps that use the project's files wait; start one") {
			t.Errorf("without a worker for the label: %q", why)
		}
		break
	}
	gpu.work(t, hocket.Worker{Queues: []string{"gpu"}})
	res, err := wait()
	if err != nil || res.Status != engine.Success {
		t.Fatalf("%+v %v", res, err)
	}
	var dirs []string
	for _, s := range res.Steps {
		v, err := s.Value()
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, strings.TrimSpace(fmt.Sprint(v)))
	}
	if dirs[0] != dirs[1] || dirs[0] == starter.root || dirs[3] != real(t, gpu.root) {
		t.Errorf("steps were done in %v", dirs)
	}
}

// TestWaitForPeople: a run on workers is always driven, but who waits for one is told when it waits for people.
func TestWaitForPeople(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/gate.yml": "name: gate\nsteps: [{id: ok, human: \"Fine?\"}]\n"})
	m := c.machine(nil)
	m.work(t, hocket.Worker{})
	w, err := m.Load("gate")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := m.Start(ctx, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := m.Run(ctx, r.ID())
	if err != nil {
		t.Fatal(err)
	}
	for who, r := range map[string]*hocket.Run{"who started it": r, "another handle": other} {
		if res, err := r.Wait(ctx); err != nil || res.Status != engine.Waiting {
			t.Fatalf("%s: %+v %v", who, res, err)
		}
	}
	if _, err := other.Answer(ctx, "ok", hocket.Answer{Value: "approve"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	if res, err := r.Wait(ctx); err != nil || res.Status != engine.Success {
		t.Fatalf("after the answer: %+v %v", res, err)
	}
}

// TestWaitAfterAnswer: who waits right after an answer waits for what follows, also in a process that watches the list of runs,
// which is a moment older.
func TestWaitAfterAnswer(t *testing.T) {
	t.Parallel()
	const gates = 3
	text := "name: gates\nsteps:\n"
	for i := range gates {
		text += fmt.Sprintf("  - {id: ok%d, human: \"Fine?\"}\n  - {id: b%d, agent: shell, config: {command: sleep 2}}\n", i, i)
	}
	c := newCluster(t, map[string]string{".hocket/workflows/gates.yml": text})
	m := c.machine(nil)
	m.work(t, hocket.Worker{})
	w, err := m.Load("gates")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := m.Record(ctx, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range m.Watch(ctx) {
		}
	}()
	for i := range gates {
		if res, err := r.Wait(ctx); err != nil || res.Status != engine.Waiting {
			t.Fatalf("before answer %d: %s %v", i, res.Status, err)
		}
		time.Sleep(3 * time.Second) // the less happens, the older the list may be
		if _, err := r.Answer(ctx, fmt.Sprint("ok", i), hocket.Answer{Value: "approve"}); err != nil {
			t.Fatal(err)
		}
	}
	if res, err := r.Wait(ctx); err != nil || res.Status != engine.Success {
		t.Errorf("in the end: %s %v", res.Status, err)
	}
}

// TestWaitForAttempt: an attempt that asks waits for people, too, also for the handle that drives the run.
func TestWaitForAttempt(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/ask.yml": "name: ask\nsteps: [{id: a, agent: asker, prompt: x}]\n"})
	c.agents = map[string]hocketagent.Executor{"asker": hocketagent.Func(func(ctx context.Context, task *hocketagent.Task, _ hocketagent.Log) (hocketagent.Result, error) {
		said, err := task.Ask(ctx, hocketagent.Question{Text: "May I?", Options: []string{"yes"}})
		return hocketagent.Result{Output: said}, err
	})}
	m := c.machine(nil)
	m.work(t, hocket.Worker{})
	w, err := m.Load("ask")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := m.Start(ctx, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := r.Wait(ctx); err != nil || res.Status != engine.Waiting {
		t.Fatalf("%s %v", res.Status, err)
	}
	open, err := r.Questions(ctx)
	if err != nil || len(open) != 1 {
		t.Fatalf("%+v %v", open, err)
	}
	if _, err := r.Answer(ctx, open[0].ID, hocket.Answer{Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	if res, err := r.Wait(ctx); err != nil || res.Status != engine.Success || res.Output != "yes" {
		t.Errorf("after the answer: %s %q %v", res.Status, res.Output, err)
	}
}

func real(t *testing.T, dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStrangers: a worker works for no run of other workflows, agents or files.
func TestStrangers(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]struct {
		changed map[string]string
		why     string
	}{
		"workflow": {map[string]string{".hocket/workflows/build.yml": strings.Replace(steps, "pwd", "id", 1)}, "worker w2 has other workflows or agents than run build-"},
		"agent":    {map[string]string{".hocket/agents/roaming.yml": "agent: shell\nplace: any\nsettings: {command: id}\n"}, "worker w2 has other workflows or agents than run build-"},
		"files":    {map[string]string{"other.txt": "x"}, "worker w2 has other files than the run was started with: commit "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, steady)
			stranger, worker := c.machine(other.changed), c.machine(nil)
			stop := worker.work(t, hocket.Worker{Name: "w2", Queues: []string{"gpu"}})
			front, told := stalls()
			r, wait := stranger.start(t, "build", front)
			for why := range told {
				if why == "" || strings.HasPrefix(why, "no worker serves the queue") { // on a busy machine, it begins later
					continue
				}
				if !strings.Contains(why, other.why) || name == "files" && !strings.Contains(why, ` with other changes: "other.txt"; make the files the same, add what programs write to .gitignore, or `) {
					t.Errorf("told %q", why)
				}
				break
			}
			for tries := 0; ; tries++ { // while a worker is asked again, nothing is known
				info, err := r.Info(t.Context())
				if err == nil && strings.Contains(info.Stalled, other.why) {
					break
				}
				if err != nil || tries == 100 {
					t.Fatalf("%+v %v", info, err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			if did := worker.made(); did != "" {
				t.Errorf("the worker did %s", did)
			}
			time.Sleep(3 * time.Second) // it is asked again
			stop()
			if noted := worker.noted; len(noted) != 1 || !strings.HasPrefix(noted[0], other.why) || strings.Contains(noted[0], "retryable") {
				t.Errorf("the worker says %q, want one line", noted)
			}
			again := c.machine(other.changed)
			again.work(t, hocket.Worker{Queues: []string{"gpu"}})
			if res, err := wait(); err != nil || res.Status != engine.Success {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
}

// TestFilesOutside: a worker does a workflow outside of .hocket/workflows as soon as its user has trusted the file.
func TestFilesOutside(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{"ci/build.yml": "name: build\nsteps: [{id: a, workflow: sub}]\n", "ci/sub.yml": "name: sub\nsteps:\n  - {id: b, agent: shell, config: {command: pwd}}\n"})
	starter, worker := c.machine(nil), c.machine(nil)
	worker.work(t, hocket.Worker{Name: "w2"})
	front, told := stalls()
	_, wait := starter.start(t, filepath.Join(starter.root, "ci/build.yml"), front)
	for why := range told {
		if why == "" {
			continue
		}
		if !strings.Contains(why, "worker w2 has ci/build.yml of run build-") || !strings.Contains(why, "trust it on that machine with `hocket trust ci/build.yml`") {
			t.Errorf("told %q", why)
		}
		break
	}
	w, err := worker.Load(filepath.Join(worker.root, "ci/build.yml"))
	if err != nil {
		t.Fatal(err)
	}
	powers, err := worker.Powers(w)
	if err == nil {
		err = worker.Trust(powers)
	}
	if err != nil {
		t.Fatal(err)
	}
	if res, err := wait(); err != nil || res.Status != engine.Success {
		t.Errorf("%+v %v", res, err)
	}
}

// TestTasksWait: a worker refuses a run of no file, and what says why also says what to do.
func TestTasksWait(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/agents/ann.yml": "agent: shell\nsettings: {command: [pwd]}\n"})
	m := c.machine(nil)
	stop := m.work(t, hocket.Worker{Name: "w2"})
	w, inputs, err := m.LoadTask(hocket.Task{Prompt: "hello", Agent: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Record(t.Context(), w, inputs)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) == 0 || !strings.Contains(r.Notes[len(r.Notes)-1], "put HOCKET_DRIVER=local in front of the command") {
		t.Errorf("%q", r.Notes)
	}
	front, told := stalls()
	ended := make(chan engine.Result, 1)
	go func() {
		res, err := r.Drive(t.Context(), front)
		if err != nil {
			t.Error(err)
		}
		ended <- res
	}()
	for why := range told {
		if why == "" {
			continue
		}
		if !strings.Contains(why, "worker w2 works only for workflows in files") || !strings.Contains(why, "HOCKET_DRIVER=local") || !strings.Contains(why, "--accept-any") {
			t.Errorf("told %q", why)
		}
		break
	}
	stop()
	m.work(t, hocket.Worker{Name: "w2", AcceptAny: true})
	if res := <-ended; res.Status != engine.Success {
		t.Errorf("%+v", res)
	}
}

// TestSecrets: the history of a run contains no secret that its steps use.
func TestSecrets(t *testing.T) {
	c := newCluster(t, map[string]string{
		".hocket/config.yml":          "driver: temporal\nsecrets: {token: {env: HOCKET_TEST_TOKEN}}\n",
		".hocket/workflows/build.yml": "name: build\nsteps:\n  - {id: a, agent: shell, config: {command: 'echo \"$HOCKET_TEST_TOKEN\"; echo \"$HOCKET_TEST_TOKEN\" >&2; exit 3'}, on_error: continue}\n",
	})
	const secret = "sk-very-secret-0123456789"
	t.Setenv("HOCKET_TEST_TOKEN", secret)
	one := c.machine(nil)
	one.work(t, hocket.Worker{})
	r, wait := one.start(t, "build", hocket.Front{})
	if _, err := wait(); err != nil {
		t.Fatal(err)
	}
	cl, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	events, n := cl.GetWorkflowHistory(t.Context(), c.queue+"/"+r.ID(), "", false, 0), 0
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		n++
		if text, _ := protojson.Marshal(e); strings.Contains(string(text), secret) || strings.Contains(string(text), base64.StdEncoding.EncodeToString([]byte(secret))[:20]) {
			t.Errorf("an event contains the secret: %s", text)
		}
		for _, data := range payloads(e.ProtoReflect()) {
			if strings.Contains(string(data), secret) {
				t.Errorf("a value contains the secret: %s", data)
			}
		}
	}
	if n < 5 {
		t.Errorf("read only %d events", n)
	}
	err = filepath.WalkDir(c.store, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), secret) {
			t.Errorf("%s contains the secret", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// payloads returns the data of all payloads in a message.
func payloads(m protoreflect.Message) (all [][]byte) {
	if p, ok := m.Interface().(*commonpb.Payload); ok {
		return [][]byte{p.GetData()}
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				all = append(all, payloads(v.Message())...)
				return true
			})
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				all = append(all, payloads(v.List().Get(i).Message())...)
			}
		case !f.IsMap() && f.Message() != nil:
			all = append(all, payloads(v.Message())...)
		}
		return true
	})
	return all
}

// TestReset: what Temporal's own tools do to a run is refused or told, and a fork continues it.
func TestReset(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/build.yml": `name: build
steps:
  - {id: a, agent: shell, config: {command: echo a}}
  - {id: ok, human: "Go on?"}
  - {id: b, agent: shell, config: {command: echo b}}
`})
	one := c.machine(nil)
	one.work(t, hocket.Worker{})
	cl, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for name, end := range map[string]func(id string) error{
		"reset": func(id string) error {
			_, err := cl.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
				Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id}, Reason: "test", WorkflowTaskFinishEventId: 4, RequestId: newName(),
			})
			return err
		},
		"terminate": func(id string) error { return cl.TerminateWorkflow(t.Context(), id, "", "test") },
	} {
		t.Run(name, func(t *testing.T) {
			r, wait := one.start(t, "build", hocket.Front{})
			if res, err := wait(); err != nil || res.Status != engine.Waiting {
				t.Fatalf("%+v %v", res, err)
			}
			if err := end(c.queue + "/" + r.ID()); err != nil {
				t.Fatal(err)
			}
			var info hocket.Info
			for range 100 {
				if info, err = r.Info(t.Context()); err != nil || info.Problem != "" {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if err != nil || !strings.Contains(info.Problem, "hocket fork") {
				t.Errorf("%+v %v", info, err)
			}
			if _, err := r.Drive(t.Context(), hocket.Front{}); err == nil || !strings.Contains(err.Error(), "hocket fork") {
				t.Errorf("driven: %v", err)
			}
			if _, err := r.Answer(t.Context(), "ok", hocket.Answer{Value: "yes"}); err == nil || !strings.Contains(err.Error(), "hocket fork") {
				t.Errorf("answered: %v", err)
			}
			next, err := r.Fork(t.Context(), "a", nil)
			if err != nil {
				t.Fatal(err)
			}
			if res, err := next.Drive(t.Context(), hocket.Front{}); err != nil || res.Status != engine.Waiting {
				t.Fatalf("%+v %v", res, err)
			}
		})
	}
}

func newName() string { return fmt.Sprint("r", worlds.Add(1)) }

// TestForged: what somebody else puts into the queue of a project is not done, even in the name of an accepted run.
func TestForged(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/build.yml": "name: build\nsteps:\n  - {id: a, agent: shell, config: {command: echo a}}\n  - {id: ok, human: \"Go on?\"}\n"})
	one := c.machine(nil)
	one.work(t, hocket.Worker{})
	r, wait := one.start(t, "build", hocket.Front{})
	if res, err := wait(); err != nil || res.Status != engine.Waiting {
		t.Fatalf("%+v %v", res, err)
	}
	cl, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	mark := filepath.Join(t.TempDir(), "mark")
	task := map[string]any{"Workflow": "build", "Node": "a", "Agent": "shell", "Address": "a", "Attempt": 1, "Settings": map[string]any{"command": "touch " + mark}}
	forge := func(ctx workflow.Context, name string, in map[string]any) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: taskQueue(c.queue, c.store), ScheduleToCloseTimeout: 5 * time.Second, RetryPolicy: &sdk.RetryPolicy{MaximumAttempts: 1},
		})
		return workflow.ExecuteActivity(ctx, name, in).Get(ctx, nil)
	}
	queue := newName()
	rogue := worker.New(cl, queue, worker.Options{})
	rogue.RegisterWorkflowWithOptions(forge, workflow.RegisterOptions{Name: "forge"})
	if err := rogue.Start(); err != nil {
		t.Fatal(err)
	}
	defer rogue.Stop()
	for name, in := range map[string]map[string]any{
		"hocket.attempt": {"run": r.ID(), "seq": 1, "task": task},
		"hocket.archive": {"run": "../../" + r.ID(), "events": []any{}},
	} {
		got, err := cl.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: newName(), TaskQueue: queue}, "forge", name, in)
		if err == nil {
			err = got.Get(t.Context(), nil)
		}
		if err == nil || !strings.Contains(err.Error(), "did not schedule this attempt under the accepted plan") && !strings.Contains(err.Error(), "only a run stores its events") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a forged attempt was made")
	}
}

// TestRevoked: a worker makes no more attempts of a run in progress when its user no longer trusts the project, until the user does
// again.
func TestRevoked(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/w.yml": `name: w
steps:
  - {id: a, agent: shell, config: {command: pwd}}
  - {id: ok, human: "Go on?"}
  - {id: b, agent: shell, config: {command: pwd}}
`})
	starter, one := c.machine(nil), c.machine(nil)
	one.work(t, hocket.Worker{Name: "one"})
	r, wait := starter.start(t, "w", hocket.Front{})
	if res, err := wait(); err != nil || res.Status != engine.Waiting {
		t.Fatalf("%+v %v", res, err)
	}
	if _, err := one.Approvals().Revoke(one.Root(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Answer(t.Context(), "ok", hocket.Answer{Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	front, told := stalls()
	type end struct {
		res engine.Result
		err error
	}
	ended := make(chan end, 1)
	go func() {
		res, err := r.Drive(t.Context(), front)
		ended <- end{res, err}
	}()
	for why := ""; !strings.Contains(why, "worker one: the project "); {
		select {
		case why = <-told:
		case e := <-ended:
			t.Fatalf("%+v %v", e.res, e.err)
		}
	}
	if did := one.made(); did != "a" {
		t.Errorf("the worker did %s", did)
	}
	powers, err := one.Powers()
	if err == nil {
		err = one.Trust(powers)
	}
	if err != nil {
		t.Fatal(err)
	}
	if e := <-ended; e.err != nil || e.res.Status != engine.Success {
		t.Errorf("%+v %v", e.res, e.err)
	}
}
