package temporal_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/driver/temporal"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

var address string // of the server; "": there is none

func TestMain(m *testing.M) {
	playRole()
	stop := func() {}
	if os.Getenv("HOCKET_TEMPORAL") != "" {
		s := startServer("")
		address, stop = s.address, s.kill
		os.Setenv("HOCKET_TEMPORAL_ADDRESS", address) // for tests inside the package
	}
	code := m.Run()
	stop()
	os.Exit(code)
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
}

func newWorld(t testing.TB) world {
	return world{fmt.Sprintf("w%d", worlds.Add(1)), t.TempDir(), startProxy(t, address)}
}

func (w world) Driver(t testing.TB, now func() time.Time) drivertest.Process {
	d, err := temporal.Open(temporal.Options{
		Client: client.Options{HostPort: w.proxy.address, Logger: quiet}, Queue: w.queue, Store: temporal.Folder(w.dir), Heartbeat: 1500 * time.Millisecond, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return process{Driver: d}
}

func (world) Traits() drivertest.Traits {
	return drivertest.Traits{StopsWithCaller: true, Hour: 6 * time.Second, Forgets: true}
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

type process struct{ *temporal.Driver }

func (p process) Kill() { p.Close() }
