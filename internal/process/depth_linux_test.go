package process_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/internal/process"
)

// What a marked process starts is marked, whatever it does to its environment and its parents, and
// each program that marks adds one.
func TestMark(t *testing.T) {
	if os.Getenv("HOCKET_TEST_MARK") == "" {
		if process.Depth() > 0 {
			t.Skip("the tests run in an attempt")
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestMark$", "-test.v") // marking cannot be undone
		cmd.Env = append(os.Environ(), "HOCKET_TEST_MARK=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	process.Mark()
	if process.Depth() != 0 {
		t.Error("the process that marks is not marked itself")
	}
	run := func(script string) string {
		t.Helper()
		var out bytes.Buffer
		c := process.Command{Cmd: exec.Command("sh", "-c", script)}
		err := c.Run(process.WithState(context.Background(), "/state"), "", func(p []byte) error { out.Write(p); return nil }, func([]byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	if got := run("echo $HOCKET_DEPTH $HOCKET_STATE"); got != "1 /state" {
		t.Errorf("%q", got)
	}
	const limit = `grep locks /proc/self/limits | tr -s " " | cut -d" " -f5`
	same := func(how string) bool {
		marks := strings.Fields(run(limit + "; " + how))
		return len(marks) == 2 && marks[0] != "unlimited" && marks[0] == marks[1]
	}
	if !same("env -i PATH=$PATH setsid -w sh -c '" + limit + "'") {
		t.Error("another session without the environment has another mark")
	}
	if !same("ulimit -Hx unlimited 2>/dev/null; ulimit -x unlimited 2>/dev/null; "+limit) && os.Geteuid() != 0 {
		t.Error("the mark was removed")
	}
	if one, other := run(limit), run(limit); one == other {
		t.Errorf("two commands have the mark %s", one)
	}
	marked := process.Command{Cmd: exec.Command("sh", "-c", "echo $$; read line")}
	talk, err := marked.Start(context.Background(), func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	pid, err := bufio.NewReader(talk.Stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	id, _ := strconv.Atoi(strings.TrimSpace(pid))
	if depth, known := process.DepthOf(id); !known || depth != 1 {
		t.Errorf("depth %d, %v", depth, known)
	}
	_ = talk.Stdin.Close()
	_ = talk.Wait()
	endsNoted(t)
	if process.Depth() != 0 {
		t.Error("it does not change afterwards")
	}
}

// endsNoted starts processes that leave everything that ties them to their command, and ends those of one file.
func endsNoted(t *testing.T) {
	dir := t.TempDir()
	daemon := func(name string) int {
		t.Helper()
		c := process.Command{Cmd: exec.Command("sh", "-c", "env -i PATH=$PATH setsid setsid sh -c 'cd /; echo $$ > "+dir+"/"+name+".pid; exec sleep 60' >/dev/null 2>&1 & until test -s "+dir+"/"+name+".pid; do sleep 0.01; done")}
		nothing := func([]byte) error { return nil }
		if err := c.Run(process.WithNotes(context.Background(), dir+"/"+name), "", nothing, nothing); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(dir + "/" + name + ".pid")
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		return pid
	}
	lives := func(pid int) bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && !strings.Contains(string(stat), ") Z ")
	}
	one, again, other := daemon("one"), daemon("one"), daemon("other")
	own := exec.Command("sleep", "60") // of this program itself
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Process.Kill(); _ = own.Wait() }()
	if !lives(one) || !lives(again) {
		t.Fatal("they ended with their commands, so there is nothing to end")
	}
	if others, err := process.EndNoted(dir + "/one"); err != nil || others != nil {
		t.Error(others, err)
	}
	for pid, want := range map[int]bool{one: false, again: false, other: true, own.Process.Pid: true} {
		if lives(pid) != want {
			t.Errorf("process %d runs: %v, want %v", pid, !want, want)
		}
	}
	if _, err := process.EndNoted(dir + "/none"); err != nil {
		t.Errorf("without a file: %v", err)
	}
	if err := os.Symlink(dir+"/victim", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	c := process.Command{Cmd: exec.Command("true")}
	nothing := func([]byte) error { return nil }
	err := c.Run(process.WithNotes(context.Background(), dir+"/link"), "", nothing, nothing)
	if _, exists := os.Stat(dir + "/victim"); err == nil || exists == nil {
		t.Errorf("a note went through a link: %v", err)
	}
}

// A pipe is in place of the notes. Nobody waits for its writer.
func TestPipeOfNotes(t *testing.T) {
	file := t.TempDir() + "/notes"
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	done := make(chan error, 1)
	go func() {
		_, err := process.EndNoted(file)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), file+" is not a regular file") {
			t.Errorf("error %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits")
	}
}
