//go:build unix

package process_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/internal/process"
)

// The tests of agent/shell cover how a command and its descendants end.

func command(script string) *process.Command {
	return &process.Command{Cmd: exec.Command("sh", "-c", script), Key: "process/test", Grace: 100 * time.Millisecond}
}

func discard([]byte) error { return nil }

func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	sink := func(to *bytes.Buffer) process.Sink {
		return func(piece []byte) error { to.Write(piece); return nil }
	}
	err := command("cat; echo $HOCKET_KEY >&2; exit 3").Run(t.Context(), "hello", sink(&out), sink(&errs))
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || out.String() != "hello" || errs.String() != "process/test\n" {
		t.Errorf("got %q, %q, %v", out.String(), errs.String(), err)
	}
}

// TestDriverKeys: a step does not see what gives access to the server of the runs.
func TestDriverKeys(t *testing.T) {
	keys := []string{
		"HOCKET_TEMPORAL_KEY", "TEMPORAL_API_KEY", "TEMPORAL_TLS_CLIENT_KEY_DATA", "TEMPORAL_CODEC_AUTH", "TEMPORAL_GRPC_META_AUTHORIZATION", "TEMPORAL_GRPC_META_X_TENANT",
	}
	for _, name := range append(keys, "TEMPORAL_ADDRESS") {
		t.Setenv(name, "of-"+name)
	}
	var out bytes.Buffer
	err := command("env | grep =of-").Run(t.Context(), "", func(piece []byte) error { out.Write(piece); return nil }, discard)
	if err != nil || out.String() != "TEMPORAL_ADDRESS=of-TEMPORAL_ADDRESS\n" {
		t.Errorf("%v: it sees\n%s", err, out.String())
	}
}

func TestNoInputIsTheNullDevice(t *testing.T) {
	if err := command("! read line").Run(t.Context(), "", discard, discard); err != nil {
		t.Error(err)
	}
}

func TestASinkEndsTheCommand(t *testing.T) {
	enough := errors.New("enough")
	for name, script := range map[string]string{"endless": "yes", "over before it is read": "echo x", "waits": "echo x; sleep 60"} {
		err := command(script).Run(t.Context(), "", func([]byte) error { return enough }, discard)
		if !errors.Is(err, enough) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := command("echo started; sleep 60").Run(ctx, "", func([]byte) error { cancel(); return nil }, discard)
	if !errors.Is(err, process.ErrCutOff) {
		t.Errorf("got %v", err)
	}
}

func TestASessionOfItsOwn(t *testing.T) {
	c := command(`test "$(ps -o sid= -p $$ | tr -d ' ')" = $$`)
	if err := c.Run(t.Context(), "", discard, discard); err != nil {
		t.Error(err)
	}
}

// A process that has left the group and dropped the key ends when its session is cut off.
func TestDescendantsOfASession(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs setsid, and Linux")
	}
	c := command(`env -u HOCKET_KEY setsid sh -c 'echo $$; exec sleep 60' & wait`)
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	err := c.Run(ctx, "", func(piece []byte) error { out.Write(piece); cancel(); return nil }, discard)
	if !errors.Is(err, process.ErrCutOff) {
		t.Errorf("got %v", err)
	}
	pid := strings.TrimSpace(out.String())
	for range 200 { // the system takes a moment to carry out a kill
		state, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output() // fails if there is no such process
		if pid != "" && (len(state) == 0 || state[0] == 'Z') {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %q is still there", pid)
	_ = exec.Command("kill", "-9", pid).Run()
}

// A process left behind by a dead one is asked to exit, and killed if it does not.
func TestEndLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the environment of a process")
	}
	run := "left-" + strconv.Itoa(os.Getpid())
	dir := t.TempDir()
	start := func(key, name, script string) *exec.Cmd {
		c := exec.Command("sh", "-c", script+"; touch "+name+"; while :; do sleep 0.01; done")
		c.Dir, c.Env = dir, append(os.Environ(), process.KeyVariable+"="+key)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		for { // until it handles the signal
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return c
			}
			time.Sleep(time.Millisecond)
		}
	}
	polite := start(run+"/a@1", "polite", "trap 'touch asked; exit 0' TERM")
	deaf := start(run+"/b@2/tool/x", "deaf", "trap '' TERM")
	other := start(run+"0/a@1", "other", "true")
	if err := process.EndLeft(run+"/", 10*time.Second); err != nil {
		t.Error(err)
	}
	if err := polite.Wait(); err != nil {
		t.Errorf("the process that ends when it is asked to: %v", err)
	}
	if err := deaf.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process that does not end when it is asked to: %v", err)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process of another run: %v", err)
	}
}

