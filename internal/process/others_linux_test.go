package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nobody is a user without privileges.
const nobody = 65534

// asNobody runs a test again as another user, with a variable.
func asNobody(t *testing.T, variable string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v") // that user may not see the path
	cmd.Env, cmd.Dir = append(os.Environ(), variable, "TMPDIR=/tmp"), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) {
		t.Skip(err) // in a container
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestProcessesOfOthers has a command that starts a service as another user, for instance with sudo. Whoever ends the command has to
// leave it.
func TestProcessesOfOthers(t *testing.T) {
	const markVariable = "HOCKET_TEST_MARK_OF_OTHERS"
	mark := os.Getenv(markVariable)
	if os.Getuid() == 0 && mark == "" {
		mark := strconv.FormatUint(unmarked-depthStep-7, 10)
		service := exec.Command("bash", "-c", "ulimit -x "+mark+" && printf 'a\\tb' > /proc/self/comm; echo; read line")
		service.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		in, err := service.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := service.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := service.Start(); err != nil {
			t.Skip(err)
		}
		defer func() { _ = in.Close(); _ = service.Wait() }()
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		asNobody(t, markVariable+"="+mark)
		return
	}
	if info, err := os.Stat("/proc/1"); err == nil && info.Sys().(*syscall.Stat_t).Uid == uint32(os.Getuid()) {
		t.Skip("process 1 is of this user")
	}
	found, refused := signalAll(func(pid int) bool { return pid == 1 }, 0, 0)
	if found != nil || !slices.Equal(refused, []int{1}) {
		t.Errorf("can be ended: %v, others: %v", found, refused)
	}
	if mark == "" {
		t.Skip("only root can start a process of another user")
	}
	file := filepath.Join(t.TempDir(), "commands")
	if err := os.WriteFile(file, []byte(mark+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	others, err := EndNoted(file)
	if err != nil || len(others) != 1 || !strings.HasPrefix(others[0], "a?b (") {
		t.Errorf("%q, %v", others, err)
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("it waited %v for what does not end", took)
	}
}
