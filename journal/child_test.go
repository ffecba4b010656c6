package journal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// Some tests need a second process: the test binary runs itself with the role in an
// environment variable.
const roleVariable = "JOURNAL_TEST_ROLE"

var roles = map[string]func(args []string) error{
	"hold":   holdRole,
	"create": createRole,
	"key":    keyRole,
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	play := roles[role]
	if play == nil {
		play = systemRoles[role]
	}
	if err := play(os.Args[1:]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func startChild(t *testing.T, role string, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(self, args...)}
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
	t.Cleanup(func() { c.kill(t) })
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatalf("the child is gone: %v", c.lines.Err())
	}
	return c.lines.Text()
}

func (c *child) expect(t *testing.T, want string) {
	t.Helper()
	if got := c.line(t); got != want {
		t.Fatalf("the child says %q, want %q", got, want)
	}
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	c.cmd.Process.Kill() // it may have exited already
	c.cmd.Wait()
}

// holdRole takes a run and waits.
func holdRole(args []string) error {
	s, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	w, err := s.Writer(context.Background(), args[1])
	if err != nil {
		return err
	}
	defer w.Close() // otherwise the garbage collector would close the file
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// createRole creates runs as fast as it can, concurrently with other processes.
func createRole(args []string) error {
	s, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	for i := range 13 {
		id := fmt.Sprintf("%s-%d", args[1], i)
		w, err := s.Create(NewRun{ID: id, Pin: testPin("demo"), Created: start, Events: []engine.Envelope{started(id)}})
		if err != nil {
			return err
		}
		for j := range 10 {
			if err := w.Append(Batch{Events: []engine.Envelope{ended(j+1, "x")}}); err != nil {
				return err
			}
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return s.Close()
}

func TestManyProcessesWriteAtOnce(t *testing.T) {
	dir := t.TempDir()
	var children []*child
	processes := 16
	if testing.Short() {
		processes = 4
	}
	for i := range processes {
		children = append(children, startChild(t, "create", dir, fmt.Sprint("p", i)))
	}
	for _, c := range children {
		c.expect(t, "done")
	}
	s := openStore(t, dir)
	runs, err := s.List(context.Background(), driver.Filter{})
	if err != nil || len(runs) != processes*13 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		if n := len(readEvents(t, s, r.ID)); n != 11 {
			t.Errorf("%s has %d events", r.ID, n)
		}
	}
}