func TestConversation(t *testing.T) {
	var errs bytes.Buffer
	conv, err := command(`while read line; do echo "you said $line"; done; echo bye >&2; exit 4`).Start(t.Context(), func(piece []byte) error {
		errs.Write(piece)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(conv.Stdout)
	for _, word := range []string{"one", "two"} {
		if _, err := io.WriteString(conv.Stdin, word+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || lines.Text() != "you said "+word {
			t.Errorf("got %q", lines.Text())
		}
	}
	_ = conv.Stdin.Close()
	if lines.Scan() {
		t.Errorf("got %q after the end", lines.Text())
	}
	err = conv.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 4 || errs.String() != "bye\n" {
		t.Errorf("got %v and %q", err, errs.String())
	}
}

func TestStop(t *testing.T) {
	conv, err := command(`trap "" TERM; echo ready; while :; do sleep 1; done`).Start(t.Context(), discard)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(conv.Stdout)
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if err := conv.Stop(); !errors.Is(err, process.ErrCutOff) {
		t.Errorf("got %v", err)
	}
	if _, err := out.ReadByte(); err != io.EOF {
		t.Errorf("a read after the end gave %v", err)
	}
}

// A process without the key keeps the pipe of a conversation open.
func TestAnOrphanedPipeEnds(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here")
	}
	conv, err := command(`unset HOCKET_KEY; setsid sh -c 'echo $$; exec sleep 60'& sleep 0.2`).Start(t.Context(), discard)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(conv.Stdout)
	if err != nil || conv.Wait() != nil {
		t.Errorf("got %v, %v", err, conv.Wait())
	}
	if out, err := exec.Command("kill", "-9", strings.TrimSpace(string(data))).CombinedOutput(); err != nil {
		t.Errorf("the test proves nothing: no process was left: %s", out)
	}
}

func TestStartFails(t *testing.T) {
	c := &process.Command{Cmd: exec.Command("no-such-program-here")}
	if _, err := c.Start(t.Context(), discard); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := command("true").Start(ctx, discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Neither a goroutine nor an open file is left.
func TestNothingIsLeft(t *testing.T) {
	once := func() {
		_ = command("cat").Run(t.Context(), "x", discard, discard)
		conv, err := command("cat").Start(t.Context(), discard)
		if err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, conv.Stdout)
		_ = conv.Stop()
	}
	once()
	before, files := runtime.NumGoroutine(), openFiles()
	for range 10 {
		once()
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	if n := openFiles(); n > files {
		t.Errorf("%d open files, %d before", n, files)
	}
}

// openFiles counts the file descriptors of this process.
func openFiles() (n int) {
	for fd := range 256 {
		var stat syscall.Stat_t
		if syscall.Fstat(fd, &stat) == nil {
			n++
		}
	}
	return n
}

func TestMain(m *testing.M) {
	os.Unsetenv(process.KeyVariable)
	os.Exit(m.Run())
}

// A machine that is too busy to read the output in time still gets all of it, even if a
// process that survived keeps the pipe open.
func TestLateReader(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here")
	}
	c := command(`printf a; sleep 0.1; printf b; unset HOCKET_KEY; setsid sleep 60 &`)
	var heard []byte
	err := c.Run(t.Context(), "", func(piece []byte) error {
		if len(heard) == 0 {
			time.Sleep(3 * time.Second) // longer than Run waits for the output of an orphan
		}
		heard = append(heard, piece...)
		return nil
	}, discard)
	if err != nil || string(heard) != "ab" {
		t.Errorf("%q, %v", heard, err)
	}
}
