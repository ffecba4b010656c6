//go:build unix

package shell_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/agenttest"
	"github.com/hocket-dev/hocket/agent/shell"
	"github.com/hocket-dev/hocket/internal/process"
)

// family starts a child and a grandchild that ignore SIGTERM and keep every pipe open.
// All three write their process ids to a file and keep running.
const family = `
trap '' TERM
sh -c 'trap "" TERM; echo $$ >> pids; sh -c "trap \"\" TERM; echo \$\$ >> pids; while :; do sleep 1; done" & while :; do sleep 1; done' &
echo $$ >> pids
while :; do sleep 1; done
`

// pids waits until the processes of a task have written their ids.
func pids(t *testing.T, task *agent.Task, n int) []int {
	t.Helper()
	for range 1000 {
		data, _ := os.ReadFile(filepath.Join(task.Dir, "pids"))
		if fields := strings.Fields(string(data)); len(fields) == n && strings.HasSuffix(string(data), "\n") {
			ids := make([]int, n)
			for i, f := range fields {
				ids[i], _ = strconv.Atoi(f)
			}
			return ids
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the %d processes of the test did not start", n)
	return nil
}

// lives reports whether a process is running. A zombie is not.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && len(out) > 0 && out[0] != 'Z'
}

// underway runs a task in the background and returns a channel for its error.
func underway(ctx context.Context, task *agent.Task, grace time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := shell.New(shell.Options{Grace: grace}).Run(ctx, task, new(agenttest.Log).Add)
		done <- err
	}()
	return done
}

