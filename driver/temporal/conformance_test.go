package temporal_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

var address string // of the server; "": there is none

func TestMain(m *testing.M) {
	playRole()
	flag.Parse()
	stop := func() {}
	if os.Getenv("HOCKET_TEMPORAL") != "" {
		file, remove := serverFile()
		s := startServer(file)
		address, stop = s.address, func() { s.kill(); remove() }
		os.Setenv("HOCKET_TEMPORAL_ADDRESS", address) // for tests inside the package
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

// serverFile returns where the server of most tests keeps everything. Without a file it sometimes loses all of it at once, with its namespace
// (temporalio/temporal#3784), but figures are for such a server. In /dev/shm, a file is as fast.
func serverFile() (file string, remove func()) {
	if flag.Lookup("test.bench").Value.String() != "" {
		return "", func() {}
	}
	dir, err := os.MkdirTemp("/dev/shm", "hocket-temporal-")
	if err != nil {
		dir, err = os.MkdirTemp("", "hocket-temporal-")
	}
	if err != nil {
		panic(err)
	}
	return filepath.Join(dir, "server.db"), func() { os.RemoveAll(dir) }
}

// server is a development server.
type server struct {
	address string
	args    []string
	cmd     *exec.Cmd
}

// startServer starts a server that keeps everything in a file, or in memory.
func startServer(file string) *server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := &server{address: l.Addr().String()}
	l.Close()
	_, port, _ := net.SplitHostPort(s.address)
	s.args = []string{"server", "start-dev", "--headless", "--port", port, "--log-level", "never", "--dynamic-config-value", "history.transferProcessorMaxPollRPS=2000",
		"--dynamic-config-value", "system.enableActivityEagerExecution=true",
		// Otherwise it takes half a minute to delete a run that has just ended.
		"--dynamic-config-value", `history.transferProcessorUpdateAckInterval="50ms"`, "--dynamic-config-value", `history.visibilityProcessorUpdateAckInterval="50ms"`}
	if file != "" {
		s.args = append(s.args, "--db-filename", file)
	} else { // Whenever a search attribute is set, others do not read from the database which exist. New ones are known later then.
		s.args = append(s.args, "--dynamic-config-value", "system.forceSearchAttributesCacheRefreshOnRead=false")
	}
	s.start()
	return s
}

func (s *server) start() {
	s.cmd = exec.Command(filepath.Join(os.Getenv("HOCKET_TEMPORAL"), "temporal"), s.args...)
	if err := s.cmd.Start(); err != nil {
		panic(err)
	}
	for range 200 {
		if s.ready() == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// ready prepares the namespace that the server creates by itself.
func (s *server) ready() error {
	o := client.Options{HostPort: s.address, Logger: quiet}
	c, err := client.NewNamespaceClient(o)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Describe(context.Background(), client.DefaultNamespace); err != nil {
		return err
	}
	return temporal.Prepare(context.Background(), o)
}

func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

func needsServer(t *testing.T) {
	t.Helper()
	if address == "" {
		t.Skip("HOCKET_TEMPORAL names no directory with the program temporal; make temporal builds it")
	}
}

var quiet = log.NewStructuredLogger(slog.New(slog.DiscardHandler))

// TestConformance runs the suite. A process that drives a run is also a worker of the project, and follows the run as
// any client does.
func TestConformance(t *testing.T) {
	needsServer(t)
	drivertest.Run(t, func(t testing.TB) drivertest.World {
		return newWorld(t)
	})
}

var worlds atomic.Int64

type world struct {
	queue, dir string
	proxy      *proxy // to the server
	works      *works
}

func newWorld(t testing.TB) world {
	return world{fmt.Sprintf("w%d", worlds.Add(1)), t.TempDir(), startProxy(t, address), &works{of: map[string]driver.Work{}, plans: map[string]string{}}}
}

func (w world) Driver(t testing.TB, now func() time.Time) drivertest.Process {
	o := options(w.queue, temporal.Folder(w.dir))
	o.Client.HostPort, o.Now = w.proxy.address, now
	return newProcess(t, open(t, o), w.works)
}

func (world) Traits() drivertest.Traits {
	return drivertest.Traits{StopsWithCaller: true, Hour: 6 * time.Second, Forgets: true, Retells: true}
}

func (w world) Away(testing.TB) (back func()) {
	w.proxy.cut()
	return w.proxy.join
}

// Spoil makes all long values of the run unreadable.
func (w world) Spoil(t testing.TB, run string, seq int) (restore func()) {
	values := filepath.Join(w.dir, "runs", run, "values")
	if err := os.Rename(values, values+".away"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Rename(values+".away", values); err != nil {
			t.Fatal(err)
		}
	}
}

// works is what the runs of a world are driven with, as files of a project would say.
type works struct {
	mu    sync.Mutex
	of    map[string]driver.Work
	plans map[string]string // digests of the workflows that they are for
}

type process struct {
	*temporal.Driver
	t     testing.TB
	works *works
	busy  *atomic.Int32 // attempts in progress
}

func newProcess(t testing.TB, d *temporal.Driver, w *works) process {
	return process{d, t, w, new(atomic.Int32)}
}

func (p process) Kill() { p.Close() }

func (p process) name() string { return fmt.Sprintf("w%p", p.Driver) }

// Start says that the run has a script, as it may have.
func (p process) Start(ctx context.Context, spec driver.Spec) (driver.Created, error) {
	pin := *spec.Pin
	pin.Replies = json.RawMessage("{}")
	spec.Pin = &pin
	return p.Driver.Start(ctx, spec)
}

// Drive works, and follows the run. A worker answers from the script, so the client waits a moment for that.
func (p process) Drive(ctx context.Context, run string, w driver.Work) (engine.Result, error) {
	first, err := p.FirstPin(ctx, run)
	if err != nil {
		return p.Driver.Drive(ctx, run, w)
	}
	p.works.mu.Lock()
	p.works.of[run], p.works.of[p.name()+run], p.works.plans[run] = w, w, workflow.Digest(cmp.Or(w.Pin, first).Bundle.Root)
	p.works.mu.Unlock()
	if pin, err := p.Pin(ctx, run); err == nil {
		if _, _, err := p.resolve(ctx, run, pin); err != nil { // it would wait for a better worker
			return engine.Result{Run: run}, err
		}
	}
	working, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.Work(working, driver.Worker{Name: p.name(), Resolve: p.resolve}, w.Leave)
	}()
	leave := func() {
		stop()
		<-ended
	}
	scripted := w.Script != nil
	w.Script = nil
	res, err := p.Driver.Drive(ctx, run, w)
	if scripted && err == nil && res.Status == engine.Waiting {
		time.Sleep(2 * time.Second)
		res, err = p.Driver.Drive(ctx, run, w)
	}
	if err == nil && p.busy.Load() > 0 { // an attempt waits for work that it has handed off
		p.t.Cleanup(leave)
		return res, nil
	}
	select {
	case <-w.Leave: // attempts may end
		<-ended
	default:
	}
	leave()
	return res, err
}

// counting counts attempts in progress.
type counting struct {
	driver.Agents
	busy *atomic.Int32
}

func (c counting) Run(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	c.busy.Add(1)
	defer c.busy.Add(-1)
	return c.Agents.Run(ctx, run, task, at)
}

// resolve returns what a process drives a run with; if it does not, then what another one does.
func (p process) resolve(_ context.Context, run string, pin *driver.Pin) (driver.Work, func(), error) {
	w := p.works
	w.mu.Lock()
	defer w.mu.Unlock()
	work, ok := w.of[p.name()+run]
	if !ok {
		work, ok = w.of[run]
	}
	if !ok {
		return driver.Work{}, nil, errors.New("this machine does not have what the run needs")
	}
	if work.Replan != nil && workflow.Digest(pin.Bundle.Root) != w.plans[run] {
		now, err := work.Replan(pin)
		if err != nil {
			return driver.Work{}, nil, err
		}
		work.Agents, work.Scripted, work.ScriptAll = now.Agents, now.Scripted, now.ScriptAll
	}
	work.Agents = counting{work.Agents, p.busy}
	work.Asker, work.Observer, work.Elsewhere = nil, nil, work.Elsewhere || work.Asker != nil
	return work, func() {}, nil
}
