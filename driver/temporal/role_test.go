package temporal_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	programs "github.com/hocket-dev/hocket/internal/process"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Faults need workers that are real processes: the test binary runs itself with its role in an environment
// variable.
const roleVariable = "HOCKET_TEST_ROLE"

// role is what such a process does.
type role struct {
	Address, Queue, Store, Effects, Name string
	Ahead                                time.Duration // of its wall clock
	Queues, Programs                     []string      // that it serves and has, too
	Quick                                bool          // its attempts do nothing
	Older                                bool          // it does not understand runs of this version
	Heartbeat                            time.Duration // 0: a short one
	Guards                               int           // the worker whose programs it ends when that is killed
}

const heartbeat = 1500 * time.Millisecond

func (r role) open() (*temporal.Driver, error) {
	return temporal.Open(temporal.Options{
		Client: client.Options{HostPort: r.Address, Logger: quiet}, Queue: r.Queue, Store: temporal.Folder(r.Store), Create: true,
		Heartbeat: cmp.Or(r.Heartbeat, heartbeat), Now: func() time.Time { return time.Now().Add(r.Ahead) },
	})
}

// play works until standard input ends.
func (r role) play() error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if r.Guards > 0 {
		<-ctx.Done()
		return hocket.EndPrograms(r.Guards)
	}
	debug.SetGCPercent(50) // as hocket-temporal does
	if r.Older {
		return r.refuseAll(ctx)
	}
	d, err := r.open()
	for err != nil { // the server may be away
		time.Sleep(100 * time.Millisecond)
		d, err = r.open()
	}
	defer d.Close()
	end, err := r.guard()
	if err != nil {
		return err
	}
	defer end.Close()
	ready := func([]string) { fmt.Println("open") }
	var agents driver.Agents = r
	if r.Quick {
		agents = noop{}
	}
	return d.Work(ctx, driver.Worker{Name: r.Name, Place: "vm:/" + r.Name, Ready: ready, Queues: r.Queues, Programs: r.Programs, Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
		return driver.Work{Agents: agents}, func() {}, nil
	}}, nil)
}

// guard starts a guard for this process, as the command worker does.
func (r role) guard() (io.Closer, error) {
	cmd, err := role{Guards: os.Getpid()}.command()
	if err != nil {
		return nil, err
	}
	end, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return end, cmd.Start()
}

// command returns the command of a process with a role.
func (r role) command() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	return cmd, err
}

// refuseAll does with every run what a release does that does not know its version.
func (r role) refuseAll(ctx context.Context) error {
	c, err := client.Dial(client.Options{HostPort: r.Address, Logger: quiet})
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, taskQueue(r.Queue, r.Store), worker.Options{LocalActivityWorkerOnly: true})
	w.RegisterWorkflowWithOptions(func(workflow.Context, any) error { panic("update hocket") }, workflow.RegisterOptions{Name: "hocket.run"})
	if err := w.Start(); err != nil {
		return err
	}
	fmt.Println("open")
	<-ctx.Done()
	w.Stop()
	return nil
}

// taskQueue returns the task queue of the workers of a project.
func taskQueue(queue, store string) string {
	var is struct{ ID string }
	data, err := os.ReadFile(filepath.Join(store, "id"))
	if err == nil {
		err = json.Unmarshal(data, &is)
	}
	if err != nil {
		panic(err)
	}
	return queue + "@" + is.ID
}

// cost is what every attempt costs.
const cost = 0.01

// Run makes an attempt. It leaves lines in a file of the step, and takes as long as the name of the step says.
func (r role) Run(ctx context.Context, run string, task *engine.StartTask, _ driver.Attempt) driver.Outcome {
	file := filepath.Join(r.Effects, strings.ReplaceAll(run+"/"+task.Address, "/", "_"))
	err := appendLine(file, "begin "+task.Key(run)+" "+r.Name)
	out := task.Prompt
	switch task.Node {
	case "program":
		err = errors.Join(err, r.program(ctx, task.Key(run), file+".pids"))
	case "large":
		out = strings.Repeat("x", 3<<20)
	default:
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(20+20*(len(task.Address)%5)) * time.Millisecond):
		}
	}
	err = errors.Join(err, appendLine(file, "end "+task.Key(run)+" "+r.Name))
	if err != nil {
		return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error(), Permanent: true}}
	}
	return driver.Outcome{Output: out, Usage: engine.Usage{CostUSD: cost}}
}

// program runs a program that runs another one, until the attempt is told to stop or the file "go" exists.
func (r role) program(ctx context.Context, key, pids string) error {
	script := `echo $$ >> "$1"; (while [ ! -e "$2" ]; do sleep 0.1; done) & echo $! >> "$1"; wait`
	cmd := &programs.Command{Cmd: exec.Command("sh", "-c", script, "sh", pids, filepath.Join(r.Effects, "go")), Key: key}
	return cmd.Run(ctx, "", discard, discard)
}

func appendLine(file, line string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// playRole plays the role of this process, if it has one.
func playRole() {
	text := os.Getenv(roleVariable)
	if text == "" {
		return
	}
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = r.play()
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child is a process with a role.
type child struct {
	role
	cmd   *exec.Cmd
	stdin io.Closer
}

// peak returns how much memory the process has needed at most.
func (c *child) peak(t testing.TB) (bytes int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		t.Skip("only Linux says how much memory another process has needed")
	}
	for line := range strings.Lines(string(status)) {
		if n, err := fmt.Sscanf(line, "VmHWM: %d kB", &bytes); n == 1 && err == nil {
			return bytes << 10
		}
	}
	return 0
}

// start starts a process with a role, and waits until it works.
func (r role) start(t testing.TB) *child {
	t.Helper()
	cmd, err := r.command()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{role: r, cmd: cmd}
	c.cmd.Stderr = os.Stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	opened := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		lines.Scan()
		opened <- lines.Text()
		for lines.Scan() {
			fmt.Fprintln(os.Stderr, lines.Text())
		}
	}()
	select {
	case line := <-opened:
		if line != "open" {
			t.Errorf("a worker says %q", line)
		}
	case <-time.After(time.Minute):
		t.Fatal("a worker does not begin")
	}
	return c
}

// kill kills the process with SIGKILL, whatever it is doing.
func (c *child) kill() {
	_ = c.cmd.Process.Signal(syscall.SIGCONT)
	_ = c.cmd.Process.Kill() // it may have exited already
	_ = c.cmd.Wait()
}

// discard ignores what a command prints, such as that the place for its mark is gone.
func discard([]byte) error { return nil }
