package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// The test binary is both programs, by the name under which it is started.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "hocket-temporal":
		main()
	case "hocket":
		os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { // a command that has lost its name would run all tests again, and they it
		panic("started as " + strings.Join(os.Args, " "))
	}
	os.Exit(m.Run())
}

// office is a project on a server, and a PATH with both programs.
type office struct {
	t    *testing.T
	dir  string
	bin  string
	more []string // variables
}

func newOffice(t *testing.T, address string) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir(), bin: t.TempDir()}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hocket", "hocket-temporal"} {
		if err := os.Symlink(self, filepath.Join(o.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"config.yml":          "driver: temporal\ntemporal: {address: \"" + address + "\", queue: office}\n",
		"workflows/hello.yml": "name: hello\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, hi]}}\n",
		"workflows/gated.yml": "name: gated\nsteps:\n  - {id: ok, human: \"Go on?\"}\n  - {id: a, agent: shell, config: {command: [echo, went]}}\n",
		"workflows/slow.yml":  "name: slow\nsteps:\n  - {id: a, agent: shell, config: {command: \"touch begun; sleep 2; echo slow\"}}\n",
	} {
		file := filepath.Join(o.dir, ".hocket", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func (o *office) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // a run without a worker waits for ever
	o.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(o.bin, "hocket"), args...)
	cmd.Dir = o.dir
	cmd.Env = append(append(os.Environ(), "PATH="+o.bin+string(os.PathListSeparator)+os.Getenv("PATH")), o.more...)
	return cmd
}

// hocket runs a command, and returns what it printed.
func (o *office) hocket(code int, args ...string) string {
	o.t.Helper()
	out, err := o.command(args...).CombinedOutput()
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		o.t.Fatal(err)
	}
	if got != code {
		o.t.Errorf("hocket %s: exit code %d, want %d:\n%s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// prints checks what a command prints.
func (o *office) prints(want string, code int, args ...string) {
	o.t.Helper()
	if out := o.hocket(code, args...); !strings.Contains(out, want) {
		o.t.Errorf("hocket %s does not print %q:\n%s", strings.Join(args, " "), want, out)
	}
}

// trust approves what the project can do.
func (o *office) trust() {
	o.t.Helper()
	p, err := hocket.Open(o.dir, hocket.Options{})
	if err != nil {
		o.t.Fatal(err)
	}
	defer p.Close()
	powers, err := p.Powers()
	if err == nil {
		err = p.Trust(powers)
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

// Nothing connects to the server of a project before a person approves it.
func TestNoConnectionWithoutTrust(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var connections atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	o := newOffice(t, l.Addr().String())
	for _, args := range []string{"runs", "show hello-1", "logs hello-1", "events hello-1", "run hello", "resume hello-1", "cancel hello-1", "worker", "migrate", "gc --max-runs 1"} {
		o.prints("is not trusted", 2, strings.Fields(args)...)
	}
	o.prints("not checked, because you do not trust the project", 0, "doctor")
	o.hocket(0, "__complete", "show", "")
	o.hocket(0, "check")
	if n := connections.Load(); n > 0 {
		t.Fatalf("%d connections without trust", n)
	}
	o.trust()
	o.prints("cannot reach the Temporal server at "+l.Addr().String(), 1, "runs")
	if connections.Load() == 0 {
		t.Error("no connection with trust")
	}
}

// The whole way, with a real server: prepare it, start a worker, run, look, and stop the worker.
func TestProgram(t *testing.T) {
	if os.Getenv("HOCKET_TEMPORAL") == "" {
		t.Skip("HOCKET_TEMPORAL does not say where the server is installed; `make temporal` does that, and runs this")
	}
	server := startServer(t)
	o := newOffice(t, server)
	o.trust()
	o.more = []string{"TEMPORAL_NAMESPACE=office"}
	o.prints("no namespace \"office\"", 1, "doctor")
	o.prints("`hocket migrate`", 1, "runs")
	o.more = append(o.more, "HOCKET_DRIVER=local")
	o.hocket(0, "run", "hello")
	here := regexp.MustCompile(`hello-\w+`).FindString(o.hocket(0, "runs"))
	o.more = o.more[:1]
	o.prints("ready for runs with the driver temporal\n1 run from before stays on this machine: ", 0, "migrate")
	o.prints("ready", 0, "migrate")
	o.prints("HOCKET_DRIVER=local", 2, "show", here)
	o.prints("none serves the queue office", 0, "doctor")
	metrics := freeAddress(t)
	w := o.command("worker", "--name", "desk", "--metrics", metrics)
	var told bytes.Buffer
	w.Stderr = &told
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Process.Kill()
	o.prints("hi", 0, "run", "hello")
	o.prints("on the queue office", 0, "doctor")
	o.prints("hello", 0, "runs")
	if text := get(t, "http://"+metrics+"/metrics"); !strings.Contains(text, "temporal_activity_execution_latency_seconds_bucket") {
		t.Errorf("metrics: %s", text)
	}
	hello := regexp.MustCompile(`hello-\w+`).FindString(o.hocket(0, "runs"))
	listed(t, server, "HocketWorkflow = 'hello' AND HocketStatus = 'success'", hello, "success")
	gated := func() (run string) {
		t.Helper()
		if run = regexp.MustCompile(`gated-\w+`).FindString(o.hocket(3, "run", "gated")); run == "" {
			t.Fatal("hocket run does not print the id of the run")
		}
		return run
	}
	o.prints("went", 0, "answer", gated(), "ok", "yes", "--resume") // it follows what the worker does
	began := time.Now()                                             // right after its end, the server takes a while
	text := o.hocket(0, "runs", "delete", hello)
	if took := time.Since(began); took > 5*time.Second && !strings.Contains(text, "waiting until the server no longer lists hello-") {
		t.Errorf("after %s, it prints %q", took, text)
	}
	waits := gated()
	listed(t, server, "HocketWorkflow = 'gated' AND HocketStatus = 'waiting'", waits, "waiting")
	slow := o.command("run", "slow", "--quiet")
	var out bytes.Buffer
	slow.Stdout = &out
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		if _, err := os.Stat(filepath.Join(o.dir, "begun")); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("the worker: %v\n%s", err, told.String())
	}
	if err := slow.Wait(); err != nil || out.String() != "slow\n" {
		t.Errorf("%v: %q", err, out.String())
	}
	o.prints("answered\na worker continues it: hocket worker\n", 0, "answer", waits, "ok", "yes")
	for _, want := range []string{"starting worker desk for ", "worker desk is ready, on office\n", " a started\n", " a done in ", "finishing the steps in progress"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("the worker does not print %q:\n%s", want, told.String())
		}
	}
}

// listed checks that Temporal's own tools find one run in the namespace of the office, and what its memo says.
func listed(t *testing.T, server, query, run, status string) {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: server, Namespace: "office"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var memo struct{ ID, Workflow, Status string }
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) { // the list is behind
		found, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		if err != nil {
			t.Fatal(err)
		}
		if all := found.GetExecutions(); len(all) == 1 && all[0].GetExecution().GetWorkflowId() == "office/"+run {
			err = converter.GetDefaultDataConverter().FromPayload(all[0].GetMemo().GetFields()["hocket"], &memo)
			if workflow, _, _ := strings.Cut(run, "-"); err != nil || memo.ID != run || memo.Workflow != workflow || memo.Status != status {
				t.Errorf("the memo of %s says %+v, %v", run, memo, err)
			}
			return
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%s lists %v, want %s", query, found.GetExecutions(), run)
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startServer starts a development server, and returns its address.
func startServer(t *testing.T) string {
	t.Helper()
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(filepath.Join(os.Getenv("HOCKET_TEMPORAL"), "temporal"), "server", "start-dev", "--headless", "--port", port, "--log-level", "never")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return address
}
