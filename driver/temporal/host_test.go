package temporal_test

import (
	"context"
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
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"go.temporal.io/sdk/client"
)

// machine is a checkout of a project on a machine of its own.
type machine struct {
	*hocket.Project
	root string

	mu    sync.Mutex
	did   []string // attempts that were made here
	noted []string // why others were refused
}

// cluster is a project on several machines that share a queue and a store.
type cluster struct {
	t            *testing.T
	queue, store string
	files        map[string]string
}

func newCluster(t *testing.T, files map[string]string) *cluster {
	if address == "" {
		t.Skip("HOCKET_TEMPORAL names no directory with the program temporal; make temporal builds it")
	}
	all := map[string]string{".hocket/config.yml": "driver: temporal\n"}
	maps.Copy(all, files)
	return &cluster{t, fmt.Sprintf("h%d", worlds.Add(1)), t.TempDir(), all}
}

// machine checks the project out, with changes.
func (c *cluster) machine(changed map[string]string) *machine {
	c.t.Helper()
	m := &machine{root: c.t.TempDir()}
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
	p, err := hocket.Open(m.root, hocket.Options{
		State: c.t.TempDir(), Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil },
		Drivers: map[string]hocket.OpenDriver{"temporal": func(hocket.DriverSetup) (driver.Driver, error) {
			return temporal.Open(temporal.Options{
				Client: client.Options{HostPort: address, Logger: quiet}, Queue: c.queue, Store: temporal.Folder(c.store), Workers: true, Heartbeat: 2 * time.Second,
			})
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
	return m
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
	if why := <-told; why != "no worker serves the queue "+c.queue {
		t.Errorf("without workers: %q", why)
	}
	one.work(t, hocket.Worker{})
	two.work(t, hocket.Worker{})
	for why := range told {
		if why == "" {
			continue
		}
		if !strings.HasPrefix(why, "no worker serves the queue "+c.queue+"/queue/gpu") {
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
		"workflow": {map[string]string{".hocket/workflows/build.yml": strings.Replace(steps, "pwd", "id", 1)}, "is not of the workflows and agents that are here"},
		"agent":    {map[string]string{".hocket/agents/roaming.yml": "agent: shell\nplace: any\nsettings: {command: id}\n"}, "is not of the workflows and agents that are here"},
		"files":    {map[string]string{"other.txt": "x"}, "has other files: the run was started with commit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, steady)
			stranger, worker := c.machine(other.changed), c.machine(nil)
			stop := worker.work(t, hocket.Worker{Queues: []string{"gpu"}})
			front, told := stalls()
			r, wait := stranger.start(t, "build", front)
			for why := range told {
				if why == "" {
					continue
				}
				if !strings.Contains(why, other.why) {
					t.Errorf("told %q", why)
				}
				break
			}
			info, err := r.Info(t.Context())
			if err != nil || !strings.Contains(info.Stalled, other.why) {
				t.Errorf("%+v %v", info, err)
			}
			if did := worker.made(); did != "" {
				t.Errorf("the worker did %s", did)
			}
			stop()
			again := c.machine(other.changed)
			again.work(t, hocket.Worker{Queues: []string{"gpu"}})
			if res, err := wait(); err != nil || res.Status != engine.Success {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
}