func expectDead(t *testing.T, ids []int) {
	t.Helper()
	for _, pid := range ids {
		// A killed process takes a moment to disappear.
		for deadline := time.Now().Add(5 * time.Second); lives(pid) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if lives(pid) {
			t.Errorf("process %d is still running", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// slow is longer than any successful wait takes, on any machine.
const slow = 2 * time.Minute

func TestCancelLeavesNoProcessBehind(t *testing.T) {
	task := attempt(t, `{}`)
	task.Settings["command"] = family
	ctx, cancel := context.WithCancelCause(t.Context())
	done := underway(ctx, task, 100*time.Millisecond)
	ids := pids(t, task, 3)
	start := time.Now()
	cancel(errors.New("by hand"))
	if err := <-done; err == nil || err.Error() != "agent: cancelled: by hand" {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > slow {
		t.Errorf("the end took %s", took)
	}
	expectDead(t, ids)
}

func TestTimeoutLeavesNoProcessBehind(t *testing.T) {
	task := attempt(t, `{}`)
	task.Settings["command"] = family
	ctx, stop := context.WithCancelCause(t.Context())
	done := underway(ctx, task, 50*time.Millisecond)
	ids := pids(t, task, 3)
	stop(context.DeadlineExceeded)
	err := <-done
	var failed *agent.Error
	if !errors.As(err, &failed) || failed.Kind != agent.TimedOut {
		t.Errorf("got %#v", err)
	}
	expectDead(t, ids)
}

func TestWhatACommandStartsEndsWithIt(t *testing.T) {
	task := attempt(t, `{"command": "sh -c 'echo $$ >> pids; trap \"\" TERM; while :; do sleep 1; done' & until test -s pids; do sleep 0.01; done; echo ready"}`)
	out, err := shell.New(shell.Options{Grace: 50 * time.Millisecond}).Run(t.Context(), task, new(agenttest.Log).Add)
	if err != nil || out.Output != "ready" {
		t.Errorf("got %q, %v", out.Output, err)
	}
	expectDead(t, pids(t, task, 1))
}

func TestTermIsAskedFirst(t *testing.T) {
	task := attempt(t, `{"command": "trap 'echo bye > ended; exit 0' TERM; echo $$ >> pids; while :; do sleep 0.02; done"}`)
	ctx, cancel := context.WithCancel(t.Context())
	done := underway(ctx, task, time.Hour)
	pids(t, task, 1)
	start := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(task.Dir, "ended")); string(got) != "bye\n" {
		t.Error("the command had no time to end by itself")
	}
	if took := time.Since(start); took > slow {
		t.Errorf("waited for the whole grace period: %s", took)
	}
}

// daemon leaves its process group and keeps the pipes open.
const daemon = `setsid sh -c 'echo $$ >> pids; while :; do sleep 1; done' & until test -s pids; do sleep 0.01; done; echo ready`

// unmarked is a daemon without any connection to the step.
const unmarked = "unset HOCKET_KEY; " + daemon

func TestAnOrphanedPipeDoesNotHang(t *testing.T) {
	needSetsid(t)
	task := attempt(t, `{}`)
	task.Settings["command"] = unmarked
	start := time.Now()
	out, err := run(t, task)
	if err != nil || out != "ready" {
		t.Errorf("got %q, %v", out, err)
	}
	if took := time.Since(start); took > slow {
		t.Errorf("took %s", took)
	}
	ids := pids(t, task, 1)
	if !lives(ids[0]) {
		t.Error("a daemon without the key of the attempt was ended")
	}
	_ = syscall.Kill(-ids[0], syscall.SIGKILL)
}

func TestADaemonEndsWithItsCommand(t *testing.T) {
	needSetsid(t)
	needMarks(t)
	for name, command := range map[string]string{
		"success":         daemon,
		"failure":         daemon + "; exit 3",
		"its own output":  strings.Replace(daemon, "'echo", "'exec >/dev/null 2>&1; echo", 1),
		"a long command":  daemon + "; sleep 1.1",
		"many processes":  daemon + "; for i in $(seq 300); do /bin/true; done",
		"a second daemon": strings.Replace(daemon, "while", "setsid sleep 60 & echo $! >> pids; while", 1) + "; until test $(wc -l < pids) = 2; do sleep 0.01; done",
	} {
		t.Run(name, func(t *testing.T) {
			task := attempt(t, `{}`)
			task.Settings["command"] = command
			start := time.Now()
			_, err := run(t, task)
			if (err != nil) != (name == "failure") {
				t.Errorf("got %v", err)
			}
			if took := time.Since(start); took > slow {
				t.Errorf("the step waited for its daemon: %s", took)
			}
			n := 1
			if name == "a second daemon" {
				n = 2
			}
			expectDead(t, pids(t, task, n))
		})
	}
}

func TestCancelFindsWhatLeftTheGroup(t *testing.T) {
	needSetsid(t)
	needMarks(t)
	task := attempt(t, `{}`)
	task.Settings["command"] = daemon + `; while :; do sleep 1; done`
	ctx, cancel := context.WithCancel(t.Context())
	done := underway(ctx, task, 50*time.Millisecond)
	ids := pids(t, task, 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	expectDead(t, ids)
}

func TestCancelBeforeTheStart(t *testing.T) {
	task := attempt(t, `{"command": "touch started"}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shell.New(shell.Options{}).Run(ctx, task, new(agenttest.Log).Add); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(task.Dir, "started")); err == nil {
		t.Error("the command was started")
	}
}

func TestManyAtOnce(t *testing.T) {
	s := shell.New(shell.Options{})
	failed := make(chan error, 40)
	for i := range cap(failed) {
		task := attempt(t, fmt.Sprintf(`{"command": "cat; echo %d"}`, i))
		task.Prompt, task.Key = "n ", fmt.Sprintf("many/n[%d]@1", i)
		go func() {
			r, err := s.Run(t.Context(), task, new(agenttest.Log).Add)
			if want := fmt.Sprintf("n %d", i); err == nil && r.Output != want {
				err = fmt.Errorf("got %q, want %q", r.Output, want)
			}
			failed <- err
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// TestDeathOfHocket runs a command in its own process, kills that process, and checks
// that the command is gone. Processes that the command had started can be ended.
func TestDeathOfHocket(t *testing.T) {
	needMarks(t)
	if dir := os.Getenv("SHELL_TEST_PARENT"); dir != "" {
		task := attempt(t, `{"command": "sh -c 'sleep 0.1; echo $$ >> pids; while :; do sleep 1; done' & echo $$ >> pids; while :; do sleep 1; done"}`)
		task.Dir = dir
		_, _ = run(t, task)
		return
	}
	task := &agent.Task{Dir: t.TempDir()}
	parent := exec.Command(os.Args[0], "-test.run=^TestDeathOfHocket$")
	parent.Env = append(os.Environ(), "SHELL_TEST_PARENT="+task.Dir)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	ids := pids(t, task, 2)
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for deadline := time.Now().Add(2 * time.Second); lives(ids[0]) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	expectDead(t, ids[:1])
	if !lives(ids[1]) {
		t.Error("the test proves nothing: no process was left")
	}
	if err := process.EndLeft(attempt(t, `{}`).Key, 0); err != nil {
		t.Error(err)
	}
	expectDead(t, ids)
}

func needMarks(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child to its parent, and tells the environment of a process")
	}
}

func needSetsid(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here")
	}
}
