package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLowLimits has surroundings in which the limit of all processes is below all marks, such as a container, and steps that have lowered
// theirs.
func TestLowLimits(t *testing.T) {
	if dir := os.Getenv("HOCKET_TEST_LOW"); dir != "" {
		left := exec.Command("setsid", "sleep", "60")
		left.Dir = dir
		if err := left.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = left.Process.Kill(); _ = left.Wait() }()
		fmt.Println("depth", inherited(), lookFor([]uint64{unmarked - depthStep - 7}, dir).has(left.Process.Pid))
		return
	}
	if inherited() > 0 || isGiven(os.Getpid()) {
		t.Skip("the tests run in an attempt, or with a low limit")
	}
	self := filepath.Join(t.TempDir(), "test")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(self, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for dir := self; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const (
		low = "ulimit -x 1000; "
		run = "$0 -test.run=^TestLowLimits$; true" // the shell stays above
		box = "unshare -pf --mount-proc bash -c "
		as  = "setpriv --reuid 65534 --clear-groups bash -c "
	)
	for _, c := range []struct{ name, script, want string }{
		{"a step", low + run, "depth 1000 false"},
		{"a container", box + "'" + low + run + "' $0", "depth 0 false"},
		{"a step in a container", box + "'bash -c \"" + low + run + "\"; true' $0", "depth 1000 false"},
		{"a session", low + as + "'" + run + "' $0; true", "depth 0 false"},
		{"a step of another user", as + "'" + low + run + "' $0; true", "depth 1000 false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.script, "unshare") && exec.Command("unshare", "-pf", "--mount-proc", "true").Run() != nil ||
				strings.Contains(c.script, "setpriv") && exec.Command("setpriv", "--reuid", "65534", "--clear-groups", self, "-test.run=^$").Run() != nil {
				t.Skip("needs to be root")
			}
			cmd := exec.Command("bash", "-c", c.script, self)
			cmd.Env = append(os.Environ(), "HOCKET_TEST_LOW=/")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), c.want+"\n") {
				t.Errorf("%v\n%s, want %s", err, out, c.want)
			}
		})
	}
}

// TestLowLimitsOfPersons has programs with a low limit in the directory of a step which no step has left.
func TestLowLimitsOfPersons(t *testing.T) {
	if inherited() > 0 || isGiven(os.Getpid()) {
		t.Skip("the tests run in an attempt, or with a low limit")
	}
	const work = "ulimit -x 1; echo $$; exec sleep 60"
	for name, c := range map[string]struct {
		args []string
		move bool // into another control group
		want bool
	}{
		"a step":    {args: []string{"setsid", "bash", "-c", work}, want: true},
		"a shell":   {args: []string{"script", "-qec", work, "/dev/null"}},
		"a service": {args: []string{"setsid", "bash", "-c", work}, move: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(c.args[0], c.args[1:]...)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "SHELL=/bin/bash"}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Skip(err)
			}
			line, _ := bufio.NewReader(out).ReadString('\n')
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = syscall.Kill(pid, syscall.SIGKILL); _ = cmd.Wait() }()
			if c.move {
				moveToGroup(t, pid)
			}
			waitFor(t, func() bool { return strings.HasPrefix(readComm(pid), "sleep") })
			if got := lookFor([]uint64{unmarked - depthStep - 7}, dir).has(pid); got != c.want {
				t.Errorf("it counts: %v, want %v", got, c.want)
			}
		})
	}
}

func readComm(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return string(text)
}

// moveToGroup moves a process into a control group of its own.
func moveToGroup(t *testing.T, pid int) {
	t.Helper()
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		group := filepath.Join(root, "hocket-test-"+strconv.Itoa(pid))
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil || os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { // after its end
			waitFor(t, func() bool { return os.Remove(group) == nil })
		})
		if os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600) == nil {
			return
		}
	}
	t.Skip("needs to be root")
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for range 500 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("waited in vain")
}
