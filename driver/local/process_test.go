package local_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// Some tests need a second process: the test binary runs itself with the role in an
// environment variable.
const roleVariable = "DRIVER_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](os.Args[1]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// roles receive the state directory.
var roles = map[string]func(dir string) error{"work": workRole, "hold": holdRole, "ask": askRole, "start": startRole}

const busyRun = "busy-1"

// askRole drives a run whose only attempt asks two questions.
func askRole(dir string) error {
	store, err := journal.Open(dir, journal.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	agents := asking{[]agent.Question{mayI, mayI}}
	_, err = startRun(context.Background(), store, spec(chain(task("a", "x"))), work{Agents: agents, Elsewhere: true})
	return err
}

// workRole starts or resumes the busy workflow, prints "open" when the journal is open,
// and then prints the outcome. Its agents append to files.
func workRole(dir string) error {
	return driveBusy(dir, appender{filepath.Join(dir, "effects")})
}

// holdRole does the same with agents that wait until their input ends.
func holdRole(dir string) error { return driveBusy(dir, holder{}) }

func driveBusy(dir string, agents driver.Agents) error {
	store, err := journal.Open(dir, journal.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	fmt.Println("open")
	ctx, o := context.Background(), work{Agents: agents}
	res, err := driveRun(ctx, store, busyRun, o)
	var unknown *driver.UnknownRunError
	if errors.As(err, &unknown) {
		res, err = startRun(ctx, store, driver.Spec{
			Run: busyRun, Pin: &driver.Pin{Bundle: drivertest.Busy()}, Inputs: drivertest.BusyInputs(12),
			Limits: workflow.Limits{Steps: 100, Parallel: 4, Runtime: time.Hour},
		}, o)
	}
	if err != nil {
		return err
	}
	fmt.Println(res.Status, workflow.FormatJSON(res.Output), len(res.Steps))
	return nil
}

// appender writes a line to the step's file when an attempt starts, and one when it ends.
type appender struct{ dir string }

func (a appender) Run(_ context.Context, run string, task *engine.StartTask, _ driver.Attempt) driver.Outcome {
	file := filepath.Join(a.dir, strings.ReplaceAll(task.Address, "/", "_"))
	if err := appendLine(file, "begin "+task.Key(run)); err != nil {
		return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error(), Permanent: true}}
	}
	time.Sleep(time.Duration(len(task.Address)%7) * time.Millisecond)
	if err := appendLine(file, "end "+task.Key(run)); err != nil {
		return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error(), Permanent: true}}
	}
	return driver.Outcome{Output: task.Prompt}
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

type holder struct{}

func (holder) Run(_ context.Context, _ string, task *engine.StartTask, _ driver.Attempt) driver.Outcome {
	fmt.Println("begun", task.Address)
	io.Copy(io.Discard, os.Stdin)
	return driver.Outcome{Output: task.Prompt}
}

// child is a process with a role.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func startChild(t testing.TB, role, dir string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(self, dir)}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	c.cmd.Stderr = os.Stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(stdout)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c
}

// line returns the next line that the child prints, or "" after it has exited.
func (c *child) line() string {
	c.lines.Scan()
	return c.lines.Text()
}

// kill kills the child with SIGKILL, whatever it is doing.
func (c *child) kill() {
	c.cmd.Process.Kill() // it may have exited already
	c.cmd.Wait()
}
